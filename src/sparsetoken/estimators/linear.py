"""Linear classifiers of bags: of the mean token, and of all tokens side by side."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_mean
from sparsetoken.estimators.base import BagClassifier
from sparsetoken.estimators.parameters import Auto, ClassWeight, auto_or_real
from sparsetoken.fitting.features import BagFeatures
from sparsetoken.fitting.samples import Targets
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.fitting.task import Task
from sparsetoken.losses import Loss
from sparsetoken.validation import InvalidInput


class _LinearClassifier(BagClassifier):
    """A linear classifier of the mean token, whatever the tokens are."""

    def __init__(
        self,
        ridge: float | Auto = "auto",
        loss: Loss | str = "logistic",
        standardize: bool = True,
        class_weight: ClassWeight = None,
        n_tokens: int | None = None,
    ) -> None:
        self.ridge = ridge
        self.loss = loss
        self.standardize = standardize
        self.class_weight = class_weight
        self.n_tokens = n_tokens

    @abc.abstractmethod
    def _rows(self, bags: Bags) -> Bags:
        """Return the bags of which the mean token is classified."""

    def _fit(self, bags: Bags, targets: Targets, loss: Loss) -> None:
        tasks = self._tasks(bags, targets, loss)
        fits = [task.calibrated_fit for task in tasks]
        self._keep_readouts(fits, tasks[0].features.standardization, bags.dtype)

    def _tasks(self, bags: Bags, targets: Targets, loss: Loss) -> list[Task]:
        """Return the task of each class."""
        ridge = auto_or_real("ridge", self.ridge, 0.0, open_low=True)
        rows = self._rows(bags)
        features = BagFeatures(rows, Standardization.of(rows, targets.weight, self.standardize))
        rescale = ridge == "auto" and self.standardize
        return [Task(features, one, loss, ridge, rescale) for one in targets.problems()]

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        rows = self._rows(bags)
        products = rows.tokens @ self._in(bags, self.coef_).T
        return segment_mean(products, rows.offsets) + self._in(bags, self.intercept_)


class PooledLinearClassifier(_LinearClassifier):
    """A linear classifier of the mean token: sign(<w, xbar> + b).

    (w, b) minimise the mean loss plus (ridge/2) |w|^2. More than two classes are fitted one
    against the rest.

    Parameters
    ----------
    ridge : float or "auto"
        > 0, in the scale of the standardised tokens. ``auto`` takes the least leave-one-out loss,
        and with `standardize` the better of two scales: mean tokens divided by their own
        deviations over the bags, or by those of tokens if that gains more than one standard
        error. The scores are then shrunk by the factor of least leave-one-out loss, and their
        threshold is moved where that gains more than one standard error of this loss, as where
        bags of one class vary more: `coef_` and `intercept_` are those of the result.
    loss : str or Loss
        logistic, square, squared_hinge, or hinge (with a ridge that is a number).
    standardize : bool
        Whether each column of the tokens is scaled to mean 0 and variance 1 for the fit.
        ``coef_`` acts on the tokens as given.
    class_weight : dict, "balanced" or None
        Weights of the classes; ``balanced`` lets each class count as much as any other.
    n_tokens : int, optional
        Tokens in each row of a 2-D input; by default a row is one token.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
    intercept_ : array of shape (1,) or (n_classes,)
    ridge_ : array of shape (1,) or (n_classes,)
        The ridge in use, in the scale in use.
    n_bags_ : float
        How many bags it was fitted to: the sum of their sample weights.
    n_features_in_ : int
        d, or n_tokens * d.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.standard_normal((size, 3)) + size % 2 for size in range(1, 40)]
    >>> labels = ["odd" if len(bag) % 2 else "even" for bag in bags]
    >>> PooledLinearClassifier().fit(bags, labels).score(bags, labels) > 0.9
    True
    """

    def _rows(self, bags: Bags) -> Bags:
        return bags

    def token_logits(self, X: Any) -> list[np.ndarray]:
        """Return <x_l, w> + b of each token: arrays (L_i,), or (L_i, n_classes)."""
        bags = self._read(X)
        logits = bags.tokens @ self._in(bags, self.coef_).T + self._in(bags, self.intercept_)
        return self._per_bag(logits, bags)


class VectorizedLinearClassifier(_LinearClassifier):
    """A linear classifier of all tokens side by side: sign(<W, X> + b), W of shape (L, d).

    It has one weight for each position, so that all bags must have the same number of tokens.

    Parameters
    ----------
    ridge : float or "auto"
        > 0, in the scale of the standardised tokens. ``auto`` takes the least leave-one-out loss;
        the scores are then shrunk and their threshold moved as in `PooledLinearClassifier`.
    loss : str or Loss
        logistic, square, squared_hinge, or hinge (with a ridge that is a number).
    standardize : bool
        Whether each column at each position is scaled to mean 0 and variance 1 for the fit.
        ``coef_`` acts on the tokens as given.
    class_weight : dict, "balanced" or None
        Weights of the classes; ``balanced`` lets each class count as much as any other.
    n_tokens : int, optional
        Tokens in each row of a 2-D input; by default a row is one token.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, L * d), or (n_classes, L * d) for more than two classes
    intercept_ : array of shape (1,) or (n_classes,)
    ridge_ : array of shape (1,) or (n_classes,)
        The ridge in use.
    bag_size_ : int
        L.
    n_bags_ : float
        How many bags it was fitted to: the sum of their sample weights.
    n_features_in_ : int
        d, or n_tokens * d.
    """

    def _fit(self, bags: Bags, targets: Targets, loss: Loss) -> None:
        self.bag_size_ = bags.common_size
        super()._fit(bags, targets, loss)

    def _rows(self, bags: Bags) -> Bags:
        """Return bags of one token each, in which the tokens given stand side by side."""
        if self.bag_size_ is None or bags.common_size != self.bag_size_:
            size = self.bag_size_
            legal = f"bags of {size} tokens each" if size else "bags of the same number of tokens"
            sizes = f"{bags.sizes.min()} to {bags.sizes.max()} tokens"
            remedy = (
                "The vectorised classifier has one weight for each position and dimension; "
                "for bags of different sizes take PooledLinearClassifier or AttentionClassifier."
            )
            raise InvalidInput("X", legal, sizes, remedy)
        return Bags(bags.tokens.reshape(len(bags), -1), np.arange(len(bags) + 1))
