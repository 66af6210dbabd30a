"""Growth of critical strengths with the length: fits of growth laws."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from sparsetoken.base.validation import InvalidInput, reals

GROWTH_LAWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sqrt(2 log L)": lambda L: np.sqrt(2 * np.log(L)),
    "log L": np.log,
    "L^(1/4)": lambda L: L**0.25,
    "sqrt(L)": np.sqrt,
}


@dataclasses.dataclass(frozen=True)
class GrowthFit:
    """theta = intercept + slope * law(L), by least squares of the relative residuals.

    Attributes
    ----------
    law : str
        A key of `GROWTH_LAWS`.
    intercept, slope : float
    residual : float
        Root mean square of the relative residuals.
    """

    law: str
    intercept: float
    slope: float
    residual: float


def fit_growth(
    lengths: Sequence[int], strengths: Sequence[float] | np.ndarray
) -> dict[str, GrowthFit]:
    """Fit each growth law to critical strengths.

    Equation: growth-fit.

    Parameters
    ----------
    lengths : sequence of int
        At least 3, all >= 2.
    strengths : sequence or array of float
        Critical strengths > 0 at these lengths.

    Raises
    ------
    InvalidInput
        If the sequences differ in length, are too short, or a value is out of range.

    See Also
    --------
    best_growth : The growth law that fits best.
    growth_exponent : The exponent of a power law.

    Examples
    --------
    >>> import sparsetoken as st
    >>> fits = st.oracle.fit_growth([16, 64, 256], [4.0, 8.0, 16.0])
    >>> st.oracle.best_growth(fits)
    'sqrt(L)'
    """
    L, theta = _checked(lengths, strengths)
    fits = {}
    for name, law in GROWTH_LAWS.items():
        slope, intercept = np.polyfit(law(L), theta, 1, w=1 / theta)
        rms = float(np.sqrt(np.mean(((intercept + slope * law(L)) / theta - 1) ** 2)))
        fits[name] = GrowthFit(name, float(intercept), float(slope), rms)
    return fits


def best_growth(fits: dict[str, GrowthFit]) -> str:
    """Return the law with the smallest residual.

    See Also
    --------
    fit_growth : Fits of the growth laws.

    Examples
    --------
    >>> import sparsetoken as st
    >>> lengths = [16, 64, 256]
    >>> st.oracle.best_growth(st.oracle.fit_growth(lengths, [4.0, 8.0, 16.0]))
    'sqrt(L)'
    """
    return min(fits, key=lambda name: fits[name].residual)


def growth_exponent(lengths: Sequence[int], strengths: Sequence[float] | np.ndarray) -> float:
    """Return the slope d log theta / d log L over the upper half of the lengths.

    See Also
    --------
    fit_growth : Fits of the growth laws.

    Examples
    --------
    >>> import sparsetoken as st
    >>> lengths = [16, 64, 256, 1024]
    >>> round(st.oracle.growth_exponent(lengths, [4.0, 8.0, 16.0, 32.0]), 3)
    0.5
    """
    L, theta = _checked(lengths, strengths)
    upper = slice(len(L) // 2, None) if len(L) > 3 else slice(None)
    return float(np.polyfit(np.log(L[upper]), np.log(theta[upper]), 1)[0])


def _checked(
    lengths: Sequence[int], strengths: Sequence[float] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    L = np.array(reals("lengths", lengths, 2.0))
    theta = np.array(reals("strengths", strengths, 0.0, open_low=True))
    if L.ndim != 1 or len(L) < 3:
        raise InvalidInput("lengths", "at least 3 lengths >= 2", lengths)
    if theta.shape != L.shape:
        remedy = "Omit lengths without a critical strength."
        raise InvalidInput("strengths", "a positive number for each length", strengths, remedy)
    return L, theta
