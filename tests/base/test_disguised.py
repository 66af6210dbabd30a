"""What NumPy would read as numbers though it is none is refused: masked values, bytes, spans."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.parameters import parameters_of
from sparsetoken.base.validation import InvalidInput, integer, integers, real, reals
from sparsetoken.forecasting.learning_curves import check_sizes
from sparsetoken.model import networks
from sparsetoken.model.tokens import TokenCovariance
from sparsetoken.theory.oracle.strength import checked_lengths

HIDDEN = np.ma.array([1.0, 2.0], mask=[False, True])
DISGUISED = {
    "masked": np.ma.masked,
    "masked entry": HIDDEN,
    "masked entry in a list": [HIDDEN],
    "time span": np.timedelta64(3, "s"),
    "array of one time span": np.array(3, dtype="m8[s]"),
    "bytes": b"\x01\x02",
    "changeable bytes": bytearray(b"\x01\x02"),
    "bytes of NumPy": np.array([b"1", b"2"]),
}
KINDS = (
    *(st.SparseTokenProblem, st.model.ConceptProblem, st.TwoSteps, st.Descent, st.Readout),
    *(st.Query, st.Descent, networks.Softmax, networks.Gated),
)
FIELDS = [(kind, name) for kind in KINDS for name in parameters_of(kind)]


@pytest.mark.parametrize("given", DISGUISED.values(), ids=DISGUISED)
def test_no_declared_field_takes_it(given):
    for kind, name in FIELDS:
        for value in (given, [given], {"q": given}):
            with pytest.raises(InvalidInput):
                parameters_of(kind)[name].checked(value)


@pytest.mark.parametrize("given", DISGUISED.values(), ids=DISGUISED)
def test_no_argument_takes_it(given):
    for check in (
        lambda: real("x", given),
        lambda: integer("x", given, 0),
        lambda: reals("x", given),
        lambda: TokenCovariance(given),
        lambda: integers("x", given, 0),
        lambda: check_sizes(given, 1),
        lambda: checked_lengths(given),
    ):
        with pytest.raises(InvalidInput):
            check()


def test_arrays_without_a_masked_value_are_numbers():
    assert reals("x", np.ma.array([1.0, 2.0], mask=False)) == (1.0, 2.0)
    assert st.SparseTokenProblem(strength=np.ma.array([3.0])).strength == (3.0,)
