"""The classifier of approximate attention, with a function of each score for the softmax."""

from __future__ import annotations

from sparsetoken.attention import ACTIVATIONS
from sparsetoken.estimators.parameters import Activation, Auto, ClassWeight, RandomState, Training
from sparsetoken.estimators.query_classifier import QueryClassifier
from sparsetoken.fitting.training import Options
from sparsetoken.losses import Loss
from sparsetoken.validation import InvalidInput, choice


class ElementwiseAttentionClassifier(QueryClassifier):
    """A linear classifier of X^T phi(X q) / L, where phi acts on each token by itself.

    Weights do not add up to 1, and a token weighs the same in whatever bag it is. Tokens are
    centred if `standardize` is set, also those that are averaged:
    the score is sum_l a_l (<x_l, coef_> + token_offset_) + intercept_.

    Parameters
    ----------
    activation : str
        erf (1 + erf), sigmoid, tanh, relu, linear (1 + x) or exp; scores of exp are cut at 40.
    training : str
        ``tied``, ``cross_fit``, ``four_stage`` or ``reuse``, as for `AttentionClassifier`.
    temperature : float or "auto"
        As for `AttentionClassifier`. At sharpness 0 all weights are phi(0) / L: mean pooling, or
        nothing for relu and tanh. Bags of one token get sharpness 0, except with those two.
    split, ridge, loss, step_sizes, n_folds, standardize, class_weight, n_tokens, random_state
        As for `AttentionClassifier`.

    Attributes
    ----------
    token_offset_ : array of shape (K,)
    classes_, query_, query_offset_, coef_, intercept_, sharpness_, query_kind_, ridge_, evidence_
    attention_pvalue_, signal_pvalue_, token_range_
        As for `AttentionClassifier`.
    n_features_in_ : int
        d, or n_tokens * d.
    """

    def __init__(
        self,
        activation: Activation = "erf",
        training: Training = "tied",
        temperature: float | Auto = "auto",
        split: float | Auto = "auto",
        ridge: float | Auto = "auto",
        loss: Loss | str = "logistic",
        step_sizes: tuple[float, float, float] = (0.5, 0.5, 1.0),
        n_folds: int = 8,
        standardize: bool = True,
        class_weight: ClassWeight = None,
        n_tokens: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.activation = activation
        self.training = training
        self.temperature = temperature
        self.split = split
        self.ridge = ridge
        self.loss = loss
        self.step_sizes = step_sizes
        self.n_folds = n_folds
        self.standardize = standardize
        self.class_weight = class_weight
        self.n_tokens = n_tokens
        self.random_state = random_state

    @property
    def _activation(self) -> str:
        return self.activation

    def _options(self, loss: Loss) -> Options:
        choice("activation", self.activation, ACTIVATIONS)
        if self.training in ("joint", "likelihood"):
            remedy = "AttentionClassifier has it."
            raise InvalidInput("training", "another than this", self.training, remedy)
        return super()._options(loss)
