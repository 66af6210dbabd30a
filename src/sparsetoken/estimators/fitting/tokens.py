"""Which token makes its bag positive: probabilities of tokens from labels of bags alone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp, softmax

from sparsetoken.estimators.fitting.attention import AttentionFit
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.estimators.fitting.task import Task

STRENGTH = 3.0  # standard deviation that a coefficient has beforehand; token scores have about 1
ROUNDING = 1e-12  # what is left of 1 - p
SHARES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the mean share of tokens: those that bags may have
MOST, WORK = 8, 4e6  # counts, and tokens times count squared: some ten seconds of one core


class CountedTokens:
    """The probability of a bag of which no token, or a number of them, makes it positive.

    Equation: token-counts. Tokens make their bag positive independently, token l with odds o_l,
    but only in numbers that are allowed: none or exactly R, or any number (R = 0). So
    P(y = 1) = E / (1 + E), where E sums over the allowed sets the product of the odds of their
    tokens: the elementary symmetric polynomial e_R(o), or prod_l (1 + o_l) - 1. The probability
    that token l makes its bag positive is the derivative of log(1 + E) in log o_l. In a bag of
    fewer than R tokens all of them do. Where a share f of the tokens of a bag does, o_l are ratios
    of densities, and E = e^c mean_f prod_l (1 - f + f o_l): f differs from bag to bag.

    Parameters
    ----------
    sizes : int array of shape (n,)
    count : float
        R, or 0 for any number, or the mean of f, in (0, 1).
    log_odds : float
        c, of a positive bag beforehand; of shares alone.
    """

    def __init__(self, sizes: Int[np.ndarray, " n"], count: float, log_odds: float = 0.0) -> None:
        self._sizes, self._count, self._log_odds = sizes, count, log_odds
        self._starts = np.cumsum(sizes) - sizes
        self._pairs = list(_pairs(sizes)) if count > 1 else []

    def __call__(
        self, odds: Float[np.ndarray, " N"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " N"]]:
        """Return log(1 + E) of each bag and the probability of each token."""
        if 0 < self._count < 1:
            return self._by_shares(odds)
        if self._count == 0:
            return np.add.reduceat(np.log1p(odds), self._starts), odds / (1 + odds)
        if self._count == 1:
            total = np.add.reduceat(odds, self._starts)
            return np.log1p(total), odds / np.repeat(1 + total, self._sizes)
        return self._by_products(odds)

    def _by_shares(
        self, odds: Float[np.ndarray, " N"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " N"]]:
        shares = np.minimum(np.multiply(self._count, SHARES), 0.99)
        logs = np.stack([np.add.reduceat(np.log1p(f * (odds - 1)), self._starts) for f in shares])
        total = self._log_odds + logsumexp(logs, axis=0) - math.log(len(shares))
        of_share = expit(total) * softmax(logs, axis=0)
        of_token = np.zeros_like(odds)
        for f, chance in zip(shares, of_share, strict=True):
            of_token += np.repeat(chance, self._sizes) * f * odds / (1 + f * (odds - 1))
        return np.logaddexp(0, total), of_token

    def _by_products(
        self, odds: Float[np.ndarray, " N"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " N"]]:
        """Multiply the polynomials 1 + o_l t of neighbours, pairs of pairs and so on, up to t^R.

        All coefficients are >= 0, so that nothing cancels. Derivatives go the same way back.
        """
        R, kept = int(self._count), []
        P = np.zeros((R + 1, len(odds)))
        P[0], P[1] = 1, odds
        for left, paired in self._pairs:
            product = P[:, left]
            A, B = product[:, paired], P[:, left[paired] + 1]
            product[:, paired] = [sum(A[j] * B[k - j] for j in range(k + 1)) for k in range(R + 1)]
            kept.append((A, B))
            P = product
        place = np.minimum(self._sizes, R), np.arange(len(self._sizes))
        total = P[place]
        G = np.zeros_like(P)
        G[place] = 1 / (1 + total)
        for (left, paired), (A, B) in zip(self._pairs[::-1], kept[::-1], strict=True):
            g, at = G[:, paired], left[paired]
            parts = np.empty((R + 1, len(left) + len(at)))
            parts[:, left] = G
            for j in range(R + 1):
                parts[j, at] = sum(g[k] * B[k - j] for k in range(j, R + 1))
                parts[j, at + 1] = sum(g[k] * A[k - j] for k in range(j, R + 1))
            G = parts
        return np.log1p(total), odds * G[1]


def _pairs(
    sizes: Int[np.ndarray, " n"],
) -> Iterator[tuple[Int[np.ndarray, " m"], Bool[np.ndarray, " m"]]]:
    """Return the first of each pair of neighbours in a bag, and whether it has a second one.

    Then the same of these pairs, until one is left of each bag.
    """
    while sizes.max() > 1:
        half = (sizes + 1) // 2
        within = 2 * (np.arange(half.sum()) - np.repeat(np.cumsum(half) - half, half))
        first = np.repeat(np.cumsum(sizes) - sizes, half) + within
        yield first, within + 1 < np.repeat(sizes, half)
        sizes = half


@dataclasses.dataclass(frozen=True, eq=False)
class TokenOdds:
    """Odds p / (1 - p) of tokens with scores s, p = c / (1 + exp(-<a, s> - a_0)).

    Attributes
    ----------
    count : float
        Tokens that make a bag positive, 0 for any number, below 1 for a share of them.
    coef : array of shape (J,), >= 0
        a.
    intercept : float
        a_0.
    ceiling : float
        c, in (0, 1].
    loss : float
        Mean log-loss of the bags, with the penalty.
    log_odds : float
        Of a positive bag beforehand, where the count is a share.
    """

    count: float
    coef: Float[np.ndarray, " J"]
    intercept: float
    ceiling: float
    loss: float = np.nan
    log_odds: float = 0.0

    def probabilities(
        self, scores: Float[np.ndarray, "N J"], sizes: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, " N"]:
        """Return the probability of each token that it makes its bag positive."""
        p = np.minimum(self.ceiling * expit(scores @ self.coef + self.intercept), 1 - ROUNDING)
        return CountedTokens(sizes, self.count, self.log_odds)(p / (1 - p))[1]


def fit_odds(
    scores: Float[np.ndarray, "N J"],
    sizes: Int[np.ndarray, " n"],
    samples: Samples,
    count: int,
    start: TokenOdds | None = None,
) -> TokenOdds:
    """Return the odds of tokens that make the labels of bags most likely.

    The mean log-loss of the bags by `CountedTokens`, with a ridge penalty on a >= 0, is minimised
    over (a, a_0, c).

    Parameters
    ----------
    scores : array of shape (N, J)
        Of tokens, by directions that were found without their bag.
    sizes : int array of shape (n,)
    samples : Samples
    count : int
        Tokens that make a bag positive, 0 for any number: noisy-or.
    start : TokenOdds, optional
        Where the search starts.

    References
    ----------
    O. Maron and T. Lozano-Perez (1998), A framework for multiple-instance learning;
    J. Pearl (1988), Probabilistic reasoning in intelligent systems;
    H. Hajimirsadeghi and G. Mori (2017), Multi-instance classification by max-margin training of
    cardinality-based Markov networks.
    """
    J = scores.shape[1]
    # Weights of classes are no part of a chance.
    positive, number = samples.y > 0, samples.sample_weight
    share, ridge = number / number.sum(), 1 / (number.sum() * STRENGTH**2)
    counted = CountedTokens(sizes, count)

    def objective(v: Float[np.ndarray, " m"]) -> tuple[float, Float[np.ndarray, " m"]]:
        a, c = v[:J], v[-1]
        active = expit(scores @ a + v[J])
        p = np.minimum(c * active, 1 - ROUNDING)
        total, of_tokens = counted(p / (1 - p))
        negative = np.minimum(-total, -ROUNDING)
        log_positive = np.log(-np.expm1(negative))
        loss = -share @ np.where(positive, log_positive, negative)
        # The slope of the loss of a bag in log(1 + E).
        pull = share * np.where(positive, -np.exp(negative - log_positive), 1.0)
        on_odds = np.repeat(pull, sizes) * of_tokens / (1 - p)
        on_z = on_odds * (1 - active)
        slopes = [scores.T @ on_z + ridge * a, [on_z.sum(), on_odds.sum() / c]]
        return float(loss + 0.5 * ridge * a @ a), np.concatenate(slopes)

    # So many positive bags cannot tell that a probability is higher (rule of succession).
    most = 1 - 1 / (number[positive].sum() + 2)
    if start is None:
        one = float(1 - (1 - share @ positive) ** (1 / np.median(sizes)))
        rate = max(count, 1) * one
        start = TokenOdds(count, np.full(J, 1 / J), logit(min(rate, 0.9)) - 0.5, 0.9 * most)
    first = np.array([*start.coef, start.intercept, start.ceiling])
    bounds = [(0, None)] * J + [(None, None), (0.01, most)]
    solution = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds)
    return TokenOdds(
        count, solution.x[:J], float(solution.x[J]), float(solution.x[-1]), float(solution.fun)
    )


@dataclasses.dataclass(frozen=True, eq=False)
class TokenFit:
    """Scores <z_l, w> of standardised tokens, and their odds for each number of tokens.

    Attributes
    ----------
    w : array of shape (d,)
    odds : list of A TokenOdds
        Of these scores, for the counts that were tried.
    weights : array of shape (A,)
        The probability of each count.
    side : int
        1, or -1 for tokens that make their bag one of the first class.
    rate : float
        The mean probability of a token.
    """

    w: Float[np.ndarray, " d"]
    odds: list[TokenOdds]
    weights: Float[np.ndarray, " A"]
    side: int
    rate: float


def token_fit(task: Task, fit: AttentionFit) -> TokenFit:
    """Return odds of tokens from two queries: of attention, and of two gradient steps.

    Each query errs by noise of its own. Scores of tokens are by queries that were found without
    their bag. The coefficients are those of the most probable count; slope, intercept and ceiling
    are fitted for each count. Each of several classes has the query of attention alone, and
    any number of tokens, one or a share. In bags of one token the odds are those of the bag.
    """
    samples, readout, sizes = task.samples, fit.readout, task.bags.sizes
    if sizes.max() == 1:
        of_bags = TokenOdds(0, np.ones(1), readout.b, 1.0, readout.left_out_loss(samples))
        plus = float(samples.share @ (samples.y > 0))
        return TokenFit(readout.w, [of_bags], np.ones(1), 1, plus)
    side = -1 if fit.exponent < 0 else 1
    sided = dataclasses.replace(samples, y=side * samples.y)
    scores = fit.token_scores.astype(np.float64)
    if task.of_several:
        k = 0 if fit.directions[0].any() else 1  # attention may be off
        odds = _of_counts(scores[:, k : k + 1], sizes, sided, 1)
        return _averaged(fit.directions[k], odds, scores[:, k], sizes, sided, side)
    of_both = _of_counts(scores, sizes, sided)
    best = of_both[int(np.argmax(_posterior(of_both, sided)))]
    norm = np.array([np.linalg.norm(best.coef)])
    a = best.coef / (norm or 1.0)
    along = (scores @ a)[:, None]
    odds = [
        fit_odds(along, sizes, sided, int(one.count), dataclasses.replace(one, coef=norm))
        for one in of_both
    ]
    return _averaged(a @ fit.directions, odds, along[:, 0], sizes, sided, side)


def _averaged(
    w: Float[np.ndarray, " d"],
    odds: list[TokenOdds],
    scores: Float[np.ndarray, " N"],
    sizes: Int[np.ndarray, " n"],
    samples: Samples,
    side: int,
) -> TokenFit:
    """Return odds of one score of tokens, with the probability of each count."""
    odds = [*odds, *_of_share(scores, sizes, samples)]
    weights = _posterior(odds, samples, math.log(max(float(np.median(sizes)) / MOST, 1.0)))
    means = [one.probabilities(scores[:, None], sizes).mean() for one in odds]
    return TokenFit(w, odds, weights, side, float(weights @ means))


def _of_counts(
    scores: Float[np.ndarray, "N J"],
    sizes: Int[np.ndarray, " n"],
    samples: Samples,
    most: int = MOST,
) -> list[TokenOdds]:
    """Return odds for any number of tokens, and for 1, 2, ..., while these grow more probable."""
    most = min(most, sizes.max(), max(1, int(np.sqrt(WORK / len(scores)))))
    fits = [fit_odds(scores, sizes, samples, 0)]
    for count in range(1, most + 1):
        start = dataclasses.replace(fits[-1], count=count) if count > 1 else None
        fits.append(fit_odds(scores, sizes, samples, count, start))
        posterior = _posterior(fits, samples)
        if count > 1 and posterior[-1] <= posterior[-2]:
            break
    return fits


def _of_share(
    scores: Float[np.ndarray, " N"], sizes: Int[np.ndarray, " n"], samples: Samples
) -> list[TokenOdds]:
    """Return the odds where a share of the tokens of a positive bag makes it one, if many do.

    Equation: token-share. Tokens of negative bags have some law of scores, and those of positive
    bags have it times m = 1 - f + f exp(a s - A). Labels of bags hardly tell a and f, as many
    tokens tell each label: they are those of the logistic regression, with odds m, that tells
    tokens of the two kinds of bags apart. None are returned for a share of MOST tokens or fewer.
    """
    number = samples.sample_weight
    side, of_token = np.repeat(samples.y, sizes), np.repeat(number / sizes, sizes)
    for sign in (-1, 1):  # as many of each kind
        of_token[side == sign] /= 2 * of_token[side == sign].sum()

    def objective(v: Float[np.ndarray, " 3"]) -> tuple[float, Float[np.ndarray, " 3"]]:
        f, z = float(expit(v[2])), v[0] * scores + v[1] + np.log(expit(v[2]))
        log_m = np.logaddexp(z, np.log1p(-f))
        slope = -side * of_token * expit(-side * log_m)
        tilted = slope * np.exp(z - log_m)
        on_f = (1 - f) * tilted.sum() - f * (1 - f) * (slope * np.exp(-log_m)).sum()
        value = float(of_token @ np.logaddexp(0, -side * log_m))
        return value, np.array([tilted @ scores, tilted.sum(), on_f])

    least = logit(1 / sizes.sum())
    bounds = [(0.0, None), (None, None), (least, -least)]
    start = [2.0, -2.0, logit(0.05)]
    a, A, v = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x.tolist()
    f = float(expit(v))
    if a == 0 or f * np.median(sizes) <= MOST:
        return []
    before = float(logit(number @ (samples.y > 0) / number.sum()))
    odds = TokenOdds(f, np.array([a]), A, 1.0, log_odds=before)
    ratios = np.exp(np.minimum(a * scores + A, -np.log(ROUNDING)))
    total = CountedTokens(sizes, f, before)(ratios)[0]
    log_positive = np.log(-np.expm1(np.minimum(-total, -ROUNDING)))
    loss = -(number / number.sum()) @ np.where(samples.y > 0, log_positive, -total)
    return [dataclasses.replace(odds, loss=float(loss))]


def _posterior(
    odds: Sequence[TokenOdds], samples: Samples, many: float = 1.0
) -> Float[np.ndarray, " A"]:
    """Return probabilities of counts: of the labels, times 1 / count, the prior of a scale.

    A share stands for all counts above MOST: `many` is the sum of 1 / count over these.
    """
    prior = [many if 0 < one.count < 1 else 1 / max(one.count, 1) for one in odds]
    losses = np.array([one.loss for one in odds])
    return softmax(-samples.sample_weight.sum() * losses + np.log(prior))
