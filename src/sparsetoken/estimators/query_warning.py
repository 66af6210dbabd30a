"""What a fit says of a query that the bags do not support, with the remedy."""

from __future__ import annotations

from typing import Any

from sparsetoken.fitting.training import AttentionFit, Options

UNIFORM = 0.98  # share of the tokens that count: above it the weights are as good as uniform
HARM = 2.0  # standard errors by which pooling is better
CLEAR = 3.0  # standard errors of the evidence for a query; noise has a deviation of 1.5


class QueryWarning(UserWarning):
    """The query of a fit does not help, or does harm.

    It is not clearly aligned with the signal, attention with it loses to mean pooling, or its
    weights are uniform. Silence it with ``warnings.simplefilter("ignore", QueryWarning)``.
    """


def complaint(fit: AttentionFit, options: Options, share: float) -> str:
    """Return what to say of a query; nothing ("") if it is as it should be.

    Parameters
    ----------
    fit : AttentionFit
    options : Options
    share : float
        Of the tokens of a bag that count, on average; 1 if weights are uniform.
    """
    automatic = isinstance(options.temperature, str)
    fell_back = automatic and fit.sharpness == 0
    if fit.kind == "mean" or (fell_back and options.training in ("likelihood", "tied")):
        return ""
    if fit.evidence < CLEAR and not fit.gain > 1:
        return _of_evidence(fit.evidence)
    if fit.gain < -HARM:
        return (
            f"Attention loses to mean pooling: its left-out loss is {-fit.gain:.1f} standard "
            "errors higher. Set temperature='auto'; it also finds a token of the first class."
        )
    if share > UNIFORM and not fell_back and not (automatic and fit.gain > 1):
        return (
            "The query has collapsed to uniform weights: this is mean pooling. "
            "Raise temperature or set it 'auto'; with training='joint' lower query_ridge."
        )
    return ""


def told(
    label: Any,
    kind: str,
    sharpness: float,
    pvalue: float,
    signal: float,
) -> str:
    """Return one line on the attention of a class against the others."""
    chance = "" if pvalue != pvalue else f"; p = {pvalue:.2g} against mean pooling"
    chance += "" if signal != signal else f", {signal:.2g} against no signal"
    if sharpness == 0:
        return f"Class {label}: attention is off, its weights are equal{chance}."
    name = {"likelihood": "likelihood pooling"}.get(kind, f"attention ({kind} query)")
    return f"Class {label}: {name} of sharpness {sharpness:.2g}{chance}."


def _of_evidence(evidence: float) -> str:
    """Return what to say of a query that the bags it has not seen do not support."""
    if evidence < -CLEAR:
        return (
            "The query turns away from the signal: positive bags that it has not seen score "
            f"{-evidence:.1f} standard errors below the others. Rare positives do this: "
            "take class_weight='balanced', a larger second step size, or training='tied'."
        )
    return (
        "The query is too weakly aligned with the signal: positive bags that it has not seen "
        f"score {evidence:.1f} standard errors above the others. Take more bags, a larger "
        "split, temperature='auto', training='tied', or PooledLinearClassifier."
    )
