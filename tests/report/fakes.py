"""Small made-up rows for some experiments, in the shape the real ones have."""

from sparsetoken.experiments.alignment import rows as alignment_rows
from sparsetoken.experiments.capacity import rows as capacity_rows
from sparsetoken.experiments.rows import Measured, Predicted


def _measured(value, engine="reduced"):
    return Measured(value + 0.001, 0.002, 1000, 8, engine)


def alignment():
    rows = []
    for x in (0.25, 1.0, 10.0):
        values = (0.5 + x / 30, 0.4 + x / 30)
        rows.append(alignment_rows.Theory(x, *map(Predicted, values)))
        rows.append(alignment_rows.Simulated(x, *map(_measured, values)))
    tensors = (_measured(value, "tensors") for value in values)
    return [
        *rows,
        alignment_rows.Simulated(x, *tensors),
        alignment_rows.OtherSteps("computed", 4, 0.0, 1.0),
    ]


def capacity():
    known = Predicted(2.5)
    rows = [
        capacity_rows.Separable(
            model, features, x / 2.5, x, known, Measured(share, 0.05, features, 50)
        )
        for model in ("attention", "pooled", "vectorized")
        for features in (40, 160)
        for x, share in ((2.0, 0.96), (2.25, 0.8), (2.5, 0.5), (2.75, 0.2), (3.0, 0.04))
    ]
    share = Measured(0.54, 0.07, 160, 50, "tensors")
    return [*rows, capacity_rows.Separable("attention", 160, 1.0, 2.5, known, share)]


ROWS = {"alignment": alignment, "capacity": capacity}
