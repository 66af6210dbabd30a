"""The informative token may be in either class, whichever the order of labels calls the second."""

import warnings

import numpy as np
import pytest

from sparsetoken import AttentionClassifier, ElementwiseAttentionClassifier, PooledLinearClassifier
from sparsetoken.estimators import QueryWarning


def drawn(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return bags of 20 tokens, of which one is shifted where the class is cancer, the first."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, "normal", "cancer")
    X = rng.standard_normal((n, 20, 10))
    X[y == "cancer", 0, 0] += 4
    return X, y


MODELS = [
    AttentionClassifier(random_state=0),
    AttentionClassifier("tied", random_state=0),
    AttentionClassifier("cross_fit", random_state=0),
    AttentionClassifier("cross_fit", 2.0, random_state=0),
    AttentionClassifier("four_stage", split=0.5, random_state=0),
    ElementwiseAttentionClassifier(training="tied", random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_token_of_the_first_class_is_found_without_a_warning(model: AttentionClassifier) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(*drawn(0))
    X, y = drawn(1, 1000)
    pooled = PooledLinearClassifier().fit(*drawn(0)).score(X, y)
    # A standard deviation of 0.01 each, and pooling is right in about 0.8.
    assert model.score(X, y) > pooled + 0.04
    assert model.evidence_[0] < -3
    if isinstance(model, ElementwiseAttentionClassifier):
        return
    top = np.array([one[0] for one in model.top_tokens(X[y == "cancer"])])
    assert (top == 0).mean() > 0.9  # four deviations above twenty tokens


@pytest.mark.parametrize("training", ["tied", "likelihood"])
def test_names_of_classes_do_not_matter(training: str) -> None:
    X, y = drawn(0)
    other = np.where(y == "cancer", "z", "a")
    first, second = (AttentionClassifier(training, random_state=0).fit(X, c) for c in (y, other))
    test, _ = drawn(1, 1000)
    same = (first.predict(test) == "cancer") == (second.predict(test) == "z")
    assert same.mean() > 0.95  # other folds: labels are in another order


def test_a_temperature_as_a_number_takes_the_token_to_be_in_the_second_class() -> None:
    X, y = drawn(0)
    model = AttentionClassifier("tied", 2.0, random_state=0)
    with pytest.warns(QueryWarning, match=r"loses to mean pooling.*temperature='auto'"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, np.where(y == "cancer", 1, 0))


@pytest.mark.parametrize("training", ["likelihood", "tied"])
def test_noise_is_told_at_a_given_temperature_only(training: str) -> None:
    X, y = np.random.default_rng(1).standard_normal((60, 5, 20)), np.arange(60) % 2
    with pytest.warns(QueryWarning, match="too weakly aligned"):
        AttentionClassifier(training, 2.0, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AttentionClassifier(training, random_state=0).fit(X, y)
    assert model.sharpness_[0] == 0


@pytest.mark.parametrize("training", ["likelihood", "tied"])
def test_uniform_weights_are_told(training: str) -> None:
    X, y = drawn(0)
    with pytest.warns(QueryWarning, match="collapsed to uniform"):
        AttentionClassifier(training, 0.01, random_state=0).fit(X, (y == "cancer").astype(int))


@pytest.mark.parametrize("activation", ["relu", "tanh", "erf"])
def test_elementwise_attention_to_bags_of_one_token(activation: str) -> None:
    rng = np.random.default_rng(0)
    y = (np.arange(200) % 4 == 0).astype(int)  # of even classes x tanh(x) tells nothing
    X = rng.standard_normal((200, 1, 3)) + 3 * y[:, None, None]
    model = ElementwiseAttentionClassifier(activation, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9  # five deviations between the classes
