"""Which token makes its bag positive: probabilities of tokens from labels of bags alone."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.special import expit, logit

from sparsetoken.fitting.attention import AttentionFit
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.task import Task

STRENGTH = 3.0  # standard deviation that a coefficient has beforehand; token scores have about 1
ROUNDING = 1e-12  # what is left of 1 - p


@dataclasses.dataclass(frozen=True, eq=False)
class NoisyOr:
    """Coefficients of token scores, and the log-loss of the bags.

    Attributes
    ----------
    coef : array of shape (J,), >= 0
    intercept : float
    ceiling : float
        c, in (0, 1).
    loss : float
        With the penalty.
    """

    coef: Float[np.ndarray, " J"]
    intercept: float
    ceiling: float
    loss: float


def noisy_or(
    scores: Float[np.ndarray, "N J"], starts: Int[np.ndarray, " n"], samples: Samples
) -> NoisyOr:
    """Return the probabilities of tokens that make the labels of bags most likely.

    Equation: noisy-or. Token l makes its bag positive with probability
    p_l = c / (1 + exp(-<a, s_l> - a_0)), independently of the others, and a bag is negative if no
    token makes it positive: P(y = -1) = prod_l (1 - p_l). The mean log-loss of the bags, with a
    ridge penalty on a >= 0, is minimised over (a, a_0, c).

    Parameters
    ----------
    scores : array of shape (N, J)
        Of tokens, by directions that were found without their bag.
    starts : int array of shape (n,)
        The row of the first token of each bag.
    samples : Samples

    References
    ----------
    O. Maron and T. Lozano-Perez (1998), A framework for multiple-instance learning;
    J. Pearl (1988), Probabilistic reasoning in intelligent systems.
    """
    N, J = scores.shape
    # Weights of classes are no part of a chance.
    positive, count = samples.y > 0, samples.sample_weight
    share = count / count.sum()
    sizes = np.diff(np.append(starts, N))
    ridge = 1 / (count.sum() * STRENGTH**2)

    def objective(v: Float[np.ndarray, " m"]) -> tuple[float, Float[np.ndarray, " m"]]:
        a, c = v[:J], v[-1]
        active = expit(scores @ a + v[J])
        p = np.minimum(c * active, 1 - ROUNDING)
        negative = np.add.reduceat(np.log1p(-p), starts)
        negative = np.minimum(negative, -ROUNDING)
        log_positive = np.log(-np.expm1(negative))
        loss = -share @ np.where(positive, log_positive, negative)
        # The slope of the loss of a bag in sum_l -log(1 - p_l).
        pull = share * np.where(positive, -np.exp(negative - log_positive), 1.0)
        on_p = np.repeat(pull, sizes) / (1 - p)
        on_z = on_p * c * active * (1 - active)
        slopes = [scores.T @ on_z + ridge * a, [on_z.sum(), (on_p * active).sum()]]
        return float(loss + 0.5 * ridge * a @ a), np.concatenate(slopes)

    # So many positive bags cannot tell that a probability is higher (rule of succession).
    most = 1 - 1 / (count[positive].sum() + 2)
    base = float(1 - (1 - share @ positive) ** (1 / np.median(sizes)))
    start = np.concatenate([np.full(J, 1 / max(J, 1)), [logit(base) - 0.5, 0.9 * most]])
    bounds = [(0, None)] * J + [(None, None), (0.01, most)]
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return NoisyOr(found.x[:J], float(found.x[J]), float(found.x[-1]), float(found.fun))


@dataclasses.dataclass(frozen=True, eq=False)
class TokenFit:
    """The log odds <z_l, w> + b of standardised tokens, of a probability with a ceiling.

    Attributes
    ----------
    w : array of shape (d,)
    b : float
    ceiling : float
        In (0, 1].
    side : int
        1, or -1 for tokens that make their bag one of the first class.
    loss : float
        Log-loss of the bags.
    rate : float
        The probability of a token of which nothing is known.
    """

    w: Float[np.ndarray, " d"]
    b: float
    ceiling: float
    side: int
    loss: float
    rate: float


def token_fit(task: Task, fit: AttentionFit) -> TokenFit:
    """Return log odds of tokens from two queries: of attention, and of two gradient steps.

    Each errs by noise of its own. Their coefficients are those of `noisy_or`, with scores of tokens
    by queries that were found without their bag. In bags of one token they are the log odds of
    the bag.
    """
    samples, readout = task.samples, fit.readout
    if task.bags.sizes.max() == 1:
        plus = float(samples.share @ (samples.y > 0))
        return TokenFit(readout.w, readout.b, 1.0, 1, readout.left_out_loss(samples), plus)
    side = -1 if fit.exponent < 0 else 1
    sided = dataclasses.replace(samples, y=side * samples.y)
    scores, starts = fit.token_scores.astype(np.float64), task.bags.offsets[:-1]
    found, rate = (noisy_or(one, starts, sided) for one in (scores, scores[:, :0]))
    return TokenFit(
        w=found.coef @ fit.directions,
        b=found.intercept,
        ceiling=found.ceiling,
        side=side,
        loss=found.loss,
        rate=rate.ceiling * float(expit(rate.intercept)),
    )
