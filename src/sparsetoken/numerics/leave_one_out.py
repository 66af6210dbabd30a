"""Leave-one-out scores and test error from a single fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float, Int, Real
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from sparsetoken.base.validation import InvalidInput, real
from sparsetoken.numerics.erm import ConvexLoss, ReadoutFit, fit_readout
from sparsetoken.numerics.newton_readout import gram
from sparsetoken.numerics.ranks import sample_auc

ALONE = 1e-13  # a leverage closer to 1 is 1 but for rounding


class SmoothLoss(ConvexLoss, Protocol):
    """A loss with a value; see `sparsetoken.losses.Loss`."""

    def value(self, y: Any, z: Any) -> Any: ...  # noqa: D102


class LeaveOneOut(NamedTuple):
    """Estimates of test error and AUC from a training set.

    Attributes
    ----------
    scores : array of shape (n,)
        Score of each sample under the fit to the others, to first order.
    test_error : float
        Share of scores on the wrong side; a score of 0 counts one half.
    standard_error : float
        Binomial, ``sqrt(e (1 - e) / n)``: of `test_error` against the error on new data.
    auc : float
        Of the scores; nan if the labels are of one class.
    loss : float
        Mean of ``l(y_i, scores_i)``.
    fit : ReadoutFit
        The fit to all samples.
    converged : bool
        Whether the fit converged and all scores are finite.
    reason : str
        Why not; empty if converged.

    See Also
    --------
    leave_one_out : What returns it.
    """

    scores: Float[np.ndarray, " n"]
    test_error: float
    standard_error: float
    auc: float
    loss: float
    fit: ReadoutFit
    converged: bool
    reason: str = ""


Influence = Callable[[Int[np.ndarray, "B k"]], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Of the samples of blocks on their own scores: (gamma, left, shift), of shape (B, k, k).

gamma[., i, j] is the rise of z_i for a unit pull -l' on sample j of the block, left what the
leverage of the block leaves of the identity, 1 - r gamma r with r = sqrt(l''), and shift[., i, j]
the rise of <E_i, w>, of more features E that bear on w without a bias.
"""


def leave_one_out(
    features: Float[np.ndarray, "n m"],
    labels: Real[np.ndarray, " n"],
    loss: SmoothLoss,
    ridge: float,
) -> LeaveOneOut:
    r"""Estimate the leave-one-out score of each sample.

    Equation: leave-one-out. The fit without sample i minimises
    ``(1/n) sum_{j != i} l(y_j, F_j w + b) + (ridge/2) |w|^2``, still divided by n: the fit
    to n - 1 samples with ridge ``ridge n / (n - 1)``. One Newton step from the fit to all
    samples gives its score ``z_i + gamma_i l'_i / (1 - gamma_i l''_i)``, with
    ``gamma_i = f_i^T H^{-1} f_i / n``, ``f_i = (F_i, 1)`` and H the Hessian of the fit.
    So ``z_i`` is the prox of the loss at that score: the surrogate of the proof. It is exact
    for the square loss.

    Parameters
    ----------
    features : array of shape (n, m), finite, n >= 2
    labels : array of shape (n,), in {-1, +1}
    loss : SmoothLoss
        Such as ``get_loss("logistic")``; its ``smooth`` must be true.
    ridge : float > 0

    Returns
    -------
    LeaveOneOut
        Use it only if ``converged``.

    Raises
    ------
    InvalidInput
        If shapes, labels or ridge are illegal or the loss is not smooth.

    Notes
    -----
    Time n m min(n, m), as for the fit. A sample that alone determines a direction (leverage
    1 and a slope other than 0) has no leave-one-out score: it is infinite, on the wrong side.

    See Also
    --------
    sparsetoken.simulate : Readouts on data that are drawn, with their errors on new data.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsetoken as st
    >>> from sparsetoken.losses import get_loss
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.choice([-1, 1], 200)
    >>> features = rng.standard_normal((200, 50)) + 0.2 * labels[:, None]
    >>> found = st.simulation.leave_one_out(features, labels, get_loss("logistic"), ridge=0.1)
    >>> print(f"{found.test_error:.2f} +- {found.standard_error:.2f}")
    0.12 +- 0.02
    """
    F, y = _checked(features, labels)
    _check_loss(loss)
    ridge = real("ridge", ridge, 0.0, open_low=True, remedy="Take a small value such as 1e-6.")
    fit = fit_readout(F, y, loss, ridge)
    return _summary(left_out_scores(F, y, loss, ridge, fit), y, loss, fit)


def left_out_scores(
    F: Float[np.ndarray, "n m"],
    y: Float[np.ndarray, " n"],
    loss: SmoothLoss,
    ridge: float,
    fit: ReadoutFit,
    groups: Int[np.ndarray, " n"] | None = None,
    more: Float[np.ndarray, "n m"] | None = None,
) -> Float[np.ndarray, " n"]:
    """Return only the scores of `leave_one_out`, for arguments known to be legal.

    With the number of the group of each sample its whole group G is left out: one Newton step
    moves its scores by ``gamma_GG a``, ``a = (1 - l''_G gamma_GG)^{-1} l'_G``. Features that a
    sample has only while it is left out, F + more, add ``<more_i, w>`` under the same step.
    """
    bend = np.asarray(loss.curvature(y, fit.scores), dtype=float)
    slope = np.asarray(loss.slope(y, fit.scores), dtype=float)
    influence, moved = _influence(F - F.mean(axis=0), more, bend, ridge), np.empty(len(y))
    for rows in _blocks(groups, len(y)):
        moved[rows] = _newton_step(*influence(rows), bend[rows], slope[rows])
    return fit.scores + moved if more is None else fit.scores + moved + more @ fit.w


def _blocks(groups: Int[np.ndarray, " n"] | None, n: int) -> list[Int[np.ndarray, "B k"]]:
    """Return the samples of each group, those of groups of one size together."""
    if groups is None:
        return [np.arange(n)[:, None]]
    order, sizes = np.argsort(groups, kind="stable"), np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    several = np.unique(sizes[sizes > 0]).tolist()
    return [order[starts[sizes == k][:, None] + np.arange(k)] for k in several]


def _newton_step(
    gamma: Float[np.ndarray, "B k k"],
    left: Float[np.ndarray, "B k k"],
    shift: Float[np.ndarray, "B k k"],
    bend: Float[np.ndarray, "B k"],
    slope: Float[np.ndarray, "B k"],
) -> Float[np.ndarray, "B k"]:
    """Return what scores of blocks move by when they are left out; infinite if all hangs on one."""
    moved = np.where(slope == 0, 0.0, np.copysign(np.inf, slope))
    if slope.shape[1] == 1:
        held = left[:, 0, 0] > ALONE
        pull = slope[held] / left[held, 0]
    else:
        held = np.linalg.eigvalsh(left)[:, 0] > ALONE
        r, first = np.sqrt(bend[held]), np.einsum("bkl,bl->bk", gamma[held], slope[held])
        pull = slope[held] + r * np.linalg.solve(left[held], (r * first)[:, :, None])[:, :, 0]
    moved[held] = np.einsum("bkl,bl->bk", gamma[held] + shift[held], pull)
    return moved


def _checked(features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    F, y = np.asarray(features, dtype=float), np.asarray(labels, dtype=float)
    if F.ndim != 2 or len(F) < 2 or F.shape[1] == 0:
        raise InvalidInput("features", "an (n, m) array, n >= 2, m >= 1", F.shape)
    if y.shape != F.shape[:1] or not np.all(np.abs(y) == 1):
        raise InvalidInput("labels", f"{len(F)} values in {{-1, +1}}", labels)
    return F, y


def _check_loss(loss: SmoothLoss) -> None:
    if isinstance(loss, str):
        raise InvalidInput("loss", "a loss, not its name", loss, f"Write get_loss({loss!r}).")
    if not loss.smooth:
        remedy = "The surrogate needs a second derivative; squared_hinge has one."
        raise InvalidInput("loss", "smooth", loss, remedy)


def _influence(F: np.ndarray, more: np.ndarray | None, bend: np.ndarray, ridge: float) -> Influence:
    """Work with the smaller matrix; samples without curvature have no part in it."""
    bent = bend > 0
    if not bent.any():  # nothing holds the bias
        return lambda rows: (np.zeros((*rows.shape, rows.shape[1])),) * 3
    if np.count_nonzero(bent) < F.shape[1]:
        return _by_samples(F, more, bend, bent, ridge)
    return _by_features(F, more, bend, ridge)


def _own(
    A: np.ndarray, rows: Int[np.ndarray, "B k"], other: np.ndarray | None = None
) -> Float[np.ndarray, "B k k"]:
    """Return the products of the columns of one matrix with those of the same block of another."""
    B = A if other is None else other
    if rows.shape[1] == 1:
        return np.einsum("ij,ij->j", A, B)[rows][:, :, None]
    return A.T[rows] @ B.T[rows].transpose(0, 2, 1)


def _by_features(
    F: np.ndarray, more: np.ndarray | None, bend: np.ndarray, ridge: float
) -> Influence:
    """Use A = F^T D F / n + ridge, and eliminate w for the bias.

    With c = F^T D 1 / n: gamma_ij = (F_i^T A^{-1} F_j + rest_i rest_j / s) / n,
    rest_i = 1 - F_i^T A^{-1} c, s = mean(D) - c^T A^{-1} c. More features E_i stand in the place
    of F_i, and -E_i^T A^{-1} c in that of rest_i.
    """
    n = len(F)
    A = gram(F, bend / n)
    diagonal = np.einsum("ii->i", A)  # a view, far quicker than a pair of index arrays
    diagonal += ridge
    half, failed = dpotrf(A, lower=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the Hessian is not positive definite")
    V, _ = dtrtrs(half, F.T, lower=1)
    u = V @ bend / n
    rest = 1 - u @ V
    w, _ = dtrtrs(half, u, lower=1, trans=1)
    schur = bend @ rest**2 / n + ridge * (w @ w)  # a sum of squares: no cancellation
    E = None if more is None else dtrtrs(half, more.T, lower=1)[0]

    def influence(rows: Int[np.ndarray, "B k"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        gamma, r = (_own(V, rows) + _own(rest[None], rows) / schur) / n, np.sqrt(bend[rows])
        left = np.eye(rows.shape[1]) - r[:, :, None] * gamma * r[:, None]
        if E is None:
            return gamma, left, np.zeros_like(gamma)
        shift = _own(E, rows, V) - _own((u @ E)[None], rows, rest[None]) / schur
        return gamma, left, shift / n

    return influence


def _by_samples(
    F: np.ndarray, more: np.ndarray | None, bend: np.ndarray, bent: np.ndarray, ridge: float
) -> Influence:
    """Use the Gram matrix K = F F^T / (n ridge) of the samples with curvature.

    With r = sqrt(D) and S = I + r K r, what a leverage leaves of the identity is a block of
    S^{-1} - S^{-1} r r^T S^{-1} / (r^T S^{-1} r), which stays exact as the ridge goes to 0.
    """
    n, r = len(F), np.sqrt(bend[bent])
    K = F[bent] @ F.T / (n * ridge)
    S = np.eye(len(r)) + r[:, None] * K[:, bent] * r
    half, failed = dpotrf(S, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the Gram matrix is not positive definite")
    V, _ = dtrtrs(half, r[:, None] * K, lower=1)
    inverse, _ = dtrtri(half, lower=1)
    u = inverse @ r
    norm, spread = np.linalg.norm(u), np.zeros((len(r), n))
    spread[:, bent] = inverse
    along, rest = (u @ spread / norm)[None], ((1 - u @ V) / norm)[None]
    E = None
    if more is not None:
        E, _ = dtrtrs(half, r[:, None] * (F[bent] @ more.T / (n * ridge)), lower=1)

    def influence(rows: Int[np.ndarray, "B k"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        gamma = _own(F.T, rows) / (n * ridge) - _own(V, rows) + _own(rest, rows)
        straight = np.eye(rows.shape[1]) * ~bent[rows][:, None]
        left = _own(spread, rows) - _own(along, rows) + straight
        if more is None or E is None:
            return gamma, left, np.zeros_like(gamma)
        shift = _own(more.T, rows, F.T) / (n * ridge) - _own(E, rows, V)
        return gamma, left, shift - _own((u @ E / norm)[None], rows, rest)

    return influence


def _summary(scores: np.ndarray, y: np.ndarray, loss: SmoothLoss, fit: ReadoutFit) -> LeaveOneOut:
    error = 0.5 * float(np.mean(1 - y * np.sign(scores)))
    alone = np.count_nonzero(~np.isfinite(scores))
    reason = fit.reason or (f"{alone} samples each determine a direction alone" if alone else "")
    return LeaveOneOut(
        scores=scores,
        test_error=error,
        standard_error=float(np.sqrt(error * (1 - error) / len(y))),
        auc=sample_auc(scores, y),
        loss=float(np.mean(loss.value(y, scores))),
        fit=fit,
        converged=fit.converged and not alone,
        reason=reason,
    )
