"""Descents of attention with one query, by the words of the command line."""

import numpy as np

import sparsetoken as st


def attention_descent(
    alpha=2.0,
    steps=12,
    eta_w=1.0,
    eta_q=4.0,
    eta_b=0.5,
    *,
    beta=1.0,
    activation="",
    start_w=0.0,
    start_q=0.0,
    decay_w=0.0,
    decay_q=0.0,
    **more,
):
    """Return the descent of softmax attention or, with an activation, of elementwise attention."""
    network = st.networks.Softmax(beta=beta)
    if activation:
        network = st.networks.Elementwise(activation, beta)
    return st.Descent(
        network,
        alpha,
        steps,
        rates={"q": eta_q, "w": eta_w},
        rate_c=eta_b,
        start={"q": start_q, "w": start_w},
        decay={"q": decay_q, "w": decay_w},
        **more,
    )


def alternating(alpha, steps, eta_w, eta_q, eta_b, **more):
    """Return the descent whose steps move readout and bias, and the query, in turn."""
    even = np.arange(steps) % 2 == 0
    return attention_descent(alpha, steps, eta_w * even, eta_q * ~even, eta_b * even, **more)


def quantities(path):
    """Return what is known of query, readout and bias, over the steps."""
    found = path.columns()
    names = ("test_error", "training_loss", "overlap_w", "overlap_q", "norm_w", "norm_q")
    named = {name: found[name] for name in names}
    named |= {"cosine": found["cosine_q"], "bias": found["weight_b"]}
    return named | {"product_wq": path.weights.gram[..., 0, 1]}
