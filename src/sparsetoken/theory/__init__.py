"""The exact predictions: one file for each result."""

from typing import TYPE_CHECKING

from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.predict import predict, predict_readouts
from sparsetoken.theory.query import align, growing_length_cosine, sign_margin, small_step_margin
from sparsetoken.theory.separability.capacity import capacity

if TYPE_CHECKING:
    from sparsetoken.theory.dynamics import descend
    from sparsetoken.theory.minimum import minimize
else:  # on first use: a prediction needs none of them
    import lazy_loader

    __getattr__, _, _ = lazy_loader.attach(
        __name__,
        submodules=["oracle", "tuning"],
        submod_attrs={"dynamics": ["descend"], "minimum": ["minimize"]},
    )

__all__ = [
    "FeatureLaw",
    "align",
    "capacity",
    "descend",
    "growing_length_cosine",
    "minimize",
    "predict",
    "predict_readouts",
    "sign_margin",
    "small_step_margin",
]
__dir__ = __all__.copy
