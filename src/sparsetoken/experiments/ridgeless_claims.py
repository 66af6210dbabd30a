"""What the ridgeless experiment claims, and how each claim is judged."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from sparsetoken.experiments import ridgeless_work as work
from sparsetoken.experiments.claims import Claim, compare, judge
from sparsetoken.experiments.points import Point, curve, select

__all__ = ["claims_of"]


def claims_of(points: Sequence[Point]) -> list[Claim]:
    """Judge all points of the experiment."""
    return [
        *_threshold(points),
        *_peak(points),
        *_susceptibility(points),
        *_losses(points),
        *_direction(points),
    ]


def _pairs(points: Sequence[Point], **wanted: object) -> list[tuple[Point, Point]]:
    """Return (theory, simulation) at the same place."""
    known, found = curve(points, **wanted)
    theories = {(p.curve, p.x, p.y): p for p in known}
    return [(theories[p.curve, p.x, p.y], p) for p in found]


def _threshold(points: Sequence[Point]) -> list[Claim]:
    claims = []
    for known, found in _pairs(points, group="load", quantity="training_loss", y=0.0):
        where = f"n₁ = {found.x:g} × weights, λ = 0"
        rounding = 1e-12 if found.x < 1 else None  # an exact fit, in float64
        key = found.x in (0.5, 2.0)
        claims.append(
            judge("interpolation-threshold", known, found, where=where, allowance=rounding, key=key)
        )
    return claims


def _peak(points: Sequence[Point]) -> list[Claim]:
    name = "interpolation-peak"
    claims = []
    for known, found in _pairs(points, group="load", quantity="test_error"):
        where = f"n₁ = {found.x:g} × weights, λ = {found.y:g}"
        key = found.y == 0 and found.x in (0.8, 1.25)
        claims.append(judge(name, known, found, where=where, key=key))
    for model in ("attention", "pooled"):
        line = select(points, group="load", quantity="test_error", curve=model, y=0.0)
        line = [p for p in line if p.source == "theory"]
        rising = [p for p in line if 0.5 <= p.x < 1]
        falling = [p for p in line if p.x > 1]
        right = [a.value < b.value for a, b in itertools.pairwise(rising)]
        right += [a.value > b.value for a, b in itertools.pairwise(falling)]
        claims.append(
            compare(
                name,
                model,
                "rises to the threshold, falls after it",
                where="share of neighbours, n₁ from 0.5 to 8 × weights",
                expected=1.0,
                found=float(np.mean(right)),
                allowance=0.0,
                converged=all(p.converged for p in line),
                key=True,
            )
        )
        ridged = select(points, group="load", quantity="test_error", curve=model, y=work.RIDGES[-1])
        smooth = [p for p in ridged if p.source == "theory" and p.x >= 0.5]
        claims.append(
            compare(
                name,
                model,
                "falls throughout with a ridge",
                where=f"share of neighbours, λ = {work.RIDGES[-1]:g}",
                expected=1.0,
                # Neighbours may differ by less than the theory's own tolerance.
                found=float(
                    np.mean([b.value < a.value + work.LINE for a, b in itertools.pairwise(smooth)])
                ),
                allowance=0.0,
                converged=all(p.converged for p in smooth),
            )
        )
    return claims


def _susceptibility(points: Sequence[Point]) -> list[Claim]:
    name, claims = "susceptibility-diverges", []
    for model in ("attention", "pooled"):
        (limit,) = select(points, group="limits", curve=model, quantity="mean of 1/C^2")
        (near,) = select(points, group="limits", curve=model, quantity="(load - 1) chi")
        (ridge,) = select(points, group="limits", curve=model, quantity="ridge chi")
        claims.append(
            compare(
                name,
                model,
                "(α₁ − 1) χ",
                where=f"α₁ = {near.x:g}, λ = 0, against the mean of 1/C²",
                expected=limit.value,
                found=near.value,
                # The next order in alpha1 - 1 = 0.001, with a factor of a few, and the nodes.
                allowance=0.005 * limit.value,
                error=limit.error,
                converged=near.converged,
                key=True,
            )
        )
        claims.append(
            compare(
                name,
                model,
                "λ χ",
                where=f"α₁ = {ridge.x:g}, λ = {work.SMALL:g}, against 1/α₁ − 1",
                expected=1 / ridge.x - 1,
                found=ridge.value,
                # First order in λ, times a mean of 1/C² of at most 10 and a factor of a few.
                allowance=100 * work.SMALL,
                converged=ridge.converged,
            )
        )
    for known, found in _pairs(points, group="load", quantity="susceptibility"):
        # The mean of an inverse Wishart matrix has n1 - d - 2 where its limit has n1 - d.
        share = 3.0 + (2 / (found.x - 1) if found.y == 0 else 0.0)
        allowance = share / found.dimension * known.value
        where = f"α₁ = {found.x:g}, λ = {found.y:g}"
        claims.append(judge(name, known, found, where=where, allowance=allowance))
    return claims


def _losses(points: Sequence[Point]) -> list[Claim]:
    claims = []
    for known, found in _pairs(points, group="capacity", quantity="training_loss"):
        where = f"α₁ = {found.x:g} α*"
        if found.x > 1:
            name = "positive-loss-above-capacity"
            claims.append(judge(name, known, found, where=where, key=found.x == 1.25))
            continue
        (length,) = select(
            points, group="capacity", curve=found.curve, quantity="length", x=found.x
        )
        name, allowance = "zero-loss-below-capacity", _price(found.curve, length.value)
        claims.append(
            judge(name, known, found, where=where, allowance=allowance, key=found.x == 0.75)
        )
    return claims


def _price(loss: str, length: float) -> float:
    """Return a bound on the training loss that a ridge of `SMALL` costs below capacity.

    The fit is no worse than c times the readout of margin 1: hinge with c = 1, and logistic
    with c = log(1/ridge), whose loss is below exp(-c).
    """
    if loss == "hinge":
        return 0.5 * work.SMALL * length**2
    c = float(np.log(1 / work.SMALL))
    return work.SMALL + 0.5 * work.SMALL * (c * length) ** 2


def _direction(points: Sequence[Point]) -> list[Claim]:
    name, claims = "direction-to-max-margin", []
    for known, found in _pairs(points, group="capacity", quantity="test_error", curve="hinge"):
        if found.x < 1:
            where = f"α₁ = {found.x:g} α*, hinge, against the largest margin"
            claims.append(judge(name, known, found, where=where, key=found.x == work.RATIO))
    (limit,) = select(
        points,
        group="capacity",
        curve="hinge",
        quantity="test_error",
        x=work.RATIO,
        source="theory",
    )
    last, before = select(points, group="direction", quantity="test_error")[:2]
    lengths = select(points, group="direction", quantity="length")[:2]
    short, long = 1 / lengths[0].value, 1 / lengths[1].value
    extrapolated = last.value + (last.value - before.value) * short / (long - short)
    claims.append(
        compare(
            name,
            "logistic",
            "test_error",
            where=f"theory at λ = {before.x:g} and {last.x:g}, extrapolated to 1/|w| = 0",
            expected=limit.value,
            found=extrapolated,
            # The gap falls as 1/|w|, with corrections of relative size 1/log(1/ridge) < 0.1 to it.
            allowance=0.1 * abs(last.value - limit.value),
            error=limit.error,
            converged=last.converged and before.converged and limit.converged,
            key=True,
        )
    )
    measured = select(points, group="direction", quantity="distance")
    falls = [a.value < b.value for a, b in itertools.pairwise(measured)]
    claims.append(
        compare(
            name,
            "logistic",
            "1 − cosine with the largest margin falls",
            where=f"measured on the same D1, share of steps down to λ = {measured[0].x:g}",
            expected=1.0,
            found=float(np.mean(falls)),
            allowance=0.0,
        )
    )
    return claims
