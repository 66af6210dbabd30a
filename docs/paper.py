"""The equations of arXiv 2509.25153 (Barnfield, Cui and Lu) for isotropic tokens, in plain NumPy.

    python docs/paper.py

prints figure 1 at two loads, the alignment of the query, and capacities. The file is for reading,
changing and teaching. It shares no code with the library, whose tests compare the two.

The letters, and the names of equations in comments, are those of docs/equations.md. A bag has L
tokens, of which R carry the signal theta xi if y = 1, which has the probability pi.
"""

import numpy as np
from scipy import optimize, stats
from scipy.special import expit, log_expit, ndtr, softmax

NODES = 2**14  # quasi-random samples of each class

# A loss is l(y, z), its derivatives l' and l'' in z, and l'(y, 0).


def square(y, z):
    return (z - y) ** 2 / 2, z - y, np.ones_like(z)


def logistic(y, z):
    p = expit(-y * z)
    return -log_expit(y * z), -y * p, p * (1 - p)


def prox(loss, y, omega, v):
    """The minimiser z of (z - omega)^2 / (2 v) + l(y, z), by Newton's method.

    From 0, where the curvature of the logistic loss is largest, it approaches z from one side.
    """
    z = np.zeros_like(omega)
    for _ in range(100):
        _, slope, curvature = loss(y, z)
        step = (z - omega + v * slope) / (1 + v * curvature)
        z = z - step
        if np.all(abs(step) <= 1e-12 * (1 + abs(omega))):
            return z
    raise ArithmeticError("a prox did not converge")


def align(L, R, theta, pi, alpha0, eta_w, eta_b, eta_q=1.0, beta=1.0, loss=logistic):
    """The cosine s and the sharpness k of the query after two steps, and cos(w_1, xi)."""
    g, weight = np.polynomial.hermite_e.hermegauss(200)
    weight = weight / weight.sum()
    y, rate = np.array([1.0, -1.0]), np.array([pi, 1 - pi])
    # first-step
    c = loss(y, np.zeros(2))[1]
    m1 = -eta_w * pi * c[0] * theta * R / L
    norm2 = m1**2 + eta_w**2 / (L * alpha0) * (rate @ c**2)  # |w_1|^2
    b1 = -eta_b * (rate @ c)
    mean = theta * R / L * m1 * (y == 1) - eta_w / (L * alpha0) * c + b1
    omega = mean[:, None] + np.sqrt(norm2 / L) * g
    h = loss(y[:, None], omega)[1]
    # query-alignment
    h1, h2, V = h @ weight, h**2 @ weight, R * (1 - R / L)
    P, Q = pi * h1[0] * theta**2 * V * m1, (L - 1) * (rate @ h1)
    spread = (L - 1) * norm2 + theta**2 * m1**2 * V * (y == 1)
    N = (rate * h2 * spread).sum() / alpha0
    overlap = -(P + Q * m1)
    norm = np.sqrt(P**2 + 2 * P * Q * m1 + Q**2 * norm2 + N)
    return overlap / norm, beta * eta_q * beta / L * norm, m1 / np.sqrt(norm2)


# Features, as rows (y, probability, A, B, C, g). Here g is the noise of a score on a training set.


def samples(L, pi):
    """Labels, their probabilities, and L + 1 standard normals for each sample."""
    points = stats.qmc.Sobol(L + 1, rng=1).random(NODES)
    normals = stats.norm.ppf(points)
    y, probability = np.repeat([[1.0, -1.0], [pi / NODES, (1 - pi) / NODES]], NODES, axis=1)
    return y, probability, np.tile(normals, (2, 1))


def attention(L, R, theta, pi, s, k):
    """feature-law: theta A xi + B q/|q| + C h. The signal may be in the first R tokens."""
    y, probability, normals = samples(L, pi)
    noise, g = normals[:, :L], normals[:, L]
    signal = np.outer(y == 1, np.arange(L) < R)
    a = softmax(k * (theta * s * signal + noise), axis=1)
    return y, probability, (a * signal).sum(1), (a * noise).sum(1), np.linalg.norm(a, axis=1), g


def pooled(L, R, theta, pi):
    """The mean token; no part of its weights is along a query, so that s = 0 and B = 0."""
    y, probability, normals = samples(0, pi)
    return y, probability, R / L * (y == 1), 0 * y, np.full(len(y), L**-0.5), normals[:, 0]


def vectorized(L, R, theta, pi):
    """Concatenated tokens: L d features, and so a load alpha_1 / L."""
    y, probability, normals = samples(0, pi)
    return y, probability, R / L**0.5 * (y == 1), 0 * y, np.ones(len(y)), normals[:, 0]


def readout(features, theta, s, alpha1, ridge, loss=logistic):
    """The test error and the training loss of a readout."""
    y, probability, A, B, C, g = features
    along, beside = theta * s * A + B, theta * np.sqrt(1 - s**2) * A

    def state(x):
        w1, w2, b, nu, log_chi = x
        chi, tau = np.exp(log_chi), np.sqrt(w2**2 + nu**2)
        mu = w1 * along + w2 * beside
        omega = mu + b + C * tau * g
        z = prox(loss, y, omega, chi * C**2)
        l, _, curvature = loss(y, z)
        return chi, tau, mu, l, (omega - z) / (chi * C**2), curvature

    def equations(x, lam):  # learned-readout
        w1, w2, _, nu, _ = x
        chi, _, _, _, l1, l2 = state(x)
        kappa = probability @ (C**2 * l2 / (1 + chi * C**2 * l2))
        l1 = alpha1 * chi * l1  # over lambda + kappa: of order 1 at any ridge
        return (
            alpha1 * chi * lam * w1 + probability @ (l1 * along),
            w2 + probability @ (l1 * beside),
            probability @ l1,
            alpha1 * nu**2 - probability @ (C**2 * l1**2),
            alpha1 * (lam + kappa) * chi - 1,
        )

    x = np.array([0.1, 0.1, 0.0, 0.3, -np.log(2 * alpha1)])
    for lam in np.geomspace(1.0, ridge, 2 + int(2 * abs(np.log10(ridge)))):  # step by step
        found = optimize.root(equations, x, args=(lam,), tol=1e-10)
        assert found.success, found.message
        x = found.x
    _, tau, mu, l, _, _ = state(x)
    # learned-error
    return probability @ ndtr(-y * (mu + x[2]) / (C * tau)), probability @ l


def capacity(features, theta, s):
    """The largest load at which D1 is linearly separable: a conjecture for attention."""
    y, probability, A, B, C, _ = features

    def violation(x):  # the mean over g is in closed form
        w1, w2, b = x
        mu = w1 * (theta * s * A + B) + w2 * theta * np.sqrt(1 - s**2) * A
        m, T = -y * (mu + b) / C, np.sqrt(1 + w2**2)
        return probability @ ((T**2 + m**2) * ndtr(m / T) + m * T * stats.norm.pdf(m / T))

    return 1 / optimize.minimize(violation, np.zeros(3), tol=1e-9).fun


if __name__ == "__main__":
    print("Figure 1: test error and training loss")
    setting = dict(L=10, R=1, theta=5.0, pi=0.5)
    s, k, _ = align(**setting, alpha0=1.0, eta_w=0.5, eta_b=0.5, eta_q=7.0, loss=square)
    for alpha1 in (0.5, 4.0):
        for name, features, cosine, load in (
            ("attention", attention(**setting, s=s, k=k), s, alpha1),
            ("pooled", pooled(**setting), 0.0, alpha1),
            ("vectorized", vectorized(**setting), 0.0, alpha1 / setting["L"]),
        ):
            error, loss = readout(features, setting["theta"], cosine, load, 1e-5, square)
            print(f"  alpha1 = {alpha1}, {name:10}  {error:.4f}  {loss:.4f}")
    print("Alignment: cosines of the query and of the first readout with the signal")
    for alpha0 in (0.5, 2.0, 5.0):
        s, _, first = align(10, 3, 6.0, 0.2, alpha0, eta_w=0.5, eta_b=0.5)
        print(f"  alpha0 = {alpha0}  {s:.4f}  {first:.4f}")
    print("Capacity")
    setting = dict(L=4, R=1, theta=2.0, pi=0.5)
    print(f"  attention   {capacity(attention(**setting, s=0.8, k=1.0), 2.0, 0.8):.3f}")
    print(f"  pooled      {capacity(pooled(**setting), 2.0, 0.0):.3f}")
    print(f"  vectorized  {4 * capacity(vectorized(**setting), 2.0, 0.0):.3f}")
