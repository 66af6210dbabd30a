"""Is there anything to attend to? A left-out test of attention against mean pooling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.special import stdtr

from sparsetoken.fitting.linear_fit import LinearFit, standard_errors
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.sharpness import Choice

SPREAD = 1.4  # standard deviation of the statistic on pure noise: folds share bags (measured)


def attention_pvalue(
    choices: Sequence[Choice],
    pooled: LinearFit,
    samples: Samples,
    folds: Int[np.ndarray, " n"],
) -> float:
    """Return the p-value of the best of several choices against mean pooling, one-sided.

    The statistic is the mean of what each bag gains in left-out loss over mean pooling, in
    standard errors. The choice that a bag is held to is the best on the bags of other folds,
    so that a large number of choices gains nothing by itself. Without signal the statistic
    has a standard deviation of about 1.4, as folds share bags; Student's law is widened by that.

    Parameters
    ----------
    choices : list of Choice
    pooled : LinearFit
        Of the mean token.
    samples : Samples
    folds : int array of shape (n,)

    Returns
    -------
    float
        In [0, 1]; nan if left-out losses were not computed; 1 if there is no choice.
    """
    usable = [one.fit.left_out for one in choices if one.loss(samples) < np.inf]
    losses = np.array([left_out for left_out in usable if left_out is not None])
    if pooled.left_out is None or (choices and choices[0].fit.left_out is None):
        return float("nan")
    if not len(losses) or not np.isfinite(pooled.left_out).all():
        return 1.0
    statistic = standard_errors(pooled.left_out - _honest(losses, samples, folds), samples)
    return float(stdtr(len(folds) - 1, -statistic / SPREAD)) if statistic == statistic else 1.0


def _honest(
    losses: Float[np.ndarray, "C n"], samples: Samples, folds: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return the loss of each bag under the choice that is best on other folds."""
    weighted = losses * samples.share
    parts = np.stack([weighted[:, folds == j].sum(axis=1) for j in np.unique(folds)], axis=1)
    others = parts.sum(axis=1, keepdims=True) - parts
    place = np.unique(folds, return_inverse=True)[1]
    return losses[others.argmin(axis=0)[place], np.arange(len(folds))]
