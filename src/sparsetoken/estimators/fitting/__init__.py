"""How estimators find their weights: pure functions and frozen records.

Nothing here warns or is a scikit-learn estimator; that is the part of `sparsetoken.estimators`,
which are shells over these functions. In the order in which a fit uses them: `targets` (labels,
numbers and weights, checked), `standard_tokens` (mean tokens and column maxima), `linear_fit`
(readout and ridge), `task` (one problem), `training` (all of them), `folds`, `queries`,
`attention`, `prototypes`, `noisy_or`, `stacking` and `tokens` (probabilities of tokens).
"""
