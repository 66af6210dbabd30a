"""Do bags that stand beside one another have something in common? An exact permutation test."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

PERMUTATIONS = 999
MOST = 1000  # bags of a label: the products of all their pairs take 8 MB


def neighbours_pvalue(means: Float[np.ndarray, "n d"], number: Int[np.ndarray, " n"]) -> float:
    """Return the p-value of the hypothesis that the order of the bags of each label is random.

    Bags of one patient, author or place usually stand together. The
    statistic is the sum of <m_i, m_j> over pairs i, j of one label that follow one another, with
    m_i the mean token of bag i less the mean over its label, in units of the deviations over
    bags. It is compared with those of 999 orders of the bags of each label. Independent bags have
    a p-value below a no more often than a, whatever their law is; clusters that are dealt out at
    random, as of kinds of bags, are not seen.

    Parameters
    ----------
    means : array of shape (n, d)
    number : int array of shape (n,)
        The number of the label of each bag. Of each label the first 1000 bags are used.

    Returns
    -------
    float
        A multiple of 1/1000.
    """
    rng, statistics = np.random.default_rng(0), np.zeros(PERMUTATIONS + 1)
    deviation = means.std(axis=0)
    for label in range(number.max() + 1):
        m = means[number == label][:MOST]
        moved = (m - m.mean(axis=0)) / np.where(deviation > 0, deviation, np.inf)
        products = moved @ moved.T
        orders = np.tile(np.arange(len(m)), (PERMUTATIONS + 1, 1))
        orders[1:] = rng.permuted(orders[1:], axis=1)
        statistics += products[orders[:, 1:], orders[:, :-1]].sum(axis=1)
    # Equal but for rounding counts as equal.
    return float(np.mean(statistics >= statistics[0] - 1e-9 * np.abs(statistics).max()))
