"""Tasks of papers on solvable attention, and of this library's pages, as values.

The law of bags and the target are small functions, to be read as examples.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from scipy.special import ndtri

from sparsetoken.base.validation import LARGEST_VALUE, InvalidInput, integer, real
from sparsetoken.model.architectures.base import numbered
from sparsetoken.model.base import Latent
from sparsetoken.model.concepts import ConceptProblem
from sparsetoken.model.task import Task

__all__ = [
    "lookup",
    "majority",
    "meeting_concepts",
    "needle_with_value",
    "position",
    "single_location_regression",
]
__dir__ = __all__.copy


@dataclasses.dataclass(frozen=True)
class _OneToken:
    """Bags whose first token carries the first direction, and further normals as they are named.

    The place does not matter to a network that treats all tokens alike. `values` is the standard
    deviation of a coefficient along the second direction, made of a uniform number.
    """

    length: int
    strength: float
    scale: float = 1.0
    values: float = 0.0
    uniforms: int = 1

    def __call__(self, u: np.ndarray) -> dict[str, np.ndarray]:
        n = len(u)
        coefficients, scale = np.zeros((n, self.length, 2)), np.ones((n, self.length))
        coefficients[:, 0, 0], scale[:, 0] = self.strength, self.scale
        normal = ndtri(u[:, 0])
        coefficients[:, 0, 1] = self.values * normal
        informative = np.arange(self.length) == np.zeros((n, 1))
        return {
            "coefficients": coefficients,
            "scale": scale,
            "informative": informative,
            "normal": normal,
        }


@dataclasses.dataclass(frozen=True)
class _ValueAt:
    """The projection of a token on the last direction, plus noise of a given width."""

    place: int
    noise: float

    def __call__(self, latent: Latent, Z: np.ndarray) -> np.ndarray:
        return np.asarray(Z[:, self.place, -1] + self.noise * latent["normal"])

    @property
    def likelihood(self) -> _DensityAt | None:
        """The density of the target; none without noise."""
        return _DensityAt(self.place, self.noise) if self.noise > 0 else None


@dataclasses.dataclass(frozen=True)
class _DensityAt:
    """The normal density of a value around the projection of a token on the last direction."""

    place: int
    noise: float

    def __call__(self, y: np.ndarray, latent: Latent, Z: np.ndarray) -> np.ndarray:
        distance = (y - Z[:, self.place, -1]) / self.noise
        height = math.sqrt(2 * math.pi) * self.noise
        return np.asarray(np.exp(-0.5 * distance**2) / height)


def _squared_error(output: Any, y: Any) -> Any:
    """Return (output - y)^2, which is twice the loss named square."""
    return (output - y) ** 2


def single_location_regression(
    length: int = 6, *, strength: float = 3.0, scale: float = math.sqrt(0.5), noise: float = 0.1
) -> Task:
    """Return the task of a number that one token carries, at a place that it marks.

    The informative token has the coefficient `strength` along the direction ``place``, and noise of
    the width `scale`; all others are noise of width 1. The target is its projection on the
    direction ``value``, plus noise. The metric is the squared error. With ``strength =
    sqrt(d / 2)`` it is the task of Marion, Berthier and Biau (Attention layers provably solve
    single-location regression, ICLR 2025) at dimension d.

    Parameters
    ----------
    length : int
        L >= 1.
    strength, scale, noise : float
        At least 0.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    See Also
    --------
    needle_with_value : Likewise, with the sign of the number as the label.

    Examples
    --------
    >>> import sparsetoken as st
    >>> task = st.tasks.single_location_regression(length=10)
    >>> task.directions
    ('place', 'value')
    """
    draw = _OneToken(_length(length), _size("strength", strength), _size("scale", scale))
    target = _ValueAt(0, _size("noise", noise))
    names, density = ["place", "value"], target.likelihood
    return Task(length, names, draw, target, _squared_error, uniforms=1, likelihood=density)


def _sign_of_first(latent: Latent, Z: np.ndarray) -> np.ndarray:
    return np.where(Z[:, 0, 1] > 0, 1.0, -1.0)


def needle_with_value(length: int = 6, *, strength: float = 4.0, value: float = 1.5) -> Task:
    """Return the task of a class that is the sign of what one token carries.

    The informative token has the coefficient `strength` along the direction ``needle`` and a normal
    one of the width `value` along ``value``; the label is the sign of its projection on the latter,
    noise included. It is single-location regression with a class in place of the number.

    Parameters
    ----------
    length : int
        L >= 1.
    strength, value : float
        At least 0.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    See Also
    --------
    single_location_regression : Likewise, with the number as the target.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.tasks.needle_with_value().metric
    'error'
    """
    values = _size("value", value)
    draw = _OneToken(_length(length), _size("strength", strength), values=values)
    return Task(length, ["needle", "value"], draw, _sign_of_first, "error", uniforms=1)


@dataclasses.dataclass(frozen=True)
class _Positions:
    """Bags with a vector of its own in each token, and none along the last direction."""

    length: int
    strength: float
    told: int

    def __call__(self, u: np.ndarray) -> dict[str, np.ndarray]:
        coefficients = np.zeros((len(u), self.length, self.length + 1))
        places = np.arange(self.length)
        coefficients[:, places, places] = self.strength
        informative = np.tile(places == self.told, (len(u), 1))
        return {"coefficients": coefficients, "informative": informative, "normal": ndtri(u[:, 0])}


def position(length: int = 5, *, told: int = 3, strength: float = 3.0, noise: float = 0.2) -> Task:
    """Return the task of a number that stands at one position, which positional vectors tell.

    Token l has the coefficient `strength` along the direction ``positionl``, its positional vector;
    the target is the projection of one token on the direction ``value``, plus noise. The metric is
    the squared error. A trained query must find the vector of the position; compare Cui, Behrens,
    Krzakala and Zdeborova (A phase transition between positional and semantic learning in a
    solvable model of dot-product attention, NeurIPS 2024).

    Parameters
    ----------
    length : int
        L, from 1 to 63.
    told : int
        The position of the value, from 1 to L.
    strength, noise : float
        At least 0.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    See Also
    --------
    single_location_regression : The place is marked, and may be any.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.tasks.position(length=3, told=2).directions
    ('position1', 'position2', 'position3', 'value')
    """
    integer("length (L)", length, 1, 63)
    place = integer("told", told, 1, length) - 1
    names = [*(f"position{i + 1}" for i in range(length)), "value"]
    draw = _Positions(length, _size("strength", strength), place)
    target = _ValueAt(place, _size("noise", noise))
    density = target.likelihood
    return Task(length, names, draw, target, _squared_error, uniforms=1, likelihood=density)


def meeting_concepts(
    length: int = 5, *, strengths: tuple[float, float] = (5.5, 3.5)
) -> ConceptProblem:
    """Return the task of two signals that must meet: a bag is positive if it holds both.

    Four bags in ten hold both, two each one of them or none. No linear function of the mean token
    tells the bags with both from all others.

    Parameters
    ----------
    length : int
        L >= 2.
    strengths : pair of float
        At least 0.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    See Also
    --------
    lookup : Tokens that have to be read one after another.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.tasks.meeting_concepts().classes
    2
    """
    kinds = [[1, 1], [0, 0], [1, 0], [0, 1]]
    return ConceptProblem(length, strengths, kinds, [0.4, 0.2, 0.2, 0.2], [1, 0, 0, 0])


@dataclasses.dataclass(frozen=True)
class _Lookup:
    """Bags of a token with a mark and a sign, and for each further hop one for each of both signs.

    The strengths are those of the mark, of the keys and of the values.
    """

    length: int
    strengths: tuple[float, ...]

    def __call__(self, u: np.ndarray) -> dict[str, np.ndarray]:
        signs, sizes = np.where(u < 0.5, -1.0, 1.0), self.strengths
        coefficients = np.zeros((len(u), self.length, len(sizes)))
        answers, place = signs[:, 0], np.zeros(len(u), int)
        coefficients[:, 0, 0], coefficients[:, 0, 1] = sizes[0], sizes[1] * answers
        for first in range(1, signs.shape[1], 2):
            hop, two = (first + 1) // 2, slice(first, first + 2)
            coefficients[:, two, hop] = sizes[hop] * np.array([-1.0, 1.0])
            coefficients[:, two, hop + 1] = sizes[hop + 1] * signs[:, two]
            place = first + (answers > 0)
            answers = signs[np.arange(len(u)), place]
        informative = np.arange(self.length) == place[:, None]
        return {"coefficients": coefficients, "informative": informative, "answers": answers}


def _answers(latent: Latent, Z: np.ndarray) -> np.ndarray:
    return np.asarray(latent["answers"])


def lookup(length: int = 6, hops: int = 2, *, strengths: float | tuple[float, ...] = 4.0) -> Task:
    """Return the task of a value that is looked up by keys, in one or several hops.

    One token carries ``mark`` and a random sign s along ``key``. Two others carry the signs -1 and
    1 along ``key``, and each a random sign along ``value``. The label is the value of the token
    whose key is s; that token is the informative one. All other tokens are noise. One softmax layer
    weights each token by itself, and so does not know which key is asked for; of two layers the
    first can mark the token that has it.

    With three hops or more the value is a key itself, ``key2``, by which two further tokens are
    told apart, and so on. With one hop the token with the mark has the value.

    Parameters
    ----------
    length : int
        L, at least twice the hops less 1.
    hops : int >= 1
        Tokens that are to be read one after another.
    strengths : float or tuple of float
        Of mark, keys and values, at least 0; one number for all.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    See Also
    --------
    sparsetoken.model.networks.Transformer : A network with several layers.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.tasks.lookup(length=8).directions
    ('mark', 'key', 'value')
    >>> st.tasks.lookup(length=8, hops=3).directions
    ('mark', 'key1', 'key2', 'value')
    """
    hops = integer("hops", hops, 1)
    least = 2 * hops - 1
    length = integer("length (L)", length, least, remedy=f"{hops} hops take {least} tokens.")
    names = ["mark", *numbered("key", hops - 1), "value"]
    sizes = strengths if isinstance(strengths, tuple) else (strengths,) * len(names)
    if len(sizes) != len(names):
        legal = f"a number, or one for each of {', '.join(names)}"
        raise InvalidInput("strengths", legal, strengths)
    draw = _Lookup(length, tuple(_size("strengths", size) for size in sizes))
    return Task(length, names, draw, _answers, "error", uniforms=least)


@dataclasses.dataclass(frozen=True)
class _Labelled:
    """Bags of which each token carries a sign along the only direction, -1 or 1 alike."""

    length: int
    strength: float

    def __call__(self, u: np.ndarray) -> dict[str, np.ndarray]:
        signs = np.where(u < 0.5, -1.0, 1.0)
        return {"coefficients": self.strength * signs[..., None], "signs": signs}


def _majority(latent: Latent, Z: np.ndarray) -> np.ndarray:
    return np.sign(latent["signs"].sum(axis=1))


def majority(length: int = 5, *, strength: float = 2.0) -> Task:
    """Return the task of a class that most tokens share, which needs no attention.

    Each token has a sign, -1 or 1 with the same probability, times `strength` along the direction
    ``sign``; the label is the sign of most of them. Mean pooling is the right network, so that it
    tells what attention costs where there is nothing to locate.

    Parameters
    ----------
    length : int
        L, odd, from 1 to 255.
    strength : float
        At least 0.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    See Also
    --------
    meeting_concepts : Two tokens matter, and not how many there are.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.tasks.majority(length=7).uniforms
    7
    """
    if integer("length (L)", length, 1, 255) % 2 == 0:
        raise InvalidInput("length (L)", "odd, so that no bag is a tie", length)
    draw = _Labelled(length, _size("strength", strength))
    return Task(length, ["sign"], draw, _majority, "error", uniforms=length)


def _length(given: int) -> int:
    return integer("length (L)", given, 1)


def _size(name: str, given: float) -> float:
    return real(name, given, 0.0, LARGEST_VALUE)
