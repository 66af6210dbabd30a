"""The general convex readout against reference points, limits, and finite samples.

Equations: general-convex-readout, general-learned-error.
"""

import numpy as np
import pytest

from sparsetoken.losses import get_loss
from sparsetoken.theory.covariance import (
    CommutingCovariances,
    ConvexReadout,
    Directions,
    FeatureNodes,
    FullCovariances,
    covariances,
    readout_outcome,
)

D = 200
J = np.arange(D)
SPECTRUM = (J + 1) ** -0.5 / np.mean((J + 1) ** -0.5)
BETWEEN = 0.2 * 0.9 ** np.abs(J[:, None] - J)
SIGNAL = np.cos(1.7 * J) / np.linalg.norm(np.cos(1.7 * J))


def pooled(L, R, theta, pi):
    """Nodes, covariance and direction of the mean token, at the reference problem."""
    nodes = FeatureNodes.of([[1.0], [0.0]], [[1.0], [1.0]], [1, -1], [pi, 1 - pi])
    G = np.diag(SPECTRUM) / L + BETWEEN
    return nodes, G, (theta * R / L * SIGNAL)[:, None]


@pytest.mark.parametrize(
    ("letters", "ridge", "alpha", "expected"),
    [
        ((8, 1, 3, 0.5), 0.01, 2, (0.398162, 0.354360, 0.814719, -0.407360, 1.578249)),
        ((6, 2, 3, 0.3), 0.02, 4, (0.131611, 0.239027, 2.554421, -2.037984, 1.201997)),
    ],
)
def test_reference_points_of_pooling(letters, ridge, alpha, expected):
    nodes, G, M = pooled(*letters)
    readout = ConvexReadout(nodes, covariances(G[None], M), get_loss("logistic"))
    found = readout.solve(ridge, alpha * D)
    assert found.converged
    outcome = readout_outcome(readout, found)
    ours = (outcome.test_error, outcome.training_loss, found.p[0], found.b, found.nu[0])
    # All six digits that are given.
    assert ours == pytest.approx(expected, abs=6e-7)


def test_full_and_commuting_covariances_agree():
    """A diagonal pair, given as such and turned by a rotation."""
    rng = np.random.default_rng(0)
    d = 40
    values = rng.uniform(0.1, 2.0, (2, d))
    M = rng.standard_normal((d, 2)) / 3
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    G = np.einsum("di,ki,ei->kde", basis, values, basis)
    nodes = FeatureNodes.of(
        [[1.0, 0.2], [0.0, -0.3], [0.4, 1.0]],
        [[1.0, 0.5], [0.3, 1.0], [0.8, 0.8]],
        [1, -1, 1],
        [0.3, 0.5, 0.2],
    )
    scatter = {(1, 1): rng.uniform(0.0, 0.05, d)}
    turned = {(1, 1): basis @ np.diag(scatter[1, 1]) @ basis.T}
    ways = [
        CommutingCovariances(values, Directions(M, scatter)),
        FullCovariances(G, Directions(basis @ M, turned)),
        covariances(G, Directions(basis @ M, turned)),
    ]
    assert isinstance(ways[2], CommutingCovariances)
    found = [ConvexReadout(nodes, way, get_loss("logistic")).solve(0.02, 3 * d) for way in ways]
    others = np.array([np.eye(d), G[0]])
    norms = [
        ways[0].norms(found[0].pull, 0.02, 3 * d, np.array([np.ones(d), values[0]])),
        *(
            way.norms(one.pull, 0.02, 3 * d, others)
            for way, one in zip(ways[1:], found[1:], strict=True)
        ),
    ]
    assert norms[0][1] == pytest.approx(found[0].nu[0] ** 2, rel=1e-9)
    for one, norm in zip(found[1:], norms[1:], strict=True):
        assert one.p == pytest.approx(found[0].p, rel=1e-8)
        assert one.nu == pytest.approx(found[0].nu, rel=1e-8)
        assert one.chi == pytest.approx(found[0].chi, rel=1e-8)
        assert norm == pytest.approx(norms[0], rel=1e-8)


@pytest.mark.parametrize("loss", ["logistic", "square", "hinge", "squared_hinge"])
@pytest.mark.parametrize("alpha", [0.3, 2.0, 20.0, np.inf])
@pytest.mark.parametrize("ridge", [1.0, 1e-3, 1e-6])
def test_every_loss_is_solved_at_every_load(loss, alpha, ridge):
    """The residual is that of the equations themselves, put in plain words once more."""
    nodes, G, M = pooled(8, 1, 3, 0.5)
    cov = covariances(G[None], M)
    found = ConvexReadout(nodes, cov, get_loss(loss)).solve(ridge, alpha * D)
    assert found.converged
    H = ridge * np.eye(D) + found.pull.kappa[0] * G
    w = np.linalg.solve(H, M @ found.pull.eta)
    back = np.linalg.solve(H, G)
    n = alpha * D
    noise = found.pull.rho[0] * np.trace(G @ np.linalg.solve(H, back)) / n
    assert M[:, 0] @ w == pytest.approx(found.p[0], rel=1e-5)
    assert w @ G @ w + noise == pytest.approx(found.nu[0] ** 2, rel=1e-5)
    assert np.trace(back) / n == pytest.approx(found.chi[0], rel=1e-5, abs=1e-12)


def test_a_start_nearby_changes_nothing():
    nodes, G, M = pooled(8, 1, 3, 0.5)
    readout = ConvexReadout(nodes, covariances(G[None], M), get_loss("logistic"))
    along = list(readout.solve_along([(n, 0.01) for n in (100, 200, 400, np.inf)]))
    for one in along:
        alone = readout.solve(0.01, one.samples)
        assert one.converged
        assert one.p == pytest.approx(alone.p, rel=1e-8)
        assert one.nu == pytest.approx(alone.nu, rel=1e-8)
    assert sum(one.iterations for one in along[1:3]) < along[0].iterations + 6
