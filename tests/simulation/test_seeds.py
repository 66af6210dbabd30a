"""Seeds: names and whole numbers only, the same on every machine."""

import itertools

import numpy as np
import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.simulation.seeds import Stream, seed_of, stream


@pytest.mark.parametrize(
    "coordinates", [(1.0,), ("a", 0.5), (np.float64(1.0),), (True,), (None,), (("a", 1),), ([1],)]
)
def test_what_is_no_name_or_whole_number_is_refused(coordinates):
    with pytest.raises(InvalidInput, match="coordinate of a seed must be a text or a whole number"):
        seed_of(*coordinates)


def test_seeds_are_the_same_on_every_machine():
    """Numbers that were written down once."""
    assert seed_of("reduced", 0, 0) == 5430263436242153329
    assert seed_of("tensors", 7, 3) == 2235288767220929310


def test_other_coordinates_give_other_seeds():
    coordinates = [("a", 1), ("a", 2), ("b", 1), ("a", "1"), (1, "a"), ("a",), ("a1",), ("a", 1, 0)]
    seeds = [seed_of(*some) for some in coordinates]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_sources_and_chunks_are_independent():
    sources = Stream.__members__.values()  # also those that share a number
    places = [(source,) for source in sources] + [(Stream.D0, chunk) for chunk in range(3)]
    drawn = [stream(5, *place).standard_normal(2000) for place in places]
    for one, two in itertools.combinations(drawn, 2):
        # the standard error of a correlation of 2000 pairs is 0.022; 45 pairs
        assert abs(np.corrcoef(one, two)[0, 1]) < 0.1
    np.testing.assert_array_equal(stream(5, Stream.D1).random(3), stream(5, Stream.D1).random(3))
