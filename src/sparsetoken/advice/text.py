"""A diagnosis in words and as plain text."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from sparsetoken.advice.curves import WORTH, Point
from sparsetoken.models import MODELS

if TYPE_CHECKING:
    from sparsetoken.advice.diagnosis import Diagnosis, Estimate, MoreLabels, Setting
    from sparsetoken.advice.gaussianity import TokenCheck

__all__ = [
    "as_text",
    "of_labels",
    "of_long_bags",
    "of_model",
    "of_other_class",
    "of_query",
    "of_signal",
    "of_tokens",
]

_AWAY = 0.05  # share of bootstrap samples from which a query that turns away is mentioned
_SURE = 0.8  # share of bootstrap samples from which a choice of model counts as sure


def of_signal(signal: str, evidence: float) -> str:
    """Return what to say of the estimates."""
    if signal == "none":
        return (
            "No signal is seen: the mean tokens of the two classes are no further apart than by "
            f"chance ({evidence:.1f} standard errors). There may be none, or one in too few tokens "
            "to move the mean of a bag. Take more bags, or compare cross-validated classifiers."
        )
    if signal == "weak":
        return (
            f"The signal is weak ({evidence:.1f} standard errors): strength and number of "
            "informative tokens are hardly known apart from their product, and what follows from "
            "them is uncertain."
        )
    return ""


def of_other_class(positive: Any, other: Any) -> str:
    """Return what to say where the class that should hold no signal varies more."""
    return (
        f"The tokens of class {other} vary more than those of class {positive}: it seems to hold "
        f"the signal. Pass pos_label={other!r} (--positive {other} on the command line)."
    )


def of_model(recommended: str, support: float, point: Point, guess: float, equal: bool) -> str:
    """Return which model to take, and how sure that is."""
    errors = _listed(point)
    best = point.error(recommended)
    text = f"Take {_classifier(recommended)}: predicted test errors at n = {point.n} are {errors}."
    if best > 0.98 * guess:
        text += f" None is better than always answering with the larger class ({guess:.3f})."
    if not equal:
        text += " The vectorised model needs bags of equal sizes."
    if support < _SURE:
        text += f" The choice is not sure: {support:.0%} of the bootstrap samples make it."
    return text


def of_query(setting: Setting, recommended: str) -> str:
    """Return split and sharpness, and whether the query may turn away."""
    text = ""
    if recommended == "attention":
        text = (
            f"Best predicted split (training='four_stage', loss='square'): {setting.split:.0%} of "
            f"the bags for the query; best sharpness: {setting.sharpness:g}, the standard "
            "deviation of token scores. The default training uses all bags for both and should do "
            "at least as well."
        )
    if setting.away < _AWAY:
        return text
    return (
        f"{text} With the logistic loss, the default of the classifiers, the query of two gradient "
        f"steps may turn away from the signal (in {setting.away:.0%} of the bootstrap samples; "
        f"predicted cosine {setting.cosine.value:.2f}): take "
        "class_weight='balanced' or training='tied'."
    ).strip()


def of_long_bags(length: int, longest: int) -> str:
    """Return what to say of bags for which nothing is predicted."""
    return (
        f"Nothing is predicted for bags of more than {longest} tokens (here {length}). "
        "AttentionClassifier falls back to mean pooling where attention does not help."
    )


def of_labels(labels: MoreLabels, n: int, curves: tuple[Point, ...], recommended: str) -> str:
    """Return what more labels would be worth."""
    text = (
        f"Predicted error now {_range(labels.error)}, with {2 * n} bags {_range(labels.double)}, "
        f"with {4 * n} bags {labels.fourfold:.3f}, with infinite data {labels.infinite:.3f}."
    )
    if labels.error.value - labels.infinite < WORTH:
        text += " More labels would hardly help."
    elif labels.halfway is not None:
        text += f" Half of that gain takes {labels.halfway} bags."
    else:
        text += f" Half of that gain takes more than {64 * n} bags."
    overtaken = [p.n for p in curves if p.n > n and p.attention < p.pooled - WORTH]
    if recommended == "pooled" and overtaken:
        text += f" From about {overtaken[0]} bags on, attention should be better."
    return text


def of_tokens(tokens: TokenCheck) -> str:
    """Return how far the tokens are from the model, and what that means for the advice."""
    seen = f" Seen: {'; '.join(tokens.departures)}." if tokens.departures else ""
    trust = " Trust cross-validation over this advice." if tokens.fit == "poor" else ""
    return tokens.verdict + seen + trust


def as_text(found: Diagnosis) -> str:
    """Return a diagnosis as plain text."""
    sizes = f"{found.smallest} to {found.largest}, median {found.length}"
    lines = [
        f"{found.n} bags ({found.n_positive} of class {found.positive_class}) of {sizes} tokens; "
        f"{found.dimension} columns, {found.effective_dimension:.4g} effective",
        "",
        f"{'estimate':<34}{'value':>9}   90% interval",
        _row("strength theta", found.strength),
        _row("informative tokens R", found.informative),
        _row("shift of the mean token theta R/L", found.shift),
        _row("positive rate pi", found.positive_rate),
        _row("noise of a column", found.noise),
        f"{'evidence, standard errors':<34}{found.evidence:>9.3g}   signal: {found.signal}",
        "",
        *_check(found),
        "",
    ]
    if found.curves:
        lines += [*_table(found), ""]
    for sentence in found.advice:
        lines += textwrap.wrap(sentence, 88, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def _check(found: Diagnosis) -> list[str]:
    tokens = found.tokens
    rows = (
        ("excess kurtosis", tokens.kurtosis, "0"),
        ("skewness", tokens.skew, "0"),
        ("intra-bag correlation", tokens.within_bag, "0"),
        ("spread of squared lengths", tokens.norms, "1"),
        ("columns per effective one", tokens.correlation, "1"),
        ("relative spread of bag sizes", tokens.sizes, "0"),
    )
    lines = [f"{'tokens':<34}{'value':>9}   in the model"]
    return lines + [f"{name:<34}{value:>9.3g}   {model}" for name, value, model in rows]


def _table(found: Diagnosis) -> list[str]:
    shown = found.curves[0].models
    head = f"{'predicted error at n':<22}" + "".join(f"{m:>12}" for m in shown)
    lines = [head + f"{'split':>8}{'sharpness':>11}"]
    for point in found.curves:
        mark = "*" if point.n == found.n else " "
        cells = "".join(f"{point.error(m):>12.3f}" for m in shown)
        lines.append(f"{point.n:>20} {mark}{cells}{point.split:>8.2f}{point.sharpness:>11.3g}")
    return lines


def _row(name: str, estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return f"{name:<34}{'-':>9}"
    return f"{name:<34}{estimate.value:>9.3g}   {estimate.low:.3g} to {estimate.high:.3g}"


def _listed(point: Point) -> str:
    return ", ".join(f"{model} {point.error(model):.3f}" for model in point.models)


def _classifier(model: str) -> str:
    """Return the name of the estimator of a model."""
    return MODELS[model].estimator.rpartition(":")[2]


def _range(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"
