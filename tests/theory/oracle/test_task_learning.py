"""The Bayes-optimal error of a task.

Equations: task-bayes-learner.
"""

import dataclasses
import math

import numpy as np
import pytest

import sparsetoken as st
from gibbs import SETTINGS, extrapolated
from sparsetoken.base.validation import InvalidInput
from sparsetoken.numerics.errors import stated_error
from sparsetoken.theory.oracle import learning
from sparsetoken.theory.oracle.bayes import scrambles

SPARSE = [  # L, R, theta, pi, alpha
    (10, 1, 3.0, 0.5, 1.0),
    (2, 1, 2.0, 0.3, 0.5),
    (4, 2, 2.5, 0.7, 1.0),
    (10, 1, 5.0, 0.5, 0.5),
    (5, 1, 4.0, 0.5, 4.0),
    (6, 3, 2.0, 0.4, 2.0),
    (8, 2, 2.5, 0.3, 2.0),
    (10, 3, 3.0, 0.5, 1.0),
    (10, 1, 6.0, 0.7, 8.0),
    (7, 2, 4.0, 0.6, 0.7),
]
THREE_CLASSES = SETTINGS["three classes"][1]
LOCATION = st.tasks.single_location_regression(4, scale=1.0, noise=0.5)
COVARIANCE = st.TokenCovariance(within=[1.0, 2.0, 3.0], signal=np.eye(2, 3))


def first_fast(settings, count):
    """Return parameters, of which all but the first few are slow."""
    slow = [pytest.param(one, marks=pytest.mark.slow) for one in settings[count:]]
    return [*settings[:count], *slow]


@pytest.mark.parametrize("setting", first_fast(SPARSE, 3), ids=str)
def test_one_signal_by_its_own_equation(setting):
    *letters, alpha = setting
    problem = st.SparseTokenProblem(*letters)
    bayes = st.oracle.learning_error(problem, alpha)
    nodes = scrambles(problem, 1024)
    known = np.array([learning._solution(problem, alpha, one, lambda _: None)[0] for one in nodes])
    rng = np.random.default_rng(5)
    found = [learning.solve(problem, alpha, 1024, rng, lambda _: None) for _ in range(8)]
    assert all(one.converged for one in found)
    Q = np.array([one.overlap[0, 0] for one in found])
    errors = np.array([one.test_error for one in found])
    combined = math.hypot(stated_error(Q), stated_error(known))
    assert Q.mean() == pytest.approx(bayes.cosine**2, abs=3 * combined)
    combined = math.hypot(stated_error(errors), bayes.numerical_error)
    assert errors.mean() == pytest.approx(bayes.test_error, abs=3 * combined)


@pytest.mark.parametrize("name", first_fast(list(SETTINGS), 1))
def test_gibbs_sampling_at_finite_dimension(name, request):
    law, task, alpha = SETTINGS[name]
    slow = request.node.get_closest_marker("slow") is not None
    size = {"d": 100, "count": 48, "tests": 2000} if slow else {"d": 50, "count": 12, "tests": 500}
    values, errors = extrapolated(law, task, alpha, **size, seed=1)
    bayes = st.oracle.learning_error(task, alpha, points=1024 if slow else 256)
    found = np.append(np.square(bayes.cosine), bayes.test_error)
    combined = np.hypot(errors, bayes.numerical_error)
    # Twelve data sets know their spread badly: four such errors are as rare as three of 48.
    assert (np.abs(values - found) < (3 if slow else 4) * combined).all()


def test_a_place_that_scales_show_is_a_linear_regression():
    """The place is known: one direction is a mean in noise, the other a Gaussian regression."""
    scale, noise, alpha = 0.8, 0.5, 1.5
    task = st.tasks.single_location_regression(4, strength=2.0, scale=scale, noise=noise)
    found = st.oracle.learning_error(task, alpha, points=512)
    gamma = alpha * (2.0 / scale) ** 2
    # x = 1 - Q solves x = 1 / (1 + alpha k^2 / (noise^2 + k^2 x)).
    b = noise**2 / scale**2 + alpha - 1
    x = (-b + math.sqrt(b**2 + 4 * noise**2 / scale**2)) / 2
    assert found.status.converged
    assert found.oracle_error == pytest.approx(noise**2, rel=0.02)
    assert found.test_error == pytest.approx(noise**2 + scale**2 * x, abs=3 * found.numerical_error)
    assert found.cosine[0] == pytest.approx(math.sqrt(gamma / (1 + gamma)), abs=2e-3)
    assert found.cosine[1] == pytest.approx(math.sqrt(1 - x), abs=0.01)


def test_bayes_errors_of_three_classes_lie_between_the_oracle_and_chance():
    found = [
        st.oracle.learning_error(THREE_CLASSES, alpha, points=256) for alpha in (0.2, 2.0, 50.0)
    ]
    errors = [one.test_error for one in found]
    assert errors == sorted(errors, reverse=True)
    assert found[-1].oracle_error < errors[-1] < errors[0] < 1 - 0.5
    assert errors[-1] == pytest.approx(found[-1].oracle_error, rel=0.05)
    assert all((one.cosine == one.reachable_cosine).all() for one in found)


@pytest.mark.parametrize(("alpha", "large"), [(0.12, False), (0.3, True)])
def test_of_several_solutions_the_posterior_takes_the_likeliest(alpha, large):
    """As the equation of one signal does: message passing ends where nearly nothing is known."""
    problem = st.SparseTokenProblem(300, 1, 5.0)
    bayes = st.oracle.learning_error(problem, alpha, points=256)
    rng = np.random.default_rng(3)
    found = learning.solve(problem, alpha, 512, rng, lambda _: None)
    assert bayes.reachable_cosine < 0.2
    assert (bayes.cosine > 0.8) == large
    assert found.reachable[0, 0] == pytest.approx(bayes.reachable_cosine**2, abs=0.03)
    assert found.overlap[0, 0] == pytest.approx(bayes.cosine**2, abs=0.03)


@dataclasses.dataclass(frozen=True)
class Padded:
    """Two tokens, of which half of the bags mark one, and further ones that are empty."""

    empty: int

    def draw(self, u):
        coefficients = np.zeros((len(u), 2 + self.empty, 1))
        coefficients[:, 0, 0] = 2.5 * (u[:, 0] < 0.5)
        scale = np.tile(np.arange(2 + self.empty) < 2, (len(u), 1)).astype(float)
        return {"coefficients": coefficients, "scale": scale}

    def task(self):
        return st.Task(2 + self.empty, ["x"], self.draw, _has_signal, "error", uniforms=1)


def _has_signal(latent, Z):
    return np.where(latent["coefficients"].any(axis=(1, 2)), 1.0, -1.0)


def test_hypotheses_far_from_a_bag_do_not_count_against_it():
    """All bags of strong signs are told apart: no half of the hypotheses may say otherwise."""
    found = st.oracle.learning_error(st.tasks.majority(3, strength=1e3), 1.0, points=64)
    assert found.test_error == pytest.approx(0, abs=1e-6)
    assert found.oracle_error == pytest.approx(0, abs=1e-6)


def test_tokens_without_noise_and_signal_do_not_matter():
    found = st.oracle.learning_error(Padded(2).task(), 1.0, points=256)
    bayes = st.oracle.learning_error(st.SparseTokenProblem(2, 1, 2.5), 1.0)
    assert found.test_error == pytest.approx(bayes.test_error, abs=3 * found.numerical_error)
    assert found.cosine == pytest.approx(bayes.cosine, abs=5e-3)


def test_cosines_have_the_names_of_directions():
    found = st.oracle.learning_error(LOCATION, 1.0, points=64)
    row = found.to_dict()
    assert row["cosine_place"] == found.cosine[0]
    assert row["reachable_cosine_value"] == found.reachable_cosine[1]
    assert "cosine" not in row
    assert found.to_frame().shape == (1, len(row))
    majority = st.oracle.learning_error(st.tasks.majority(3), 1.0, points=64)
    assert majority.cosine.shape == ()


def _scaled(draw):
    def draws(n, rng):
        return {"coefficients": np.ones((n, 2, 1)), "scale": draw(n, rng)}

    return st.Task(2, 1, draws, _has_signal, "error")


def _changed(**changes):
    return dataclasses.replace(LOCATION, **changes)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("square", "problem must be a SparseTokenProblem"),
        (dataclasses.replace(LOCATION, tokens=COVARIANCE), "tokens must be Isotropic"),
        (_changed(metric=None), "metric of a task must be"),
        (_changed(metric=lambda output, y: abs(output - y)), "metric of a task must be"),
        (_changed(likelihood=None), "Give Task.*likelihood=f"),
        (st.tasks.position(3, noise=0.0), "Give Task.*likelihood=f"),
        (_changed(likelihood=lambda y, latent, Z: -np.ones(len(y))), "must be densities >= 0"),
        (_changed(likelihood=lambda y, latent, Z: y[:3]), "likelihood of a task returns must be"),
        (_scaled(lambda n, rng: np.zeros((n, 2))), "scale .* must be > 0 for tokens with"),
        (_scaled(lambda n, rng: 1 + rng.random((n, 2))), "Round them"),
    ],
)
def test_bad_tasks(problem, message):
    with pytest.raises(InvalidInput, match=message):
        st.oracle.learning_error(problem, 1.0, points=64)


def test_bad_numbers():
    with pytest.raises(InvalidInput, match="alpha"):
        st.oracle.learning_error(LOCATION, 0.0)
    for points in (32, 2**15):
        with pytest.raises(InvalidInput, match="points"):
            st.oracle.learning_error(LOCATION, 1.0, points=points)
