"""Stories: places worth seeing, with steps from one to the next.

A story has ``settings`` and a ``view`` to start from, a ``grid`` of the values at which its sliders
stop on the page without a server, and ``steps``. A step says what to ``do``, holds the values that
this gives in ``set``, and holds in ``see`` words that then stand on the page. Settings add up from
step to step. Between ``$`` stand letters of formulas.
"""

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
        "tenfold; attention finds it, if its query was trained on enough labels.",
        "grid": {
            "length": (5, 10, 20),
            "informative": (1, 2),
            "strength": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
            "alpha0": (0.05, 0.1, 0.2, 0.3, 1.0, 3.0),
        },
        "steps": [
            {
                "do": "Read the sentence above the curves.",
                "set": {},
                "see": ["mean pooling 29%: attention wins"],
            },
            {
                "do": "Move “labels for the query” to $α₀$ = 0.05: the query points astray.",
                "set": {"alpha0": 0.05},
                "see": ["cosine 0.14", "mean pooling wins"],
            },
            {
                "do": "Move it to $α₀$ = 0.2: it is half aligned, and that is enough.",
                "set": {"alpha0": 0.2},
                "see": ["cosine 0.46", "attention wins"],
            },
            {
                "do": "Move it to 1, and “tokens in a bag” to $L$ = 20: both models get worse.",
                "set": {"alpha0": 1.0, "length": 20},
                "see": ["mean pooling 37%: attention wins"],
            },
        ],
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
        "weights, $n₁ = d$, and the training set is just fitted exactly; the vectorized model has "
        "$L$ times as many weights, and its peak lies at $n₁ = L d$.",
        "grid": {"ridge": (1e-5, 1e-3, 0.01, 0.1, 1.0), "alpha0": (0.3, 1.0, 3.0)},
        "steps": [
            {
                "do": "Move “labels for the readout” to the peak, $α₁$ = 1.",
                "set": {"alpha1": 1.0},
                "see": ["attention misjudges 42%", "mean pooling 47%"],
            },
            {
                "do": "Move them on to $α₁$ = 4, beyond the peak.",
                "set": {"alpha1": 4.0},
                "see": ["mean pooling 28%: attention wins"],
            },
            {
                "do": "Go back to $α₁$ = 1 and raise the ridge to $λ$ = 1: the peak is gone.",
                "set": {"alpha1": 1.0, "ridge": 1.0},
                "see": ["mean pooling 31%: attention wins"],
            },
        ],
    },
    {
        "name": "loses",
        "title": "When attention loses",
        "view": "phase",
        "settings": {"length": 5, "informative": 2, "strength": 2.0, "alpha0": 0.3},
        "story": "Two informative tokens in five, weak signal, few labels for the query: the query "
        "points almost anywhere but is sharp, so that attention picks tokens at random. The map "
        "shows who wins; the ring is where you are.",
        "grid": {
            "strength": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0),
            "alpha0": (0.05, 0.1, 0.3, 1.0, 3.0, 10.0),
        },
        "steps": [
            {
                "do": "Look where the ring is.",
                "set": {},
                "see": ["cosine 0.25", "mean pooling wins"],
            },
            {
                "do": "Raise the signal to $θ$ = 4: the ring crosses the border.",
                "set": {"strength": 4.0},
                "see": ["cosine 0.75", "attention wins"],
            },
            {
                "do": "Go back to $θ$ = 2, and give the query more labels, $α₀$ = 3.",
                "set": {"strength": 2.0, "alpha0": 3.0},
                "see": ["cosine 0.81", "attention wins"],
            },
        ],
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
        "balance, and the query turns away from the signal.",
        "grid": {
            "positive_rate": (0.06, 0.2, 0.5),
            "alpha0": (0.1, 0.5, 2.0, 10.0, 50.0),
            "eta_b": (0.5, 2.0, 5.0, 10.0),
        },
        "steps": [
            {
                "do": "Read the cosine of the query.",
                "set": {},
                "see": ["cosine -0.14", "turns away from the signal"],
            },
            {
                "do": "Give the query more labels, $α₀$ = 10: it is worse.",
                "set": {"alpha0": 10.0},
                "see": ["cosine -0.31"],
            },
            {
                "do": "Raise the step size of the bias to $η_b$ = 10: the query turns back.",
                "set": {"eta_b": 10.0},
                "see": ["cosine 0.55"],
            },
            {
                "do": "Undo that, and make positives as frequent as negatives, $π$ = 0.5.",
                "set": {"alpha0": 2.0, "eta_b": 0.5, "positive_rate": 0.5},
                "see": ["cosine 0.80", "attention wins"],
            },
        ],
    },
    {
        "name": "bags",
        "title": "Bags with an effect of their own",
        "view": "curves",
        "settings": {"bag_effect": 1.0},
        "story": "Tokens of a bag share a random shift, as sentences of one author or patches of "
        "one scan do. It goes straight into the mean. The softmax does not see a shift of all "
        "scores.",
        "grid": {"bag_effect": (0.0, 1.0, 2.0, 4.0), "alpha0": (0.3, 1.0, 3.0)},
        "steps": [
            {
                "do": "Compare the two models.",
                "set": {},
                "see": ["mean pooling 48%: attention wins"],
            },
            {
                "do": "Move the effect to $c$ = 4: the mean is worth nothing.",
                "set": {"bag_effect": 4.0},
                "see": ["mean pooling 49%: attention wins"],
            },
            {
                "do": "Move it to $c$ = 0.",
                "set": {"bag_effect": 0.0},
                "see": ["mean pooling 29%: attention wins"],
            },
        ],
    },
    {
        "name": "overfit",
        "title": "Training everything at once overfits",
        "view": "descent",
        "settings": {"alpha1": 1.0, "descent_steps": 20},
        "story": "Gradient descent on query, readout and bias together, all steps on the same few "
        "labels. The training loss goes on falling while the test error rises again.",
        "grid": {"length": (5, 10), "strength": (3.0, 5.0), "alpha1": (1.0, 2.0, 4.0)},
        "steps": [
            {
                "do": "Read where to stop.",
                "set": {},
                "see": ["least after step 8", "rises to 15%"],
            },
            {
                "do": "Give it more labels, $α₁$ = 4.",
                "set": {"alpha1": 4.0},
                "see": ["least after step 8", "rises to 11%"],
            },
            {
                "do": "Weaken the signal to $θ$ = 3: the best step comes later.",
                "set": {"strength": 3.0},
                "see": ["least after step 10", "rises to 29%"],
            },
        ],
    },
    {
        "name": "networks",
        "title": "Four networks, one task",
        "view": "networks",
        "settings": {"alpha1": 2.0, "descent_steps": 16},
        "story": "Softmax attention with one query and with several, gated attention and "
        "self-attention of low rank, all weights trained together on as many bags.",
        "grid": {"strength": (3.0, 5.0), "alpha1": (2.0, 4.0)},
        "steps": [
            {
                "do": "Compare the least errors under the figure.",
                "set": {},
                "see": ["softmax, one query 13%", "softmax, several heads 10%"],
            },
            {
                "do": "Choose “share of bags …” above the figure: how often each finds the token.",
                "set": {},
                "quantity": "attended",
                "see": ["several heads 0.90", "gated attention 0.84"],
            },
        ],
    },
]
"""In the order of the page, which starts with the settings of the first."""
