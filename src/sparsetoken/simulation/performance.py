"""Overlaps, test error and AUC of a given readout, without drawing new tokens.

Given the few scalars of a new sample its score is Gaussian: mean m, width T. Averaging
Phi(-y m / T) over draws of the scalars has far less variance than counting errors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from sparsetoken.numerics.ranks import sample_auc
from sparsetoken.results import Overlaps
from sparsetoken.simulation.frames import TokenFrame, TrainedQuery

DRAWS = 2**16  # most draws of the scalars of a class
FEWEST_DRAWS, DRAWS_PER_DIMENSION = 2**13, 32


def draws_for(dimension: int | None) -> int:
    """Return the number of draws of the scalars of a class to use.

    From one training set to another the test error varies by 0.4 / sqrt(d) of itself or more,
    measured at strengths 3 and 5; 32 d draws vary by 0.11 / sqrt(d), which adds 4% to that.
    """
    if dimension is None:
        return DRAWS
    return min(DRAWS, max(FEWEST_DRAWS, DRAWS_PER_DIMENSION * dimension))


@dataclasses.dataclass(frozen=True)
class Projections:
    """A readout w as overlaps, and what its scores depend on.

    Attributes
    ----------
    overlaps : Overlaps
    signal : array of shape (positions,)
        <w, xi>, for each position that has weights of its own.
    along : float
        <w, u>, u = S_w q/sigma.
    along_effect : float
        <w, u_b>, u_b = S_b q/sigma_b.
    beside : float
        w^T (S_w - u u^T) w, added up over positions.
    between : float
        w^T S_b w, of the sum over positions.
    dimension : int or None
        Number of features, on which it depends how exact an average over draws need be.
    """

    overlaps: Overlaps
    signal: Float[np.ndarray, " positions"]
    along: float
    along_effect: float
    beside: float
    between: float
    dimension: int | None = None


def project(
    frame: TokenFrame,
    trained: TrainedQuery | None,
    w: Float[np.ndarray, " m"],
    b: float,
    positions: int = 1,
    dimension: int | None = None,
) -> Projections:
    """Return the overlaps of a readout, and what its scores depend on.

    Its first weights belong to the coordinates of the frame, position after position, where
    positions have weights of their own. Any others belong to isotropic noise in other directions.
    """
    k = len(frame.signal)
    W, others = w[: positions * k].reshape(positions, k), w[positions * k :]
    left = float(np.linalg.norm(others))
    q = 0 * frame.signal if trained is None else trained.direction
    (width, u), (_, u_b) = frame.along(q), frame.between_along(q)
    along = float(W[0] @ u)
    beside = W - along / width * q if width > 0 else W
    widths = [left, *(frame.along(row).width for row in beside)]
    return Projections(
        _overlaps(W, left, frame.signal, trained, b),
        signal=W @ frame.signal,
        along=along,
        along_effect=float(W[0] @ u_b),
        beside=float(np.sum(np.square(widths))),
        between=frame.between_along(W.sum(axis=0)).width ** 2,
        dimension=dimension,
    )


def _overlaps(
    W: Float[np.ndarray, "positions k"],
    left: float,
    xi: Float[np.ndarray, " k"],
    trained: TrainedQuery | None,
    b: float,
) -> Overlaps:
    """Return the overlaps of a readout, of which a part of so large a norm is in no frame.

    Without a query that with the signal is spread evenly over the positions.
    """
    if trained is None:
        axes = xi[None]
    else:
        qhat, s = trained.direction, trained.query.cosine
        beside = xi - s * qhat
        norm = np.linalg.norm(beside)
        axes = np.stack([qhat, beside / norm if abs(s) < 1 and norm > 0 else 0 * xi])
    named = W @ axes.T
    rest = float(np.hypot(np.linalg.norm(W - named @ axes), left))
    if trained is not None:
        w_1, w_2 = named[0]
        return Overlaps(float(w_1), float(w_2), rest, b)
    mean = float(named.sum() / np.sqrt(len(named)))
    uneven = np.linalg.norm(named - mean / np.sqrt(len(named)))
    return Overlaps(0.0, mean, float(np.hypot(uneven, rest)), b)


class Performance(NamedTuple):
    """Test error and AUC on new data."""

    test_error: float
    auc: float


class Scores(NamedTuple):
    """Gaussian scores of positives (row 0) and negatives: means and widths, one for each draw."""

    m: Float[np.ndarray, "2 draws"]
    T: Float[np.ndarray, "2 draws"]


def expected_performance(positive_rate: float, chunks: Iterable[Scores]) -> Performance:
    """Return test error and AUC given the readout, from the Gaussian scores of new samples.

    A score of exactly 0 counts as half an error.
    """
    pi, total, count = positive_rate, np.zeros(2), 0
    for m, T in chunks:
        missed, wrong = _above_zero(-m[0], T[0]), _above_zero(m[1], T[1])
        auc = _above_zero(m[0] - m[1], np.hypot(T[0], T[1]))
        total += m.shape[1] * np.array([pi * missed + (1 - pi) * wrong, auc])
        count += m.shape[1]
    error, auc = total / count
    return Performance(float(error), float(auc))


def _above_zero(m: np.ndarray, T: np.ndarray) -> float:
    """Return the mean of P(m + T g > 0); a tie counts one half."""
    sure = np.where(m == 0, 0.5, m > 0)
    return float(np.mean(np.where(T > 0, ndtr(m / np.where(T > 0, T, 1.0)), sure)))


def measured_performance(scores: np.ndarray, labels: np.ndarray) -> Performance:
    """Return the fraction of wrong signs and the AUC (by ranks) on a sample."""
    error = 0.5 * float(np.mean(1 - labels * np.sign(scores)))
    return Performance(error, sample_auc(scores, labels))
