"""The linear classifiers: of the mean token, and of the concatenated tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sparsetoken.base.parameters import value
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.base import Model, WeightedSum
from sparsetoken.numerics.backend import namespace

if TYPE_CHECKING:
    from sparsetoken.model.problem import SparseTokenProblem

__all__ = ["Pooled", "Vectorized"]


@value
class Pooled(Model, WeightedSum):
    """The linear model <w, xbar> + b on the mean token; also a network with the one column w.

    See Also
    --------
    sparsetoken.Attention : Softmax attention.
    sparsetoken.model.networks.DeepSets : A two-layer network on each token, then a mean.
    Vectorized : The concatenated tokens.
    sparsetoken.estimators.PooledLinearClassifier : Mean pooling for bags of your own.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> print(f"{st.predict(problem, st.Pooled(), readout).test_error:.3f}")
    0.288
    """

    name: ClassVar[str] = "pooled"

    def weights_of_heads(self, H: Any, c: Any) -> Any:
        """Return 1/L for each token."""
        return namespace(H).full((1, len(H)), 1 / len(H), H.dtype)


@value
class Vectorized(Model):
    """The linear model <W, X>_F + b on all L d entries of the concatenated tokens.

    See Also
    --------
    Pooled : Mean pooling.
    sparsetoken.estimators.VectorizedLinearClassifier : The concatenated tokens of your bags.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> print(f"{st.predict(problem, st.Vectorized(), readout).test_error:.3f}")
    0.406
    """

    name: ClassVar[str] = "vectorized"

    def weights_per_dimension(self, length: int) -> int:
        """Return the number of tokens."""
        return length

    def check_test_problem(self, problem: SparseTokenProblem, tested: SparseTokenProblem) -> None:
        """Raise `InvalidInput` if the lengths differ: weights belong to positions."""
        L, length = problem.length, tested.length
        if length != L:
            remedy = "Each weight of vectorized belongs to a position."
            raise InvalidInput("length (L) of the test problem", f"{L}", length, remedy)
