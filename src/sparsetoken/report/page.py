"""The report as one HTML page that needs no other file and no network."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import jinja2

from sparsetoken.experiments.claims import ALLOWANCE, RULE, Claim
from sparsetoken.experiments.finite_size import QUANTITIES, Shrinkage, shrinkage
from sparsetoken.experiments.points import Point
from sparsetoken.report.pictures import Picture

__all__ = ["Section", "page"]

NAMES = {
    "cosine": "cos(q₂, ξ)",
    "readout_cosine": "cos(w₁, ξ)",
    "test_error": "test error",
    "training_loss": "training loss",
    "threshold": "capacity",
    "separable": "share separable",
}

UNSEEN = (
    "c is within two standard errors of 0: the difference is too small to see, "
    "and the misfit decides nothing"
)

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclasses.dataclass(frozen=True)
class Section:
    """One experiment on the page."""

    name: str
    title: str
    setting: str
    pictures: Sequence[tuple[Picture, str]]
    points: Sequence[Point]
    claims: Sequence[Claim]

    @property
    def fits(self) -> list[tuple[Shrinkage, Shrinkage]]:
        """For the finite-size section: the fits c/d and c/sqrt(d) of each quantity."""
        if self.name != "finite-size":
            return []
        return [
            (shrinkage(self.points, name, 1.0), shrinkage(self.points, name, 0.5))
            for name in QUANTITIES
        ]


def page(sections: Sequence[Section], claims: Sequence[Claim], facts: Mapping[str, str]) -> str:
    """Return the page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sparsetoken.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"lesson": lesson, "number": number, "place": place, "words": words}
    verdicts = ("holds", "fails", "not converged")
    return environment.get_template("report.html").render(
        sections=sections,
        key=[claim for claim in claims if claim.key],
        allowances=[(words(name), c) for name, c in ALLOWANCE.items() if c > 0],
        counts={v: sum(c.verdict == v for c in claims) for v in verdicts},
        total=len(claims),
        rule=RULE,
        facts=facts,
    )


def number(value: float, digits: int = 4) -> str:
    """Return a number with so many decimals, or as a power of ten below 0.001."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 0 < abs(value) < 1e-3 and digits > 1:
        mantissa, power = f"{value:.1e}".split("e")
        return f"{mantissa}·10{str(int(power)).translate(_RAISED)}".replace("-", "−")
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def words(quantity: str) -> str:
    """Return the name of a quantity for readers."""
    return NAMES.get(quantity, quantity.replace("_", " "))


def lesson(fits: Sequence[tuple[Shrinkage, Shrinkage]]) -> str:
    """Return which law each difference follows, or that it is too small to tell."""
    said: dict[str, list[str]] = {}
    for whole, root in fits:
        better = min(whole, root, key=lambda fit: fit.misfit)
        law = "c/d" if better is whole else "c/√d"
        seen = abs(better.coefficient) > 2 * better.standard_error
        text = (
            f"c is more than two standard errors from 0, and {law} fits better" if seen else UNSEEN
        )
        said.setdefault(text, []).append(words(whole.quantity))
    return " ".join(f"For {_listed(names)}, {text}." for text, names in said.items())


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def place(claim: Claim) -> str:
    """Return where on its curve a claim stands."""
    if claim.experiment == "alignment":
        return f"α₀ = {claim.x:g}, d = {claim.dimension}"
    if claim.experiment == "learning-curves":
        return f"α₁ = {claim.x:g}, d = {claim.dimension}"
    if claim.quantity == "separable":
        return f"α₁ = {claim.x:.4g}, two engines"
    if claim.experiment == "capacity":
        return f"{claim.dimension} features"
    return f"d = {claim.dimension}"
