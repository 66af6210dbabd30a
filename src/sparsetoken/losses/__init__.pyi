from .base import Loss as Loss
from .base import Smoothed as Smoothed
from .built_in import SquareLoss as SquareLoss
from .built_in import get_loss as get_loss
from .custom import CustomLoss as CustomLoss
from .hinge import HingeLoss as HingeLoss
from .hinge import SquaredHingeLoss as SquaredHingeLoss
from .logistic import LogisticLoss as LogisticLoss
