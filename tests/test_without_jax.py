"""What runs where JAX is not installed, and the one message of what does not."""

import subprocess
import sys

RUNS = """
import numpy as np
from sparsetoken.forecasting import pilot

pilot._ROUNDS = ((2, 1),)  # fewer fits: what they import counts
problem, model, readout = st.SparseTokenProblem(), st.Attention(), st.Readout("logistic")
assert st.predict(problem, model, readout).status.converged
assert st.align(problem, st.TwoSteps()).status.converged
assert st.capacity(problem, model).status.converged
for engine in ("tensors", "reduced"):
    found = st.simulate(problem, model, readout, dimension=20, trials=2, engine=engine)
    assert 0 < found.mean.test_error < 1
task = st.tasks.majority()
query = st.Attention(st.Query(cosines={"sign": 0.8}))
assert 0 < st.predict(task, query, readout).test_error < 0.5

rng, y = np.random.default_rng(0), np.arange(60) % 2
X = rng.standard_normal((60, 4, 3))
X[y == 1, 0, 0] += 4
assert st.BagClassifier().fit(X, y).score(X, y) > 0.8
assert st.BagRegressor().fit(X, X[:, 0, 0]).score(X, X[:, 0, 0]) > 0.2
assert 0 < st.forecast(X, y, [120]).curves["bag"][0].error < 0.5
"""

NEEDED = """
class Own(st.losses.Loss):
    name = "own"
"""

MESSAGE = (
    "jax must be installed for descents, networks and functions of your own (losses, metrics); "
    "got 'no such package'. pip install 'sparsetoken[networks]'."
)


def run(code: str) -> list[str]:
    """Return the lines that code prints in a process in which JAX cannot be imported."""
    begin = "import sys\nsys.modules['jax'] = None\nimport sparsetoken as st\n"
    command = [sys.executable, "-W", "error", "-c", begin + code]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def test_theory_simulation_fits_and_forecasts_run() -> None:
    run(RUNS)


def test_what_needs_jax_says_in_one_message_what_to_install() -> None:
    calls = [
        "st.theory.descend(problem, descent)",
        "st.simulation.descend(problem, descent, dimension=20, trials=1)",
        "st.descend(st.tasks.majority(), descent)",
        "st.descend(problem, st.Descent(st.networks.Network(print, ['q'])))",
        "st.losses.CustomLoss('soft', lambda y, z: z**2)",
        "type('Own', (st.losses.Loss,), {})",
        "st.predict(st.tasks.single_location_regression(), st.Pooled(), st.Readout('square'))",
    ]
    code = """
from sparsetoken.base.validation import InvalidInput

problem, descent = st.SparseTokenProblem(), st.Descent(steps=2)
for call in {calls}:
    try:
        eval(call)
    except InvalidInput as error:
        print(error)
"""
    assert run(code.format(calls=calls)) == [MESSAGE] * len(calls)
