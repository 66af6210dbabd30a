"""Names that the package does not have: a type checker must refuse each line.

mypy, which `make lint` runs on this file, calls a comment unused where it accepts the line.
"""

import sparsetoken as st

st.predikt(st.SparseTokenProblem())  # type: ignore[attr-defined]
st.oracle.bayes(st.SparseTokenProblem())  # type: ignore[operator]
st.Readout(los="square")  # type: ignore[call-arg]
print(st.capacity(st.SparseTokenProblem()).capacty)  # type: ignore[attr-defined]
