"""What theory and simulation find of a trained classifier."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsetoken.results.record import Numbers, Record, about, quantity, record
from sparsetoken.results.status import Status
from sparsetoken.stages import Query


@record
class FoundQuery(Record):
    """A query that two gradient steps find.

    Attributes
    ----------
    cosine : number or array
        s_q = <q2, xi> / |q2|; 0 if q2 = 0.
    overlap : number or array
        <q2, xi>.
    norm : number or array
        |q2|.
    readout_cosine : number or array
        <w1, xi> / |w1|, of the readout after its first step; 0 if w1 = 0.
    """

    cosine: Numbers
    overlap: Numbers
    norm: Numbers
    readout_cosine: Numbers


@record
class Alignment(FoundQuery):
    """The query after two gradient steps, predicted by theory.

    Attributes
    ----------
    sharpness : number or array
        k = beta |q2|.
    rate : number or array
        C in |s_q| = 1 - C/alpha0 + o(1/alpha0); nan where the query does not align.
    status : Status, or array of them
    notes : tuple of str, or array of them
        At each point, what to know of the query, with a remedy; `advice` sums them up.
    """

    sharpness: Numbers
    rate: Numbers
    status: Status
    notes: tuple[str, ...] = about(default=())

    @property
    def query(self) -> Query:
        """The query as (cosine, sharpness)."""
        return Query(np.clip(self.cosine, -1.0, 1.0), self.sharpness)


@record
class Overlaps(Record):
    """A trained readout (w, b) in the frame of query and signal.

    Attributes
    ----------
    query : number or array
        w_1 = <w, q/|q|>; 0 for models without a query.
    orthogonal : number or array
        w_2 = <w, e_2>, e_2 the part of xi orthogonal to q, normalised.
        For models without a query, e_2 = xi. For ``vectorized`` it is
        <W, 1 xi^T> / sqrt(L).
    noise : number or array
        nu, the length of the rest of w.
    bias : number or array
        b.
    """

    query: Numbers = quantity(column="query_overlap")
    orthogonal: Numbers = quantity(column="orthogonal_overlap")
    noise: Numbers = quantity(column="noise_overlap")
    bias: Numbers = quantity()


@record
class Outcome(Record):
    """What a trained classifier is worth: the common ground of theory and simulation.

    Attributes
    ----------
    test_error : number or array
        P(y sign(score) < 0) on new data.
    training_loss : number or array
        Mean loss over D1, without the ridge term.
    training_error : number or array
        Share of D1 on the wrong side.
    auc : number or array
        Area under the ROC curve on new data.
    overlaps : Overlaps
    """

    test_error: Numbers
    training_loss: Numbers
    training_error: Numbers
    auc: Numbers
    overlaps: Overlaps


@record
class Prediction(Outcome):
    """An outcome predicted by theory.

    Attributes
    ----------
    susceptibility : number or array
        chi, by which the score of a training sample answers a pull: its step is chi C^2.
        It is 0 at infinite alpha1 and, at ridge 0, infinite up to the interpolation
        threshold.
    numerical_error : number or array
        Standard error of `test_error` from independent scrambles of the nodes.
    residual : number or array
        Length of the last Newton step, relative to the unknowns.
    iterations : integer or array
        Newton steps in all.
    status : Status, or array of them
    cosine, sharpness : number or array, or None
        Of the query that the model worked with.
    notes : tuple of str, or array of them
        At each point, what to know of the query, with a remedy: that it turns away from the
        signal, is so blunt that attention is pooling, or loses to pooling; and of the ridge,
        where the limit holds only at dimensions far above 1000. `advice` sums them up.
    floor : callable or None
        Computes the test error of the best learner from the same samples at each point in C
        order, where it is known. It takes some seconds.
    """

    susceptibility: Numbers
    numerical_error: Numbers
    residual: Numbers
    iterations: Numbers
    status: Status
    cosine: Numbers = None
    sharpness: Numbers = None
    notes: tuple[str, ...] = about(default=())
    floor: Callable[[], np.ndarray] | None = about(default=None)

    @property
    def query(self) -> Query | None:
        """The query that the model worked with; None for a model without one."""
        return None if self.cosine is None else Query(self.cosine, self.sharpness)


@record
class Capacity(Record):
    """The number of samples per dimension below which D1 is linearly separable.

    Attributes
    ----------
    capacity : number or array
        alpha* = n1 / d.
    numerical_error : number or array
        Standard error of the capacity from independent scrambles of the nodes.
    residual : number or array
        Length of the last Newton step, relative to the unknowns.
    iterations : integer or array
        Newton steps in all.
    status : Status, or array of them
    notes : tuple of str, or array of them
        At each point, what to know of the query that the training finds, with a remedy; `advice`
        sums them up.
    """

    capacity: Numbers
    numerical_error: Numbers
    residual: Numbers
    iterations: Numbers
    status: Status
    notes: tuple[str, ...] = about(default=())
