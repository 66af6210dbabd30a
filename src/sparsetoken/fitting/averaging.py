"""How much mean pooling, attention and largest values count in a score, by what each gains."""

from __future__ import annotations

import dataclasses

import numpy as np

from sparsetoken.fitting.linear_fit import LinearFit, gain
from sparsetoken.fitting.samples import Samples
from sparsetoken.losses import Loss


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


def share(standard_errors: float) -> float:
    """Return the share of a readout that gains so many standard errors over a simpler one.

    It is one half at one standard error, where a choice would turn over, and rises from 0 to 1
    over the two on either side of it: a gain is itself uncertain by one. nan gives 0.
    """
    return float(np.clip((standard_errors + 1) / 4, 0.0, 1.0)) if standard_errors > -1 else 0.0


def average(
    pooled: LinearFit,
    attention: LinearFit | None,
    largest: LinearFit | None,
    samples: Samples,
    loss: Loss,
) -> Average:
    """Weigh attention, and largest values, each against mean pooling.

    What attention leaves of the score goes to the mean with and without largest values: these
    take nothing from attention, which alone tells where to look, even if they gain more.

    Parameters
    ----------
    pooled : LinearFit
        Of the mean token.
    attention : LinearFit, optional
        None leaves it out.
    largest : LinearFit, optional
        Of the mean token and the largest value of each column.
    samples : Samples
    loss : Loss
    """
    on = 0.0 if attention is None else share(gain(attention, pooled, samples))
    wide = 0.0 if largest is None else share(gain(largest, pooled, samples))
    fit = pooled if largest is None else _mixed(largest, pooled, wide, samples, loss)
    fit = fit if attention is None else _mixed(attention, fit, on, samples, loss)
    return Average(on, (1 - on) * wide, fit)


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
