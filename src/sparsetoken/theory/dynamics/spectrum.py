"""The spectrum of the tokens, gathered into a few atoms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.task_law import TaskLaw
from sparsetoken.model.tokens import TokenCovariance, symmetric_root
from sparsetoken.theory.spectrum import spectrum_of_tokens

ATOMS = 8
"""Into which a spectrum of more eigenvalues is gathered."""

_ROUNDING = 1e-10  # of the largest eigenvalue: those that differ by less are one


class Atoms(NamedTuple):
    """Blocks of directions in which the tokens have the same variances.

    Attributes
    ----------
    shares : array of shape (A,)
        omega, shares of the directions, which add up to 1.
    within, between : arrays of shape (A,)
        Eigenvalues of the covariances within bags, and of what the tokens of a bag share.
    signals : array of shape (A, P, P)
        The parts of xi_p in each atom, as columns in coordinates of P orthonormal directions.
    groups : array of shape (d,)
        The atom of each direction of a spectrum.
    exact : bool
        Whether the directions of an atom have the same eigenvalues.
    """

    shares: Float[np.ndarray, " A"]
    within: Float[np.ndarray, " A"]
    between: Float[np.ndarray, " A"]
    signals: Float[np.ndarray, "A P P"]
    groups: Int[np.ndarray, " d"]
    exact: bool

    @property
    def has_effect(self) -> bool:
        """Whether the tokens of a bag share an effect."""
        return bool(self.between.any())


def mixing(coarse: Atoms, fine: Atoms) -> Float[np.ndarray, "A more"]:
    """Return what makes normals along atoms of those along the finer atoms that they gather."""
    shares = np.zeros((len(coarse.shares), len(fine.shares)))
    shares[coarse.groups, fine.groups] = 1
    return np.sqrt(shares * fine.shares / coarse.shares[:, None])


def atoms_of(law: TaskLaw, most: int = ATOMS) -> Atoms:
    """Return the atoms of the tokens of a task, at most so many.

    Raises
    ------
    InvalidInput
        If the covariances within and between bags do not commute.
    """
    spectrum = spectrum_of_tokens(law.tokens)
    if spectrum.between.ndim == 2:
        legal = "covariances within and between that commute, for descent on all weights"
        remedy = "Simulate the descent, which takes any covariance."
        raise InvalidInput("tokens", legal, law.tokens, remedy)
    if isinstance(law.tokens, TokenCovariance):
        signals = np.atleast_2d(spectrum.signal)
        return _gathered(spectrum.within, spectrum.between, signals, most)
    one, P = np.ones(1), len(law.directions)
    return Atoms(one, one, np.zeros(1), np.eye(P)[None], np.zeros(1, dtype=int), exact=True)


def _gathered(
    within: Float[np.ndarray, " d"],
    between: Float[np.ndarray, " d"],
    signals: Float[np.ndarray, "P d"],
    most: int,
) -> Atoms:
    """Gather eigenvalues that are alike.

    Steps of descent in a direction are powers of 1 - rate x slope x eigenvalue, which have the same
    scale along the whole spectrum, and whose largest eigenvalues decide what is stable. So the
    group whose eigenvalues differ most is cut next, in the middle of its range; groups of fewer
    cuts are unions of those of more.
    """
    points = np.stack([within, between], axis=1)
    alike = _ROUNDING * points.max()
    parts = [np.arange(len(within))]
    while len(parts) < most:
        ranges = np.array([np.ptp(points[own], axis=0) for own in parts])
        part, axis = np.unravel_index(np.argmax(ranges), ranges.shape)
        if ranges[part, axis] <= alike:
            break
        own = parts[part]
        values = points[own, axis]
        above = values > (values.min() + values.max() + alike) / 2
        parts[part] = own[~above]
        parts.append(own[above])
    parts.sort(key=lambda own: tuple(points[own[0]]))
    group = np.empty(len(within), dtype=int)
    for number, own in enumerate(parts):
        group[own] = number
    count = np.bincount(group)
    return Atoms(
        count / len(within),
        np.bincount(group, within) / count,
        np.bincount(group, between) / count,
        np.array([symmetric_root(xi @ xi.T) for xi in (signals[:, own] for own in parts)]),
        group,
        exact=all(np.ptp(points[own], axis=0).max() <= alike for own in parts),
    )
