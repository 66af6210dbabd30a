"""What NumPy would read as numbers though it is none is refused: masked values, bytes, spans."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.parameters import parameters_of
from sparsetoken.base.validation import InvalidInput, integer, integers, real, reals
from sparsetoken.model import networks
from sparsetoken.model.tokens import TokenCovariance

DISGUISED = {
    "masked": np.ma.masked,
    "masked entry": np.ma.array([1.0, 2.0], mask=[False, True]),
    "time span": np.timedelta64(3, "s"),
    "array of one time span": np.array(3, dtype="m8[ns]"),
    "bytes": b"\x01\x02",
    "bytes of NumPy": np.array([b"1", b"2"]),
}
KINDS = (
    *(st.SparseTokenProblem, st.model.ConceptProblem, st.TwoSteps, st.Descent, st.Readout),
    *(st.Query, networks.Softmax, networks.Gated),
)


@pytest.mark.parametrize("given", DISGUISED.values(), ids=DISGUISED)
def test_it_is_refused(given):
    checks = [
        lambda: real("x", given),
        lambda: integer("x", given, 0),
        lambda: reals("x", given),
        lambda: integers("x", given, 0),
        lambda: TokenCovariance(given),
        *(lambda one=one: one.checked(given) for k in KINDS for one in parameters_of(k).values()),
    ]
    for check in checks:
        with pytest.raises(InvalidInput):
            check()


def test_arrays_without_a_masked_value_are_numbers():
    assert reals("x", np.ma.array([1.0, 2.0], mask=False)) == (1.0, 2.0)
    assert st.SparseTokenProblem(strength=np.ma.array([3.0])).strength == (3.0,)
