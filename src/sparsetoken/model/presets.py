"""Settings of the paper's figures, as values.

`learning_curves` has that of figure 1, `alignment` that of the figure of theorem 1. The report, the
gallery and the explorer use these numbers. What a figure varies is an argument, a number or an
array.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from sparsetoken.base.validation import Reals, choice
from sparsetoken.model.models import Attention, Model, Pooled, Vectorized
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps

__all__ = ["Preset", "alignment", "anti_alignment", "capacity", "learning_curves"]
__dir__ = __all__.copy


_ETA_Q = {"logistic": 25.0, "square": 7.0}
"""Step sizes that give the query a sharpness near 1 in the figure of learning curves."""


@dataclasses.dataclass(frozen=True)
class Preset:
    """The setting of a figure.

    Parameters
    ----------
    problem : SparseTokenProblem
    models : tuple of Model
        Attention is the first.
    readout : Readout
        The default readout in figures of alignment and of capacity, which depend on none.

    See Also
    --------
    learning_curves : Test error and training loss of three models.

    Examples
    --------
    >>> import sparsetoken as st
    >>> paper = st.presets.learning_curves("square", alpha1=4.0)
    >>> [model.name for model in paper.models]
    ['attention', 'pooled', 'vectorized']
    >>> round(float(st.predict(paper.problem, paper.models[0], paper.readout).test_error), 3)
    0.066
    """

    problem: SparseTokenProblem
    models: tuple[Model, ...]
    readout: Readout = Readout()

    @property
    def query(self) -> Any:
        """The query of attention, a Query or TwoSteps."""
        return self.models[0].query


def learning_curves(loss: str = "square", alpha0: Reals = 1.0, alpha1: Reals = 2.0) -> Preset:
    """Return the setting of figure 1: test error and training loss of three models over alpha1.

    Parameters
    ----------
    loss : logistic or square
        Of the readout, and of the two steps that find the query.
    alpha0, alpha1 : float or array

    Raises
    ------
    InvalidInput
        If a value is not legal.

    See Also
    --------
    alignment : The cosine of the query.
    capacity : The capacity of three models.
    sparsetoken.predict : Test error, training loss and AUC in the limit.

    Examples
    --------
    >>> import sparsetoken as st
    >>> paper = st.presets.learning_curves("square", alpha1=[0.5, 2.0])
    >>> for model in paper.models:
    ...     prediction = st.predict(paper.problem, model, paper.readout, tolerance=1e-3)
    ...     print(model.name, prediction.test_error.round(2))
    attention [0.12 0.11]
    pooled [0.39 0.34]
    vectorized [0.45 0.41]
    """
    eta_q = _ETA_Q[choice("loss", loss, _ETA_Q)]
    attention = Attention(TwoSteps(alpha0, eta_w=0.5, eta_b=0.5, eta_q=eta_q, loss=loss))
    problem = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
    readout = Readout(loss, ridge=1e-5, alpha1=alpha1)
    return Preset(problem, (attention, Pooled(), Vectorized()), readout)


def alignment(alpha0: Reals = 2.0) -> Preset:
    """Return the setting of the paper's figure of theorem 1: cosines of query and readout.

    See Also
    --------
    anti_alignment : Rare positives.
    sparsetoken.align : The query in the limit of high dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> paper = st.presets.alignment(alpha0=[0.5, 2.0, 5.0])
    >>> st.align(paper.problem, paper.query).cosine.round(4)
    array([0.7016, 0.9075, 0.9613])
    """
    problem = SparseTokenProblem(length=10, informative=3, strength=6.0, positive_rate=0.2)
    return Preset(problem, (Attention(TwoSteps(alpha0, eta_w=0.5, eta_b=0.5, eta_q=1.0)),))


def anti_alignment(
    positive_rate: Reals = 0.1, strength: Reals = 2.0, alpha0: Reals = 2.0, eta_b: Reals = 0.5
) -> Preset:
    """Return the setting with rare positives, where the query may turn away from the signal.

    See Also
    --------
    alignment : The cosine of the query.
    sparsetoken.align : The query in the limit of high dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> paper = st.presets.anti_alignment(positive_rate=[0.06, 0.4])
    >>> st.align(paper.problem, paper.query).cosine.round(2)
    array([-0.14,  0.45])
    """
    problem = SparseTokenProblem(10, 3, strength, positive_rate)
    return Preset(problem, (Attention(TwoSteps(alpha0, eta_w=0.5, eta_b=eta_b, eta_q=1.0)),))


def capacity(length: int = 4, strength: Reals = 2.0, cosine: Reals = 0.8) -> Preset:
    """Return the setting for the capacity of three models, with a given query.

    See Also
    --------
    learning_curves : Test error and training loss of three models.
    sparsetoken.capacity : The largest load that is linearly separable.

    Examples
    --------
    >>> import sparsetoken as st
    >>> paper = st.presets.capacity()
    >>> for model in paper.models:
    ...     print(model.name, f"{st.capacity(paper.problem, model).capacity:.2f}")
    attention 2.64
    pooled 2.34
    vectorized 9.36
    """
    problem = SparseTokenProblem(length, informative=1, strength=strength, positive_rate=0.5)
    models = Attention(Query(cosine, sharpness=1.0)), Pooled(), Vectorized()
    return Preset(problem, models)
