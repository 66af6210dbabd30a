"""Networks that depend on tokens through a few projections, as values.

A network is a function f(H, c) of the projections H = X U of the tokens of a bag, of shape
(L, m), and of further weights c; with several layers a function f(H, c, G), where G = U^T U.
Descent trains the columns of U and c.
"""

from sparsetoken.model.architectures.base import Architecture
from sparsetoken.model.architectures.networks import (
    CentredSoftmax,
    DeepSets,
    Elementwise,
    Gated,
    QueryNetwork,
    SelfAttention,
    Softmax,
)
from sparsetoken.model.architectures.own import Network
from sparsetoken.model.architectures.transformer import Transformer
from sparsetoken.model.models import Pooled

__all__ = [
    "Architecture",
    "CentredSoftmax",
    "DeepSets",
    "Elementwise",
    "Gated",
    "Network",
    "Pooled",
    "QueryNetwork",
    "SelfAttention",
    "Softmax",
    "Transformer",
]
__dir__ = __all__.copy
