"""Rules for means over a standard normal g."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from sparsetoken.numerics.backend import namespace

RANGE = 7.2  # P(|g| > RANGE) = 6e-13
_PANELS, _PER_PANEL = 20, 10
_PER_SIDE = 32
_TAIL = 3.0  # standard deviations; errors of the logistic means are small from 2.5 to 3.5
_DIGITS = 35.0  # the error of the trapezoidal rule is about exp(-35) = 6e-16


@functools.cache
def legendre(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the Gauss-Legendre rule on [-1, 1]."""
    return np.polynomial.legendre.leggauss(nodes)


def composite_legendre(
    edges: Float[np.ndarray, " edges"], nodes: int
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return a Gauss-Legendre rule of so many nodes between each two neighbouring edges."""
    x, w = legendre(nodes)
    half = 0.5 * np.diff(edges)[:, None]
    return (0.5 * (edges[1:] + edges[:-1])[:, None] + half * x).ravel(), (half * w).ravel()


def trapezoidal_step(width: Float[np.ndarray, "*n"], strip: float) -> Float[np.ndarray, "*n"]:
    """Return steps of the trapezoidal rule that integrate a function times a normal density.

    The function is analytic for ``|Im x| < strip``, the density has standard deviation
    `width` > 0. Their Fourier transforms fall like ``exp(-strip |k|)`` and
    ``exp(-width^2 k^2 / 2)``; the error is the transform of the product at ``2 pi / step``
    (Trefethen and Weideman, SIAM Review 56, 2014). The step puts it near rounding.
    """
    fastest = math.sqrt(2 * _DIGITS) / width  # where the density alone decides
    mixed = _DIGITS / strip + strip / (2 * width**2)
    return 2 * math.pi / np.where(fastest * width**2 <= strip, fastest, mixed)


@functools.cache
def gaussian_panels() -> tuple[np.ndarray, np.ndarray]:
    """Return a composite rule for E[f(g)] that tolerates kinks anywhere.

    Exact to rounding for smooth f; a kink inside a panel of width h costs O(h^2)
    times the jump of slope there.
    """
    g, w = composite_legendre(np.linspace(-RANGE, RANGE, _PANELS + 1), _PER_PANEL)
    return g, w * normal_density(g)


def even_nodes(width: Float[np.ndarray, "*n"], strip: float) -> float:
    """Return how many evenly spaced g serve a function of each width * g, analytic in a strip."""
    width = np.clip(width, 1e-100, 1e100)  # their squares are numbers
    return 2 + float(2 * RANGE * np.max(width / trapezoidal_step(width, strip)))


@functools.cache
def even_gaussian(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the trapezoidal rule for E[f(g)]."""
    g, step = np.linspace(-RANGE, RANGE, nodes, retstep=True)
    return g, step * normal_density(g)


def clustered_gaussian(
    split: Float[Any, "*n"],
    bends: tuple[Float[Any, "*n"], Float[Any, "*n"]],
    scale: Float[Any, "*n"],
) -> tuple[Float[Any, "*n q"], Float[Any, "*n q"]]:
    """Return a rule for E[f(g)] with nodes that crowd around two bends of f.

    On each side of `split` the substitution g = bend + scale sinh(x) spaces the nodes
    evenly within `scale` of the bend of that side and geometrically beyond, so that a
    bend of any sharpness is resolved at a fixed cost. The arrays are NumPy's or JAX's.

    Parameters
    ----------
    split : array
        Where the two sides meet, between the bends. If only one bend lies in
        (-RANGE, RANGE), both sides meet there instead.
    bends : pair of arrays
        Centres of the left and the right side.
    scale : array
        Width of the bends, > 0. Bends beyond 3 standard deviations are taken to be wider: by half
        of what is beyond.
    """
    xp = namespace(split, *bends, scale)
    near, far = (xp.minimum(*map(xp.abs, bends)), xp.maximum(*map(xp.abs, bends)))
    only = xp.where(xp.abs(bends[0]) < xp.abs(bends[1]), *bends)
    two = far < RANGE
    # A bend in the tail has little weight: nodes that crowd there are missed where the density is.
    scale = xp.maximum(scale, 0.5 * (near - _TAIL))
    split = xp.clip(xp.where(two, split, only), -RANGE, RANGE)
    left, right = (xp.clip(xp.where(two, b, only), -RANGE, RANGE) for b in bends)
    sides = [_side(-RANGE, split, left, scale), _side(split, RANGE, right, scale)]
    g, weight = (xp.concatenate(parts, axis=-1) for parts in zip(*sides, strict=True))
    return g, weight * normal_density(g)


def normal_density(g: Any) -> Any:
    """Return the density of N(0, 1)."""
    return namespace(g).exp(-0.5 * g**2) / math.sqrt(2 * math.pi)


def _side(low: Any, high: Any, bend: Any, scale: Any) -> tuple[Any, Any]:
    xp = namespace(low, high, bend, scale)
    x, w = legendre(_PER_SIDE)
    start, stop = xp.arcsinh((low - bend) / scale), xp.arcsinh((high - bend) / scale)
    half = 0.5 * (stop - start)[..., None]
    u = 0.5 * (stop + start)[..., None] + half * x
    scale = scale[..., None]
    e = xp.exp(u)  # sinh and cosh would take one each
    sinh, cosh = 0.5 * (e - 1 / e), 0.5 * (e + 1 / e)
    return bend[..., None] + scale * sinh, half * w * scale * cosh


BITS = 30  # of a coordinate
MOST_DIMENSIONS = 21201  # for which SciPy has direction numbers


def sobol_sequence(dimensions: int, rng: np.random.Generator | None = None) -> Any:
    """Return a `scipy.stats.qmc.Sobol`, scrambled by a generator if there is one."""
    sequence = scipy.stats.qmc.Sobol  # imported here, on first use
    return sequence(dimensions, scramble=rng is not None, bits=BITS, rng=rng)


def even_uniforms(
    dimensions: int, rng: np.random.Generator
) -> Callable[[int], Float[np.ndarray, "n dimensions"]]:
    """Return what draws the next points, so many, evenly spread inside the unit cube.

    They are a scrambled Sobol sequence, or pseudo-random beyond its dimensions.
    """

    def plain(count: int) -> np.ndarray:
        return rng.random((count, dimensions))

    draw = sobol_sequence(dimensions, rng).random if 0 < dimensions <= MOST_DIMENSIONS else plain
    half = 0.5 ** (BITS + 1)  # of a cell: 0 and 1 have no normal
    return lambda count: np.clip(draw(count), half, 1 - half)
