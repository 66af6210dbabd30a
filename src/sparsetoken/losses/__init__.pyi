from .base import Loss as Loss
from .base import Smoothed as Smoothed
from .built_in import get_loss as get_loss
from .custom import CustomLoss as CustomLoss
