"""How much mean pooling, attention and largest values count in a score, by what each gains."""

from __future__ import annotations

import dataclasses

import numpy as np

from sparsetoken.fitting.linear_fit import LinearFit, gain, standard_errors
from sparsetoken.fitting.samples import Samples
from sparsetoken.losses import Loss

WORTH = 0.1  # part of what attention gains over the mean that it may lack: it tells where to look


@dataclasses.dataclass(frozen=True, eq=False)
class Average:
    """Shares of three readouts in the score of a bag; mean pooling has what they leave of 1.

    Attributes
    ----------
    attention, largest : float
        In [0, 1].
    fit : LinearFit
        Of the averaged scores: its b, left-out scores and losses; the weights are those of mean
        pooling.
    """

    attention: float
    largest: float
    fit: LinearFit

    @property
    def mean(self) -> float:
        """The share of mean pooling."""
        return 1.0 - self.attention - self.largest


def share(standard_errors: float, half: float = 1.0) -> float:
    """Return the share of a readout that gains so many standard errors over another.

    It is one half at a gain of `half` and rises from 0 to 1 over the two standard errors on
    either side: a gain is itself uncertain by one. Over a simpler readout `half` is 1, where a
    choice would turn over; over one that is as complex it is 0. A gain of nan gives 0.
    """
    ramp = (standard_errors - half) / 4 + 1 / 2
    return float(np.clip(ramp, 0.0, 1.0)) if ramp == ramp else 0.0


def average(
    pooled: LinearFit,
    attention: LinearFit | None,
    largest: LinearFit | None,
    samples: Samples,
    loss: Loss,
) -> Average:
    """Weigh attention and largest values against each other, and both together against the mean.

    Both count alike where largest values are better by a tenth of what attention gains over
    the mean. So attention keeps all where one token is clearly there, and both find it.

    Parameters
    ----------
    pooled : LinearFit
        Of the mean token.
    attention : LinearFit, optional
        None leaves it out, and so do left-out losses that are not finite.
    largest : LinearFit, optional
        Of the mean token and the largest value of each column; left out alike.
    samples : Samples
    loss : Loss
    """
    attention, largest = _usable(attention), _usable(largest)
    if attention is None:
        part, both = 0.0, largest
    elif largest is None:
        part, both = 1.0, attention
    else:
        part = _part(attention, largest, pooled, samples)
        both = _mixed(attention, largest, part, samples, loss)
    if both is None:
        return Average(0.0, 0.0, pooled)
    total = share(gain(both, pooled, samples))
    fit = _mixed(both, pooled, total, samples, loss)
    return Average(total * part, total * (1 - part), fit)


def _part(attention: LinearFit, largest: LinearFit, pooled: LinearFit, samples: Samples) -> float:
    """Return the part that attention has of what it and largest values have."""
    a, v, m = attention.left_out, largest.left_out, pooled.left_out
    if a is None or v is None or m is None:
        return 0.0
    return share(standard_errors(v - a + WORTH * (m - a), samples), half=0)


def _usable(fit: LinearFit | None) -> LinearFit | None:
    known = fit is not None and fit.left_out is not None and np.isfinite(fit.left_out).all()
    return fit if known else None


def _mixed(
    fit: LinearFit, other: LinearFit, part: float, samples: Samples, loss: Loss
) -> LinearFit:
    """Return the second fit with the scores of a mixture of both, of which the first is a part."""
    if part == 0 or fit.left_out_scores is None or other.left_out_scores is None:
        return other
    scores = part * fit.left_out_scores
    if part < 1:
        scores = scores + (1 - part) * other.left_out_scores
    losses = np.asarray(loss.value(samples.y, scores))
    b = part * fit.b + (1 - part) * other.b
    return LinearFit(other.w, b, other.ridge, losses, scores)
