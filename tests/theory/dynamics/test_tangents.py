"""The dynamics by another way: memory and response as in the equations, by random tangents.

The library never forms the response; it grows a frame of the gradients. Here the response is
the derivative through the memory, in random directions, and the Gaussian part is drawn from its
covariance. Nothing is shared but the loss.

Equation: joint-descent.
"""

import numpy as np
import pytest

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(3, 1, 2.0, 0.4)
ETA_W, ETA_Q, ETA_B, ALPHA, BETA = 1.0, 3.0, 0.5, 1.5, 1.2
START = np.diag([0.3**2, 0.5**2])
STEPS, SAMPLES, GROUPS = 4, 20_000, 6
NUDGE = 1e-4  # of a central difference: its error of order 1e-8 is far below the noise


def _slopes(H, y, b):
    """Return the slopes of the logistic loss by the projections, and by the score."""
    w, q = H[..., 0], H[..., 1]
    a = np.exp(BETA * (q - q.max(axis=1, keepdims=True)))
    a /= a.sum(axis=1, keepdims=True)
    score = (a * w).sum(axis=1)
    slope = -y / (1 + np.exp(y * (score + b)))
    by_w, by_q = a, BETA * a * (w - score[:, None])
    return slope[:, None, None] * np.stack([by_w, by_q], axis=-1), slope


def _tangent(H, y, b, dH):
    up, _ = _slopes(H + NUDGE * dH, y, b)
    down, _ = _slopes(H - NUDGE * dH, y, b)
    return (up - down) / (2 * NUDGE)


class _Equations:
    """Section by section: the memory, the response, and the three recursions."""

    def __init__(self, seed):
        rng = np.random.default_rng([20250929, seed])
        L = PROBLEM.length
        self.rng, self.D = rng, np.diag([ETA_W, ETA_Q])
        positive = np.arange(SAMPLES) < PROBLEM.positive_rate * SAMPLES
        self.y = np.where(positive, 1.0, -1.0)
        self.s = np.zeros((SAMPLES, L))
        self.s[positive, 0] = PROBLEM.strength
        self.z = rng.standard_normal((SAMPLES, L, 2 * (STEPS + 1)))
        self.M, self.Psi, self.Phi, self.b = [np.zeros(2)], [np.eye(2)], [[]], [0.0]
        self.G, self.H = [], []

    def covariance(self, t, u):
        cov = np.outer(self.M[t], self.M[u]) + self.Psi[t].T @ START @ self.Psi[u]
        for a in range(t):
            for c in range(u):
                Q = np.einsum("nli,nlj->ij", self.G[a], self.G[c]) / SAMPLES
                cov = cov + self.Phi[t][a].T @ (Q / ALPHA) @ self.Phi[u][c]
        return cov

    def gaussian(self, t):
        """Return Gamma_t, given those before it: all are linear in the same normals."""
        full = np.block([[self.covariance(a, c) for c in range(t + 1)] for a in range(t + 1)])
        root = np.linalg.cholesky(full + 1e-12 * np.eye(len(full)))
        return self.z[..., : len(full)] @ root[2 * t : 2 * t + 2].T

    def response(self, t, r):
        """Return K_{t,r}, the mean derivative of G_t by Gamma_r, through the memory."""
        K = np.zeros((2, 2))
        for i in range(2):
            signs = self.rng.choice([-1.0, 1.0], size=self.s.shape)
            tangents = {}
            for u in range(r, t + 1):
                dH = np.zeros((*self.s.shape, 2))
                if u == r:
                    dH[..., i] = signs
                for a, dG in tangents.items():
                    dH += dG @ self.Phi[u][a] / ALPHA
                tangents[u] = _tangent(self.H[u], self.y, self.b[u], dH)
            K[i] = np.einsum("nl,nlj->j", signs, tangents[t]) / SAMPLES
        return K

    def step(self, t):
        memory = sum((g @ phi for g, phi in zip(self.G, self.Phi[t], strict=True)), 0.0)
        self.H.append(self.s[..., None] * self.M[t] + self.gaussian(t) + memory / ALPHA)
        G, slope = _slopes(self.H[t], self.y, self.b[t])
        self.G.append(G)
        K = [self.response(t, r) for r in range(t + 1)]
        p = np.einsum("nl,nlj->j", self.s, G) / SAMPLES
        pull = p + sum(M @ k for M, k in zip(self.M, K, strict=True))
        self.M.append(self.M[t] - pull @ self.D)
        psi = sum(P @ k for P, k in zip(self.Psi, K, strict=True))
        self.Psi.append(self.Psi[t] - psi @ self.D)
        self.Phi.append([self._next(t, u, K) for u in range(t + 1)])
        self.b.append(self.b[t] - ETA_B * slope.mean())

    def _next(self, t, u, K):
        own = np.eye(2) if u == t else np.zeros((2, 2))
        before = self.Phi[t][u] if u < t else np.zeros((2, 2))
        through = sum((self.Phi[r][u] @ K[r] for r in range(u + 1, t + 1)), np.zeros((2, 2)))
        return before - (own + through) @ self.D

    def state(self):
        gram = self.covariance(STEPS, STEPS)
        return [*self.M[STEPS], gram[0, 0], gram[0, 1], gram[1, 1], self.b[STEPS]]


def _state(path):
    names = ("overlap_w", "overlap_q", "norm_w", "product_wq", "norm_q", "bias")
    w, q, ww, wq, qq, b = (getattr(path, name)[-1] for name in names)
    return np.array([w, q, ww**2, wq, qq**2, b])


@pytest.fixture(scope="module")
def by_tangents():
    found = []
    for seed in range(GROUPS):
        equations = _Equations(seed)
        for t in range(STEPS):
            equations.step(t)
        found.append(equations.state())
    return np.array(found)


def test_the_frame_and_the_tangents_give_the_same_weights(by_tangents):
    descent = st.JointDescent(
        ALPHA, STEPS, ETA_W, ETA_Q, ETA_B, beta=BETA, start_w=0.3, start_q=0.5
    )
    course = st.theory.descend(PROBLEM, st.Attention(descent), replicas=4)
    error = by_tangents.std(axis=0, ddof=1) / np.sqrt(GROUPS)
    # The frame is known better than the tangents. Student's law with 5 degrees of
    # freedom passes 8 errors once in 4000 times; there are six quantities.
    z = (by_tangents.mean(axis=0) - _state(course)) / (error + 1e-5)
    assert np.abs(z).max() < 8
    # Without the response the equations are off by a tenth and more, which is then seen.
    assert np.all(error < 0.02 * np.abs(_state(course)) + 2e-3)
