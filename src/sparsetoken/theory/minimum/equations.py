"""The equations of the joint minimum on a fixed set of bags.

A bag has projections Z on the signals, and of each token omega_l = M Z_l + k_l R^(1/2) g_l on the
columns of the weights that were trained without the bag. With the bag they are H, the minimum of a
quadratic penalty and the loss of the bag: the proximal operator.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.model.minimum import Minimization
from sparsetoken.model.tokens import symmetric_root
from sparsetoken.theory.laws.task import nodes_of
from sparsetoken.theory.minimum.prox import Bags, Shared, bag_loss

_CHUNK, _FEW = 128, 16  # bags in one compiled call; fewer of those that are slow
_ROUNDS = 8  # of the proximal operator: calls, after each of which bags may leave
_SMALL = 1e-8  # slope at which a bag leaves
_HELD, _HELD_STEP = 40, 0.3  # steps with weights held, and their size
_LEAST_CURVATURE = 1e-3  # of a Newton step in M and c


class State(NamedTuple):
    """The unknowns: K and S of the equations, overlaps M, further weights c.

    `pull` is F + F^T, F the mean of the slopes of the loss by the Gram matrix of the columns: it
    acts as a ridge between columns, and is 0 for networks that do not depend on that matrix.
    """

    K: Float[np.ndarray, "m m"]
    S: Float[np.ndarray, "m m"]
    pull: Float[np.ndarray, "m m"]
    M: Float[np.ndarray, "m P"]
    c: Float[np.ndarray, " C"]


class Order(NamedTuple):
    """Overlaps, susceptibility, and the Gram matrix beside the signals."""

    M: Float[np.ndarray, "m P"]
    V: Float[np.ndarray, "m m"]
    R: Float[np.ndarray, "m m"]

    @property
    def gram(self) -> Float[np.ndarray, "m m"]:
        """U^T U."""
        return self.R + self.M @ self.M.T


class Means(NamedTuple):
    """Means over bags at an order, and where the proximal operator ended."""

    order: Order
    x: Float[np.ndarray, "n Lf"]
    values: Float[np.ndarray, " n"]
    prox_error: float
    of: dict[str, Any]


class Equations:
    """The equations of a minimum on the bags of a scramble, of which `nodes_of` says how many."""

    def __init__(self, problem: Minimization, size: int, scramble: int) -> None:
        self.problem, self.size = problem, size
        self.nodes = nodes_of(problem.network, problem.task, size, scramble)
        self._loss = bag_loss(problem.network, problem.loss, problem.task.outputs)

    @property
    def _free(self) -> np.ndarray:
        return np.flatnonzero(~self.problem.frozen)

    def start(self, M: np.ndarray, rest: float, c: np.ndarray) -> State:
        """Return a state with overlaps M and columns of a norm beside the signals."""
        problem, m = self.problem, len(self.problem.columns)
        M, R = np.where(problem.frozen[:, None], problem.overlaps, M), rest**2 * self._cosines()
        K, pull = np.eye(m), np.zeros((m, m))
        if problem.network.uses_gram:
            K, pull = self._of_weights(M, R, c)
        A = np.diag(problem.ridge) + K + pull
        return State(K, problem.alpha * A @ R @ A, pull, M, c)

    def _of_weights(self, M: np.ndarray, R: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return K and the pull of given weights, from which products of columns cannot run away.

        The ridges with both stay positive.
        """
        ridge, x, free = np.diag(self.problem.ridge), self.no_move(), self._free
        m, inside = len(M), np.ix_(free, free)
        K, pull, V = np.eye(m), np.zeros((m, m)), np.zeros((m, m))
        for _ in range(_HELD):
            V[inside] = np.linalg.inv((ridge + K + pull)[inside]) / self.problem.alpha
            found, step = self._means_at(Order(M, V, R), c, x), _HELD_STEP
            x, least = found.x, _HELD_STEP * self.problem.ridge[free].min()
            while True:
                new = [a + step * (found.of[n] - a) for n, a in (("K", K), ("pull", pull))]
                if np.linalg.eigvalsh((ridge + sum(new))[inside])[0] > least:
                    break
                step /= 2
            K, pull = new
        return K, pull

    def _cosines(self) -> Float[np.ndarray, "m m"]:
        """Return cosines of the columns at a start, without which a layer is not read."""
        problem = self.problem
        place = {name: i for i, name in enumerate(problem.columns)}
        cosines = np.eye(len(place))
        for pair, cosine in problem.network.start_cosines(problem.task.outputs).items():
            i, j = (place[name] for name in pair)
            cosines[i, j] = cosines[j, i] = cosine
        return cosines

    def order(self, state: State) -> Order:
        """Return the order parameters of a state.

        Columns that are given have no response, and act on the others through K.
        """
        problem, free, given = self.problem, self._free, np.flatnonzero(self.problem.frozen)
        m, inside = len(problem.columns), np.ix_(self._free, self._free)
        K = state.K + state.pull
        inverse = np.linalg.inv((np.diag(problem.ridge) + K)[inside])
        V, R = np.zeros((m, m)), np.zeros((m, m))
        V[inside] = inverse / problem.alpha
        R[inside] = inverse @ state.S[inside] @ inverse / problem.alpha
        M = state.M.copy()
        if len(given):
            M[given] = problem.overlaps[given]
            own = np.diag(problem.rest[given] ** 2)
            follow = -inverse @ K[np.ix_(free, given)]
            R[np.ix_(given, given)] = own
            R[np.ix_(free, given)] = follow @ own
            R[np.ix_(given, free)] = (follow @ own).T
            R[inside] += follow @ own @ follow.T
        return Order(M, V, R)

    def no_move(self) -> Float[np.ndarray, "n Lf"]:
        """Return a start of the proximal operator: the weights without the bag."""
        n, L, _ = self.nodes.g.shape
        return np.zeros((n, L * len(self._free)))

    def _bags(self, order: Order, g: np.ndarray) -> Bags:
        """Return the bags with normals g."""
        n = self.nodes
        omega = n.Z @ order.M.T + self._along(order, g)
        return Bags(omega.reshape(len(g), -1), n.scale, n.y, n.Z)

    def _along(self, order: Order, g: np.ndarray) -> Float[np.ndarray, "n L m"]:
        return self.nodes.scale[..., None] * (g @ symmetric_root(order.R))

    def _shared(self, order: Order, c: np.ndarray) -> Shared:
        """Return what all bags share, V^(1/2) by the columns that are trained."""
        return Shared(c, order.gram, symmetric_root(order.V)[:, self._free])

    def prox(
        self, order: Order, c: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the proximal operator of all bags from a start, its values and its error."""
        return self._solved(self._bags(order, self.nodes.g), self._shared(order, c), x)

    @property
    def _chunks(self) -> list[slice]:
        count = len(self.nodes.weights)
        return [slice(i, i + _CHUNK) for i in range(0, count, _CHUNK)]

    def means(self, state: State, x: np.ndarray) -> Means:
        """Return all means at a state, with the proximal operator from x.

        Equation: joint-minimum.
        """
        return self._means_at(self.order(state), state.c, x)

    def _means_at(self, order: Order, c: np.ndarray, x: np.ndarray) -> Means:
        n, found = self.nodes, dict[str, Any]()
        bags, shared = self._bags(order, n.g), self._shared(order, c)
        x, values, error = self._solved(bags, shared, x)
        for j in self._chunks:
            some = self._loss.means(x[j], bags.at(j), n.weights[j], shared)
            for name, part in some.items():
                found[name] = found.get(name, 0.0) + np.asarray(part)
        return Means(order, x, values, error, found)

    def step(self, state: State, means: Means, most: float = 1.0) -> State:
        """Return the state that the equations give: K and S as they are, a Newton step in M and c.

        The Newton step is at fixed noise; it has the curvature of the envelope, and no entry moves
        by more than `most`.
        """
        problem, free, of = self.problem, self._free, means.of
        P, C = state.M.shape[1], len(state.c)
        ridge = np.diag(problem.ridge) + state.pull
        by_M = (ridge @ means.order.M + of["GZ"])[free]
        slope = np.concatenate([by_M.ravel(), of["by_c"] + problem.ridge_c * state.c])
        of_M = of["ZJZ"][free][:, :, free].reshape(len(free) * P, len(free) * P)
        of_M = of_M + np.kron(ridge[np.ix_(free, free)], np.eye(P))
        mixed = of["ZJc"][free].reshape(len(free) * P, C)
        of_c = of["by_cc"] + problem.ridge_c * np.eye(C)
        curvature = np.block([[of_M, mixed], [mixed.T, of_c]])
        values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
        move = vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), _LEAST_CURVATURE))
        move *= min(1.0, most / max(np.abs(move).max(), 1e-12))
        M = means.order.M.copy()
        M[free] -= move[: len(free) * P].reshape(len(free), P)
        return State(of["K"], of["S"], of["pull"], M, state.c - move[len(free) * P :])

    def replicon(self, means: Means) -> float:
        """Return the spectral radius below which replica symmetry is stable at 1."""
        m, V = len(self.problem.columns), means.order.V
        T = np.einsum("ia,pb,abjq->ipjq", V, V, means.of["T"]).reshape(m * m, m * m)
        return float(self.problem.alpha * np.abs(np.linalg.eigvals(T)).max())

    def nearest(
        self, order: Order, c: np.ndarray, g: np.ndarray, x: np.ndarray
    ) -> Float[np.ndarray, "n Lm"]:
        """Return the proximal operator at other normals g.

        It is the lower one of what x and the weights without the bag lead to.
        """
        bags, shared = self._bags(order, g), self._shared(order, c)
        (near, value, _), (far, other, _) = (
            self._solved(bags, shared, start) for start in (x, 0 * x)
        )
        lower = other < value - 1e-9 * (1 + np.abs(value))
        return np.where(lower[:, None], far, near)

    def pulls(
        self, order: Order, c: np.ndarray, g: np.ndarray, x: np.ndarray, move: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the slopes of the losses by the projections, and their change by a move of g.

        The change is to first order.
        """
        bags, shared = self._bags(order, g), self._shared(order, c)
        moved = self._along(order, move).reshape(len(x), -1)
        parts = [self._loss.pulls(x[j], moved[j], bags.at(j), shared) for j in self._chunks]
        pulls, changes = (np.concatenate(part) for part in zip(*parts, strict=True))
        return pulls, changes

    def _solved(
        self, bags: Bags, shared: Shared, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return where Newton's method ends, its values and the largest slope.

        Bags whose slope is small leave, so that a few slow ones do not hold up all others.
        """
        x, left = x.copy(), np.arange(len(x))
        value, damping, slope = np.zeros((3, len(x)))
        for _ in range(_ROUNDS):
            chunk = _CHUNK if len(left) > _CHUNK // 2 else _FEW
            for first in range(0, len(left), chunk):
                j = np.resize(left[first : first + chunk], chunk)  # the last ones repeat
                found = self._loss.prox(x[j], damping[j], bags.at(j), shared)
                x[j], damping[j], value[j], slope[j] = found
            left = left[~(slope[left] < _SMALL)]
            if not len(left):
                break
        return x, value, float(slope.max())
