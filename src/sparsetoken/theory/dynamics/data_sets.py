"""One data set at the dimension of the tokens, on which a descent is followed as it is."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sparsetoken.model.network_checks import is_symmetric
from sparsetoken.theory.dynamics.plan import Plan
from sparsetoken.theory.dynamics.samples import slopes_of
from sparsetoken.theory.spectrum import spectrum_of_tokens

_SEED = 20251125  # any fixed number: the same data sets in every run


class DataSet:
    """n = alpha d samples in the eigenvectors of their covariances, at their dimension d.

    It answers what a population of the limit answers. Weights are a list of one array (d, m).
    """

    def __init__(self, plan: Plan, number: int) -> None:
        training, n = plan.training, plan.samples
        law, spectrum = training.law, spectrum_of_tokens(training.law.tokens)
        rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(number,)))
        shuffled = not is_symmetric(training.network, law.length, law.outputs)
        latent = law.sample(n, rng, shuffled)
        self._training, self._spectrum = training, spectrum
        self._signals = np.atleast_2d(spectrum.signal)
        d = len(spectrum.within)
        tokens = self._normals(rng, (law.length, n, d), spectrum.within)
        if spectrum.has_effect:
            tokens += self._normals(rng, tokens.shape[1:], spectrum.between)
        if "scale" in latent:
            tokens *= latent["scale"].T[..., None].astype(np.float32)
        coefficients = latent["coefficients"].swapaxes(0, 1).astype(np.float32)
        tokens += coefficients @ self._signals.astype(np.float32)
        self._y = law.targets(latent, (tokens @ self._signals.T).swapaxes(0, 1))
        self._tokens = tokens.reshape(-1, tokens.shape[-1])
        # The directions of the start: the signals, and random ones beside them.
        along, beside = np.split(training.start, [len(self._signals)])
        axes = np.column_stack([self._signals.T, rng.standard_normal((d, len(beside)))])
        axes = np.linalg.qr(axes)[0]
        axes *= np.sign(axes[:, 0] @ self._signals[0])
        self._start = self._signals.T @ along + axes[:, len(along) :] @ beside

    @staticmethod
    def _normals(
        rng: np.random.Generator, shape: tuple[int, ...], variances: Float[np.ndarray, " d"]
    ) -> Float[np.ndarray, "*shape"]:
        normals = rng.standard_normal(shape, dtype=np.float32)
        normals *= np.sqrt(variances).astype(np.float32)
        return normals

    def start(self) -> list[np.ndarray]:
        """Return the weights before the first step."""
        return [self._start]

    def mean(self, values: Float[np.ndarray, " n"]) -> float:
        """Return the mean of a number of each sample."""
        return float(values.mean())

    def overlaps(self, U: list[np.ndarray]) -> Float[np.ndarray, "m P"]:
        """Return U^T xi_p."""
        return U[0].T @ self._signals.T

    def grams(self, U: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return U^T U, and U^T S_w U and U^T S_b U of xi and U where targets see noise."""
        (u,), law = U, self._spectrum
        seen = u
        if self._training.law.sees_noise:
            seen = np.column_stack([self._signals.T, u])
        with np.errstate(over="ignore", invalid="ignore"):
            return u.T @ u, seen.T * law.within @ seen, seen.T * law.between @ seen

    def slopes(
        self, U: list[np.ndarray], c: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the loss of each sample, and its slopes by projections and further weights."""
        H = (self._tokens @ U[0].astype(np.float32)).T.astype(float)
        return slopes_of(self._training, H.reshape(len(H), -1, len(self._y)), c, self._y)

    def gradient(self, by_H: Float[np.ndarray, "k L n"], moves: np.ndarray) -> list[np.ndarray]:
        """Return the gradient, 0 in the columns that do not move."""
        gradient = np.zeros(self._start.shape)
        flat = by_H.reshape(len(by_H), len(self._tokens)).astype(np.float32)
        gradient[:, moves] = (flat @ self._tokens).T / len(self._y)
        return [gradient]

    def shares(self, t: int) -> Float[np.ndarray, " n"]:
        """Return by what each sample counts in the batch of a step."""
        n, batches = len(self._y), self._training.batches
        own = np.arange(n) * batches // n == t % batches
        return own * (n / own.sum())
