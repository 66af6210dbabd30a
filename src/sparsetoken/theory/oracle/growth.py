"""Growth of critical strengths with the length: fits of growth laws."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from sparsetoken.base.validation import InvalidInput

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
        columns = np.stack([np.ones_like(L), law(L)], axis=1) / theta[:, None]
        (intercept, slope), *_ = np.linalg.lstsq(columns, np.ones_like(L), rcond=None)
        residual = columns @ np.array([intercept, slope]) - 1
        rms = float(np.sqrt(np.mean(residual**2)))
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
    L, theta = _numbers("lengths", lengths), _numbers("strengths", strengths)
    if L.ndim != 1 or len(L) < 3 or not np.all(L >= 2):
        raise InvalidInput("lengths", "at least 3 lengths >= 2", lengths)
    if theta.shape != L.shape or not np.all(np.isfinite(theta) & (theta > 0)):
        remedy = "Omit lengths without a critical strength."
        raise InvalidInput("strengths", "a positive number for each length", strengths, remedy)
    return L, theta


def _numbers(name: str, values: Sequence[float] | np.ndarray) -> np.ndarray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):  # no numbers, or rows of different lengths
        raise InvalidInput(name, "a sequence of numbers", values) from None
