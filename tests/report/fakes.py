"""Small made-up points for every experiment, in the shape the real ones have."""

import dataclasses

from sparsetoken.experiments.points import Point

MODELS = ("attention", "pooled", "vectorized")


def _both(theory, dimension=1000, trials=8, shift=0.001):
    measured = dataclasses.replace(
        theory,
        value=theory.value + shift,
        error=0.002,
        source="reduced",
        dimension=dimension,
        trials=trials,
    )
    return [theory, measured]


def alignment():
    points = []
    for name in ("cosine", "readout_cosine"):
        for x in (0.25, 1.0, 10.0):
            points += _both(Point(name, name, x, 0.5 + x / 30))
        points.append(dataclasses.replace(points[-3], source="tensors"))
    points.append(Point("steps", "moved cosine", 2.0, 0.0, group="steps"))
    points.append(Point("steps", "sharpness over η_q β²", 2.0, 1.0, group="steps"))
    return points


def learning_curves():
    points = []
    for loss in ("logistic", "square"):
        for model in MODELS:
            for quantity in ("test_error", "training_loss", "training_error", "auc"):
                for x in (0.5, 1.0, 2.0, 4.0):
                    points += _both(Point(model, quantity, x, 0.3 / x, group=loss))
                points.append(dataclasses.replace(points[-1], source="tensors"))
    for group in ("effect of alpha0", "effect of sharpness"):
        for name in ("0.25", "0.5", "1", "2", "4"):
            points += [Point(name, "test_error", x, 0.1 / x, group=group) for x in (0.5, 1, 4)]
    return points


def capacity():
    points = []
    for model in MODELS:
        points.append(Point(model, "threshold", 1.0, 2.5))
        for features in (40, 160):
            for x, share in ((2.0, 0.96), (2.25, 0.8), (2.5, 0.5), (2.75, 0.2), (3.0, 0.04)):
                group = str(features)
                points.append(
                    Point(model, "separable", x, share, 0.05, "reduced", group, features, 50)
                )
    points.append(Point("attention", "separable", 2.5, 0.54, 0.07, "tensors", "160", 160, 50))
    return points


def finite_size():
    points = []
    for quantity in ("cosine", "test_error", "training_loss"):
        for d in (250, 500, 1000, 2000):
            points += _both(Point("attention", quantity, float(d), 0.5), d, shift=1 / d)
    return points


POINTS = {
    "alignment": alignment,
    "learning-curves": learning_curves,
    "capacity": capacity,
    "finite-size": finite_size,
}
