"""Places worth seeing, each with its story."""

from typing import Any

from sparsetoken import presets

_CURVES, _AWAY = presets.learning_curves("square"), presets.anti_alignment(0.06)

PRESETS: list[dict[str, Any]] = [
    {
        "name": "default",
        "title": "Start: one token in ten",
        "view": "curves",
        "settings": {"alpha0": 1.0, "cosine": 0.9, "sharpness": 1.0, "network_heads": 2},
        "story": "One of ten tokens of a positive bag carries the signal. Mean pooling dilutes it "
        "tenfold; attention finds it. Now move “labels for the query” to the left: with few of "
        "them the query points astray, and mean pooling wins.",
    },
    {
        "name": "paper",
        "title": "Learning curves of the paper",
        "view": "curves",
        "settings": {
            "loss": "square",
            "ridge": _CURVES.readout.ridge,
            "eta_q": _CURVES.query.eta_q,
        },
        "story": "Square loss, almost no ridge. Each curve peaks where there are as many labels as "
        "weights, n₁ = d, and the training set is just fitted exactly; the vectorized model has "
        "L times as many weights. Attention is far below both.",
    },
    {
        "name": "loses",
        "title": "When attention loses",
        "view": "phase",
        "settings": {"length": 5, "informative": 2, "strength": 2.0, "alpha0": 0.3},
        "story": "Two informative tokens in five, weak signal, few labels for the query: the query "
        "points almost anywhere but is sharp, so that attention picks tokens at random. The map "
        "shows where mean pooling wins, and how strong a signal must be for attention.",
    },
    {
        "name": "away",
        "title": "Anti-alignment: rare positives",
        "view": "alignment",
        "settings": {
            "informative": _AWAY.problem.informative,
            "positive_rate": _AWAY.problem.positive_rate,
            "strength": _AWAY.problem.strength,
            "alpha0": _AWAY.query.alpha0,
        },
        "story": "Positives are rare, so the first step of the bias is too small for the class "
        "balance, and the query turns away from the signal. More data make it worse. Raise the "
        "step of the bias, or the rate of positives.",
    },
    {
        "name": "bags",
        "title": "Bags with an effect of their own",
        "view": "curves",
        "settings": {"bag_effect": 1.0},
        "story": "Tokens of a bag share a random shift, as sentences of one author or patches of "
        "one scan do. It goes straight into the mean. The softmax does not see a shift of all "
        "scores: attention still finds the token.",
    },
    {
        "name": "overfit",
        "title": "Training everything at once overfits",
        "view": "descent",
        "settings": {"alpha1": 1.0, "descent_steps": 20},
        "story": "Gradient descent on query, readout and bias together, all steps on the same few "
        "labels. The training loss goes on falling while the test error rises again: theory says "
        "when to stop.",
    },
    {
        "name": "networks",
        "title": "Four networks, one task",
        "view": "networks",
        "settings": {"alpha1": 2.0, "descent_steps": 16},
        "story": "Softmax attention with one query and with several, gated attention and "
        "self-attention of low rank, all weights trained together on as many bags. The list above "
        "the figure chooses what is drawn: errors, losses, or how often a network finds the token.",
    },
]
"""In the order of the page, which starts with the settings of the first."""
