"""Leave-one-out scores and test error from a single fit."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float, Real
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
    """

    scores: Float[np.ndarray, " n"]
    test_error: float
    standard_error: float
    auc: float
    loss: float
    fit: ReadoutFit
    converged: bool
    reason: str = ""


class Influence(NamedTuple):
    """Of each sample on its own score: gamma_i, and what its leverage leaves of 1.

    gamma_i is the rise of z_i for a unit pull -l' on sample i, and inf where nothing holds it; what
    is left is 1 - gamma_i l''_i.
    """

    gamma: np.ndarray
    left: np.ndarray


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
) -> Float[np.ndarray, " n"]:
    """Return only the scores of `leave_one_out`, for arguments known to be legal."""
    bend = np.asarray(loss.curvature(y, fit.scores), dtype=float)
    gamma, left = _influence(F - F.mean(axis=0), bend, ridge)
    slope = np.asarray(loss.slope(y, fit.scores), dtype=float)
    gain = np.divide(gamma, left, out=np.full(len(y), np.inf), where=left > ALONE)
    return fit.scores + np.multiply(gain, slope, out=np.zeros(len(y)), where=slope != 0)


def _checked(features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    F, y = np.asarray(features, dtype=float), np.asarray(labels, dtype=float)
    if F.ndim != 2 or len(F) < 2 or F.shape[1] == 0:
        raise InvalidInput("features", "an (n, m) array, n >= 2, m >= 1", F.shape)
    if not np.isfinite(F).all():
        raise InvalidInput("features", "finite", "nan or infinity")
    if y.shape != F.shape[:1] or not np.all(np.abs(y) == 1):
        raise InvalidInput("labels", f"{len(F)} values in {{-1, +1}}", labels)
    return F, y


def _check_loss(loss: SmoothLoss) -> None:
    if isinstance(loss, str):
        raise InvalidInput("loss", "a loss, not its name", loss, f"Write get_loss({loss!r}).")
    if not loss.smooth:
        remedy = "The surrogate needs a second derivative; squared_hinge has one."
        raise InvalidInput("loss", "smooth", loss, remedy)


def _influence(F: np.ndarray, bend: np.ndarray, ridge: float) -> Influence:
    """Work with the smaller matrix; samples without curvature have no part in it."""
    bent = bend > 0
    if not bent.any():  # nothing holds the bias
        return Influence(np.full(len(F), np.inf), np.ones(len(F)))
    if np.count_nonzero(bent) < F.shape[1]:
        return _by_samples(F, bend, bent, ridge)
    return _by_features(F, bend, ridge)


def _by_features(F: np.ndarray, bend: np.ndarray, ridge: float) -> Influence:
    """Use A = F^T D F / n + ridge, and eliminate w for the bias.

    With c = F^T D 1 / n: gamma_i = (F_i^T A^{-1} F_i + (1 - F_i^T A^{-1} c)^2 / s) / n,
    s = mean(D) - c^T A^{-1} c.
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
    gamma = (np.einsum("ij,ij->j", V, V) + rest**2 / schur) / n
    return Influence(gamma, 1 - gamma * bend)


def _by_samples(F: np.ndarray, bend: np.ndarray, bent: np.ndarray, ridge: float) -> Influence:
    """Use the Gram matrix K = F F^T / (n ridge) of the samples with curvature.

    With r = sqrt(D) and S = I + r K r, what a leverage leaves of 1 is a diagonal entry of
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
    left = np.ones(n)
    left[bent] = np.einsum("ij,ij->j", inverse, inverse) - (u @ inverse) ** 2 / (u @ u)
    own = np.einsum("ij,ij->i", F, F) / (n * ridge) - np.einsum("ij,ij->j", V, V)
    return Influence(own + (1 - u @ V) ** 2 / (u @ u), left)


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
