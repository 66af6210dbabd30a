"""The check of tokens against the model tells each departure, and its size."""

import numpy as np
import pytest

from sparsetoken.bags import as_bags
from sparsetoken.forecasting.tokens import check_tokens

EVEN = np.full(200, 20.0)


def _check(tokens, sizes=EVEN):
    return check_tokens(as_bags(tokens), sizes)


def test_normals_fit():
    found = _check(np.random.default_rng(0).standard_normal((200, 20, 15)))
    assert found.fit == "close"
    assert found.departures == ()
    # 4000 tokens: the standard error of a kurtosis is sqrt(24/4000) = 0.08, of a skewness 0.04.
    assert abs(found.kurtosis) < 0.2
    assert found.skew < 0.1
    assert found.within_bag < 0.01
    assert found.norms == pytest.approx(1.0, abs=0.15)
    assert found.correlation == pytest.approx(1.0, abs=0.03)


def test_skew_and_tails_of_an_exponential_law():
    rng = np.random.default_rng(1)
    found = _check(rng.exponential(size=(400, 100, 1)))
    # Skewness 2, excess kurtosis 6; 40000 tokens with a heavy tail know the latter to 10%.
    assert found.skew == pytest.approx(2.0, rel=0.08)
    assert found.kurtosis == pytest.approx(6.0, rel=0.25)
    assert found.fit == "poor"
    assert "heavy tails" in found.departures[0]


def test_what_the_tokens_of_a_bag_share():
    rng = np.random.default_rng(2)
    share = 0.3
    shared = rng.standard_normal((200, 1, 15)) * np.sqrt(share)
    found = _check(shared + np.sqrt(1 - share) * rng.standard_normal((200, 20, 15)))
    # 200 bags of 15 columns: 3000 values of the shared part, good to 3% of it.
    assert found.within_bag == pytest.approx(share, rel=0.1)
    assert any("within bags" in text for text in found.departures)


def test_correlated_columns():
    rng = np.random.default_rng(4)
    few = rng.standard_normal((200, 20, 3)) @ rng.standard_normal((3, 30))
    found = _check(few + 0.05 * rng.standard_normal((200, 20, 30)))
    assert found.correlation > 8  # at most 3 effective columns of 30 and a little noise
    assert any("correlated" in text for text in found.departures)


def test_bags_of_one_token_share_nothing():
    assert _check(np.random.default_rng(6).standard_normal((50, 1, 4))).within_bag == 0
