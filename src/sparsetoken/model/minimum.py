"""The joint minimum of the regularised loss over all weights of a network, as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparsetoken.base.parameters import SIZES, Range, parameter, value
from sparsetoken.base.validation import LARGEST_LOAD, InvalidInput, Reals, real, reals
from sparsetoken.losses import Loss
from sparsetoken.model.architectures.base import Architecture, WeightedSum
from sparsetoken.model.architectures.networks import Softmax
from sparsetoken.model.architectures.own import network_of
from sparsetoken.model.base import Problem, check_problem
from sparsetoken.model.descent import ByName, by_column, loss_of
from sparsetoken.model.stages import SMOOTH_LOSSES
from sparsetoken.model.training import of_columns, overlaps_of

if TYPE_CHECKING:
    from jaxtyping import Float

__all__ = ["STARTS", "Minimization", "Minimum", "minimization_of", "start_of"]

STARTS = ("uninformed", "informed")


def _frozen(given: Any) -> Any:
    """Return columns by name, with numbers: their overlaps with the signals, then their norm."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        legal = "None or a mapping from columns to (overlap with each signal..., norm)"
        raise InvalidInput("frozen", legal, given)
    rows = []
    for name, numbers in given.items():
        row = tuple(np.atleast_1d(np.asarray(reals("frozen", numbers), dtype=float)).tolist())
        rows.append((str(name), row))
    return ByName(rows)


@value
class Minimum:
    """The minimum, over all weights of a network at once, of the mean loss with weight decay.

    It minimises ``mean loss + sum_j ridge_j |U_j|^2 / 2 + ridge_c |c|^2 / 2`` over the columns U
    and the further weights c, on one data set.

    Settings of columns are one number for all, one for each, or a mapping from the names of
    columns, or from their names without digits, to numbers: ``{"q": 0.1, "w": 0.02}``.

    See Also
    --------
    sparsetoken.minimize : The minimum in the limit of high dimension.
    sparsetoken.Descent : Training by gradient descent, step by step.

    Examples
    --------
    >>> import sparsetoken as st
    >>> minimum = st.Minimum(st.networks.Softmax(), alpha=3.0, ridge=0.05)
    >>> minimum.alpha, minimum.ridge
    (3.0, 0.05)
    """

    network: Architecture = parameter(
        "network, one of `sparsetoken.model.networks`",
        default=Softmax(),
        find=network_of,
        kind="Architecture",
    )
    alpha: Reals = parameter(
        "labels, as samples per dimension",
        r"\alpha = n/d",
        default=3.0,
        range=Range(above=0, most=LARGEST_LOAD),
    )
    ridge: Any = parameter(
        "ridge of the columns of U, above 0",
        r"\lambda",
        default=0.05,
        find=by_column("ridge"),
        kind="float, array or mapping",
    )
    ridge_c: float = parameter("ridge of the further weights c", default=0.0, range=SIZES)
    loss: Any = parameter(
        "loss, as of a `Descent`",
        r"\ell",
        default="logistic",
        choices=SMOOTH_LOSSES,
        find=loss_of,
        kind="Loss, callable or " + ", ".join(SMOOTH_LOSSES),
    )
    frozen: Any = parameter(
        "columns that are given and not trained, by name: the overlap with each signal, then the "
        "norm. Beside the signals they are orthogonal to one another",
        default=None,
        find=_frozen,
        kind="mapping, optional",
    )


class Minimization(NamedTuple):
    """A minimum with all its settings as numbers, as theory and simulation find it.

    Attributes
    ----------
    task : Problem
    network : Architecture
    loss : Loss or callable
    alpha, ridge_c : float
    ridge : array of shape (m,)
    frozen : array of shape (m,)
        Whether a column is given.
    overlaps : array of shape (m, P)
        Of the columns that are given; 0 of the others.
    rest : array of shape (m,)
        Their norms beside the signals.
    """

    task: Problem
    network: Architecture
    loss: Loss | Callable[[Any, Any], Any]
    alpha: float
    ridge: Float[np.ndarray, " m"]
    ridge_c: float
    frozen: Float[np.ndarray, " m"]
    overlaps: Float[np.ndarray, "m P"]
    rest: Float[np.ndarray, " m"]

    @property
    def convex(self) -> bool:
        """Whether the loss is known to be convex in all that is trained."""
        readouts = np.isin(np.arange(len(self.frozen)), self.network.readouts(self.task.outputs))
        built_in = isinstance(self.network, WeightedSum) and isinstance(self.loss, Loss)
        return built_in and bool((self.frozen | readouts).all())

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of U."""
        return self.network.column_names(self.task.outputs)

    @property
    def weights(self) -> tuple[str, ...]:
        """The names of the further weights."""
        return self.network.weight_names(self.task.outputs)


def start_of(found: Minimization, given: str | Mapping[str, Any]) -> Float[np.ndarray, "m P"]:
    """Return the overlaps of a start: none, of each column with a signal in turn, or by name.

    Raises
    ------
    InvalidInput
        If there is no such start or column.
    """
    columns, directions = found.columns, found.task.directions
    if isinstance(given, Mapping):
        return overlaps_of(given, columns, directions)
    if given not in STARTS:
        legal = f"{', '.join(STARTS)}, or overlaps by the names of columns"
        raise InvalidInput("start", legal, given)
    turns = np.arange(len(columns)) % len(directions)
    return np.eye(len(directions))[turns] * (given == "informed")


def require_minimum(given: Any) -> None:
    """Raise `InvalidInput` unless a value is a minimum."""
    if not isinstance(given, Minimum):
        remedy = "Write st.Minimum(st.networks.Softmax(), alpha=3.0), for example."
        raise InvalidInput("minimum", "a Minimum", given, remedy)


def minimization_of(task: Problem, minimum: Minimum, any_tokens: bool = False) -> Minimization:
    """Return a minimum on a task with all its settings as numbers.

    Tokens are isotropic, or any.

    Raises
    ------
    InvalidInput
        If ridges or given columns do not fit the network, a column that is trained has no ridge,
        the network or the loss does not fit the task, or its tokens are not isotropic.
    """
    from sparsetoken.model.network_checks import check_network

    require_minimum(minimum)
    check_problem(task)
    network, columns = minimum.network, minimum.network.column_names(task.outputs)
    if task.tokens.dimension is not None and not any_tokens:
        remedy = "Or simulate: sparsetoken.simulation.minimize takes any tokens."
        raise InvalidInput("tokens of a minimum", "isotropic", task.tokens, remedy)
    given = dict(minimum.frozen or {})
    if unknown := given.keys() - {*columns}:
        legal = f"names among {', '.join(columns)}"
        raise InvalidInput("frozen", legal, min(unknown))
    P = len(task.directions)
    frozen, overlaps, rest = np.zeros(len(columns), bool), np.zeros((len(columns), P)), []
    for j, name in enumerate(columns):
        row = np.array(given.get(name, (0.0,) * (P + 1)))
        if len(row) != P + 1:
            legal = f"{P} overlaps and the norm of each column"
            raise InvalidInput("frozen", legal, {name: row.tolist()})
        overlaps[j], norm = row[:P], float(row[P])
        if norm < 0:
            raise InvalidInput("frozen", "of a norm >= 0", {name: row.tolist()})
        beside = norm**2 - float(row[:P] @ row[:P])
        if beside < -1e-9 * max(norm**2, 1.0):
            legal = "overlaps that no norm is smaller than"
            raise InvalidInput("frozen", legal, {name: row.tolist()})
        frozen[j] = name in given
        rest.append(np.sqrt(max(beside, 0.0)))
    if frozen.all():
        remedy = "Leave a column out, to be trained."
        raise InvalidInput("frozen", "some of the columns, not all", ", ".join(columns), remedy)
    ridge = of_columns("ridge", minimum.ridge, columns)
    if (ridge[~frozen] <= 0).any():
        name = columns[int(np.flatnonzero(~frozen & (ridge <= 0))[0])]
        raise InvalidInput("ridge", f"above 0 for each column that is trained, as {name}", 0.0)
    found = Minimization(
        task=task.for_loss(minimum.loss),
        network=network,
        loss=minimum.loss,
        alpha=real("alpha", minimum.alpha),
        ridge=ridge,
        ridge_c=minimum.ridge_c,
        frozen=frozen,
        overlaps=overlaps,
        rest=np.array(rest),
    )
    check_network(network, found.task, found.loss)
    return found
