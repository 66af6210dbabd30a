"""Outcomes of a trained classifier or network and of its training, predicted or simulated."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np

from sparsetoken.base.validation import InvalidInput, real
from sparsetoken.model.stages import Query
from sparsetoken.results.record import ALONG, Numbers, Record, quantity, record
from sparsetoken.results.status import Status

_STATUS = "How the computation ended, at each point."
_NOTES = "Warnings with remedies at each point; `advice` summarises them."
_ORIGIN = "The problem and the training at each point, from which another one may start."


@record
class Solved(Record):
    """Numbers that solve equations, with their errors."""

    _: dataclasses.KW_ONLY
    errors: Any = quantity("The error of each; twice the error covers 95%.", suffix="_se")
    numerical_error: Numbers = quantity("That of `test_error`.")
    residual: Numbers = quantity("Norm of the last Newton step, relative to the unknowns.")
    iterations: Numbers = quantity("Newton steps in all.")
    status: Status = quantity(_STATUS, objects=True)
    notes: tuple[str, ...] = quantity(_NOTES, column=None, objects=True, default=())


@record
class FoundQuery(Record):
    """A query found by two gradient steps."""

    cosine: Numbers = quantity("s_q = <q2, xi> / |q2|; 0 if q2 = 0.")
    overlap: Numbers = quantity("<q2, xi>.")
    norm: Numbers = quantity("|q2|.")
    readout_cosine: Numbers = quantity("<w1, xi> / |w1|, w1 after its first step; 0 if w1 = 0.")


@record
class Alignment(FoundQuery):
    """The query after two gradient steps, predicted by theory."""

    sharpness: Numbers = quantity("k = beta |q2|.")
    rate: Numbers = quantity(
        "C in |s_q| = 1 - C/alpha0 + o(1/alpha0); nan where the query does not align."
    )
    status: Status = quantity(_STATUS, objects=True)
    spread: Numbers = quantity(
        "Standard deviation of the cosine over data sets D0 at a dimension: all else is then a "
        "mean over them. None in the limit.",
        default=None,
    )
    anti_aligned: Numbers = quantity(
        "Share of data sets D0 at a dimension whose cosine is negative; None in the limit.",
        default=None,
    )
    notes: tuple[str, ...] = quantity(_NOTES, column=None, objects=True, default=())

    @property
    def query(self) -> Query:
        """The query as (cosine, sharpness)."""
        return Query(np.clip(self.cosine, -1.0, 1.0), self.sharpness)


@record
class Overlaps(Record):
    """A trained readout (w, b) in the frame of query and signal.

    For models without a query e_2 = xi; for ``vectorized`` the overlap w_2 is
    <W, 1 xi^T> / sqrt(L).
    """

    query: Numbers = quantity("w_1 = <w, q/|q|>; 0 without a query.", column="query_overlap")
    orthogonal: Numbers = quantity(
        "w_2 = <w, e_2>, e_2 the part of xi orthogonal to q, normalised.",
        column="orthogonal_overlap",
    )
    noise: Numbers = quantity("nu, the norm of the rest of w.", column="noise_overlap")
    bias: Numbers = quantity("b.")


@record
class Outcome(Record):
    """Test error, training loss and AUC of a trained classifier, from theory or simulation."""

    test_error: Numbers = quantity("P(y sign(score) < 0) on new data.")
    training_loss: Numbers = quantity("Mean loss over D1, without the ridge term.")
    training_error: Numbers = quantity("Fraction of D1 that is misclassified.")
    auc: Numbers = quantity("Area under the ROC curve on new data.")
    overlaps: Overlaps = quantity("The readout in the frame of query and signal.")


@record
class ReadoutOutcome(Outcome):
    """The outcome of a readout that is fitted to infinitely many samples and dimensions."""

    susceptibility: Numbers = quantity(
        "chi: the response of the score of a training sample to a unit force is chi C^2. It is 0 "
        "at infinite alpha1 and, at ridge 0, infinite up to the interpolation threshold."
    )


@record
class Prediction(Solved, ReadoutOutcome):
    """An outcome predicted by theory.

    Its notes warn of a query that turns away from the signal, or has so low a sharpness that
    attention is pooling.

    See Also
    --------
    sparsetoken.predict : The function that returns it.
    TrialOutcome : The outcome of a simulation.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> curve = st.predict(problem, st.Pooled(), st.Readout("square", ridge=0.1, alpha1=[1.0, 4.0]))
    >>> curve.dims, curve.test_error.round(3).tolist(), curve.converged
    (('alpha1',), [0.325, 0.258], True)
    """

    errors: ReadoutOutcome = quantity(
        "The error of each of these numbers by the nodes and, of a mean over draws of the query, "
        "by these; twice the error covers 95%.",
        suffix="_se",
    )
    cosine: Numbers = quantity("Of the query; None for a model without one.", default=None)
    sharpness: Numbers = quantity("Of the query; None for a model without one.", default=None)
    spread: Numbers = quantity(
        "Standard deviation of the test error over data sets D0 at a dimension: all else is then a "
        "mean over them. None in the limit.",
        default=None,
    )

    @property
    def query(self) -> Query | None:
        """The query of the model; None for a model without one."""
        return None if self.cosine is None else Query(self.cosine, self.sharpness)


@record
class Capacity(Record):
    """The number of samples per dimension below which D1 is linearly separable."""

    capacity: Numbers = quantity("alpha* = n1 / d.")
    numerical_error: Numbers = quantity("Error of the capacity; twice it covers 95%.")
    residual: Numbers = quantity("Norm of the last Newton step, relative to the unknowns.")
    iterations: Numbers = quantity("Newton steps in all.")
    status: Status = quantity(_STATUS, objects=True)
    notes: tuple[str, ...] = quantity(_NOTES, column=None, objects=True, default=())


def norms_of(gram: np.ndarray) -> np.ndarray:
    """Return the norms of columns with a Gram matrix."""
    return np.sqrt(np.maximum(np.diagonal(gram, axis1=-2, axis2=-1), 0))


def cosines_of(overlaps: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Return the cosines of columns and signals; 0 for a column that is 0."""
    norms = np.broadcast_to(norms_of(gram)[..., None], overlaps.shape)
    none = np.zeros(overlaps.shape)
    return np.clip(np.divide(overlaps, norms, out=none, where=norms != 0), -1, 1)


@record
class Weights(Record):
    """The columns of U and the further weights, at the start and after each step.

    Arrays have axes for columns and signals after the dimensions. Tables have overlap_NAME,
    cosine_NAME and norm_NAME of each column (overlap_NAME_DIRECTION where directions have names),
    and weight_NAME of each further weight.
    """

    overlaps: Numbers = quantity("U^T xi_p, with axes for columns and signals.")
    cosines: Numbers = quantity("Of columns and signals; 0 for a column that is 0.")
    norms: Numbers = quantity("Norms of the columns.")
    gram: Numbers = quantity("U^T U.")
    c: Numbers = quantity("The further weights.")
    names: tuple[str, ...] = quantity("Of the columns.", column=None)
    weight_names: tuple[str, ...] = quantity("Of the further weights.", column=None)
    directions: tuple[str, ...] = quantity(
        "Names of the signals; that of a `SparseTokenProblem` has the name ''.", column=None
    )

    @classmethod
    def of_columns(
        cls, overlaps: np.ndarray, gram: np.ndarray, c: np.ndarray, *names: Any, **shape: Any
    ) -> Self:
        """Return weights with the cosines and norms that follow from overlaps and Gram matrix."""
        cosines, norms = cosines_of(overlaps, gram), norms_of(gram)
        return cls(overlaps, cosines, norms, gram, c, *names, **shape)

    def columns(self) -> dict[str, np.ndarray]:
        """Return overlaps, cosines and norms of each column, and the further weights, by name."""
        columns: dict[str, np.ndarray] = {}
        ends = [f"_{direction}" if direction else "" for direction in self.directions]
        for kind, values in (("overlap", self.overlaps), ("cosine", self.cosines)):
            for j, name in enumerate(self.names):
                columns |= {f"{kind}_{name}{end}": values[..., j, p] for p, end in enumerate(ends)}
        columns |= {f"norm_{name}": self.norms[..., j] for j, name in enumerate(self.names)}
        return columns | {f"weight_{n}": self.c[..., j] for j, n in enumerate(self.weight_names)}

    def query(self, beta: float) -> Query:
        """Return the query q, after the last step, for a model that keeps it frozen.

        It has cosines and sharpness ``beta |q|`` among isotropic tokens, as arrays where there are
        several points or trials. What is computed with it knows nothing of its numerical error.

        Parameters
        ----------
        beta : float >= 0
            The inverse temperature of the network.

        Raises
        ------
        InvalidInput
            If the first column is not q, the descent diverged, or there are several points and
            signals with names.

        Examples
        --------
        >>> import sparsetoken as st
        >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
        >>> trajectory = st.descend(problem, st.Descent(alpha=3.0, steps=4), tolerance=0.05)
        >>> model = st.Attention(trajectory.weights.query(beta=1.0))
        >>> earlier = st.Attention(trajectory.weights.isel(step=2).query(beta=1.0))
        >>> earlier.query.sharpness < model.query.sharpness
        True
        """
        real("beta", beta, 0.0)
        if self.names[:1] != ("q",):
            legal = "of a network whose first column is its one query q"
            raise InvalidInput("weights", legal, ", ".join(self.names))
        at = self.isel(**{dim: -1 for dim in self.dims if dim in ALONG})
        cosines, sharpness = at.cosines[..., 0, :], beta * at.norms[..., 0]
        if not np.isfinite(cosines).all():
            remedy = "The descent diverged: take an earlier state by isel, or lower its rates."
            raise InvalidInput("weights", "numbers", "nan", remedy)
        if self.directions == ("",):
            return Query(cosines[..., 0], sharpness)
        if at.dims:
            remedy = "Take one point, as trajectory[0].weights."
            raise InvalidInput("weights on named signals", "of one point", at.dims, remedy)
        return Query(cosines=dict(zip(self.directions, cosines, strict=True)), sharpness=sharpness)


@record
class TaskOutcome(Record):
    """An outcome of the four stages on a `Task`."""

    test_error: Numbers = quantity("Mean of the metric of the task on new bags.")
    training_loss: Numbers = quantity("Mean loss over D1, without the ridge term.")
    weights: Weights = quantity(
        "Query and readout; the norm of the query is its sharpness. A model without a query has "
        "none."
    )


@record
class TaskPrediction(Solved, TaskOutcome):
    """An outcome of the four stages on a `Task`, predicted by theory.

    See Also
    --------
    sparsetoken.predict : The function that returns it.
    sparsetoken.Task : A task of one's own.

    Examples
    --------
    >>> import sparsetoken as st
    >>> task = st.tasks.single_location_regression(length=6, strength=3.0)
    >>> query = st.Query(cosines={"place": 0.9}, sharpness=2.0)
    >>> readout = st.Readout("square", ridge=0.01, alpha1=4.0)
    >>> found = st.predict(task, st.Attention(query), readout, tolerance=0.02)
    >>> found.weights.names, found.converged
    (('q', 'w'), True)
    """

    errors: TaskOutcome = quantity(
        "The error of each of these numbers by the nodes; twice the error covers 95%.",
        suffix="_se",
    )


@record
class NetworkPath(Record):
    """Weights of a network and their test error, at the start and after each step.

    The last dimension is step. What a descent that diverged has not is nan.
    """

    test_error: Numbers = quantity(
        "Probability of the wrong class on new data; with two classes a score of 0 counts 1/2."
    )
    training_loss: Numbers = quantity("Mean loss over all samples, without weight decay.")
    attended: Numbers = quantity(
        "Fraction of the bags with a signal whose most attended token holds one; nan for a "
        "network without attention, and if no bag has a signal. Ties are split equally."
    )
    weights: Weights = quantity("Overlaps, norms and further weights.")
    _: dataclasses.KW_ONLY
    previous_task_error: Numbers = quantity(
        "Test error on the task of a trained start, along the training on another one; None for "
        "other starts.",
        default=None,
    )

    @property
    def best_step(self) -> Numbers:
        """The step with the smallest test error."""
        if np.isnan(self.test_error).all(axis=-1).any():
            raise InvalidInput("test errors", "computed at one step or more", "none")
        return np.where(np.isnan(self.test_error), np.inf, self.test_error).argmin(axis=-1)


@record
class Trajectory(NetworkPath):
    """The trajectory of a network in training, predicted by theory.

    Its status is NO_LIMIT if the descent diverges: the steps before that are kept.

    See Also
    --------
    sparsetoken.descend : The function that returns it.
    NetworkPath : Its quantities at each step.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> trajectory = st.descend(problem, st.Descent(st.networks.Pooled(), steps=2), replicas=2)
    >>> trajectory.dims, trajectory.test_error.shape, trajectory.weights.names
    (('step',), (3,), ('w',))
    """

    errors: NetworkPath = quantity(
        "For each quantity, the error over independent replicas, twice which covers 95%; those "
        "of `test_error` and `attended` include the error from the new bags.",
        suffix="_se",
    )
    numerical_error: Numbers = quantity("The largest of `test_error`.", without=ALONG)
    replicas: Numbers = quantity("The number of replicas followed.", without=ALONG)
    status: Status = quantity("How each trajectory ended.", objects=True, without=ALONG)
    notes: tuple[str, ...] = quantity(_NOTES, column=None, objects=True, default=(), without=ALONG)
    origin: Any = quantity(_ORIGIN, column=None, objects=True, default=None, without=ALONG)


@record
class MinimumOutcome(Record):
    """Weights at a joint minimum, and their errors and losses."""

    test_error: Numbers = quantity("Mean of the metric of the task on new bags.")
    training_loss: Numbers = quantity("Mean loss over all samples, without ridges.")
    objective: Numbers = quantity("What is minimised: the training loss with all ridges.")
    weights: Weights = quantity("Overlaps, norms and further weights.")


@record
class MinimumPrediction(Solved, MinimumOutcome):
    """The joint minimum of a network on a task, predicted by theory.

    See Also
    --------
    sparsetoken.minimize : The function that returns it.
    MinimumOutcome : Its quantities.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=3, informative=1, strength=4.0)
    >>> minimum = st.Minimum(st.networks.Pooled(), alpha=2.0, ridge=0.1)
    >>> found = st.minimize(problem, minimum, tolerance=0.05)
    >>> found.weights.names, found.status
    (('w',), 'converged')
    """

    errors: MinimumOutcome = quantity(
        "The error of each of these numbers over scrambles of the nodes; twice the error covers "
        "95%.",
        suffix="_se",
    )
    susceptibility: Numbers = quantity("V, with axes for columns; no column of a table.")
    replicon: Numbers = quantity("Replica symmetry is stable below 1.")
    replicon_error: Numbers = quantity("That of `replicon` over scrambles.")
    jumps: Numbers = quantity(
        "Distance of Stein's response from the implicit one, relative: what jumps of the proximal "
        "operator between minima change, which the theory leaves out."
    )
    jumps_error: Numbers = quantity("That of `jumps` over scrambles.")
    residual: Numbers = quantity("By which the equations are not solved, at most.")
    iterations: Numbers = quantity("Of all starts and scrambles.")
    origin: Any = quantity(_ORIGIN, column=None, objects=True, default=None)
    branches: Any = quantity(
        "Distinct solutions of the equations, this one first; a tuple of results at each point.",
        column=None,
        objects=True,
        default=(),
    )

    def columns(self) -> dict[str, np.ndarray]:
        """Return all numbers by name but the susceptibility."""
        columns = super().columns()
        del columns["susceptibility"]
        return columns
