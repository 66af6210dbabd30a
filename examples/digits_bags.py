"""Is there a zero among these digits? Attention against linear models, as bags grow.

A bag is a set of handwritten digits, a token the 64 pixels of one. Positive bags hold exactly
one zero, the others none. Beside the test errors stand those that the theory predicts for
Gaussian tokens of the same number, strength and dimension, and those measured on such tokens.

    python examples/digits_bags.py --out digits_bags.png
"""

import argparse
import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import sparsetoken as st
from sparsetoken import AttentionClassifier, SparseTokenProblem
from sparsetoken.estimators import (
    PooledClassifier,
    TokenTransformer,
    VectorizedLinearClassifier,
)
from sparsetoken.figures.style import COLOURS, styled

# Tokens are white already: scaled once more, the columns that carry the signal would shrink.
CLASSIFIERS = {
    "attention": AttentionClassifier(standardize=False, random_state=0),
    "pooled": PooledClassifier(standardize=False),
    "vectorized": VectorizedLinearClassifier(standardize=False),
}


def main():
    args = read_arguments()
    pixels, digits = load_digits(return_X_y=True)
    strength, dimension = match(pixels, digits, args.digit)
    print(
        f"{args.n_train} training bags, half of them with one {args.digit}. "
        f"Theory: strength {strength:.2f}, d = {dimension}."
    )

    def digit_bags(length, rng):
        half = np.array_split(rng.permutation(len(pixels)), 2)  # no image in both
        (train, y), (test, y_test) = (
            draw_bags(pixels[part], digits[part], args.digit, n, length, rng)
            for part, n in zip(half, (args.n_train, args.n_test), strict=True)
        )
        white = whitener(train[y == 0])  # on noise alone, as in the theory
        return (white.transform(train), y), (white.transform(test), y_test)

    def gaussian_bags(length, rng):
        problem = SparseTokenProblem(length, informative=1, strength=strength)
        signal = rng.standard_normal(dimension)
        signal /= np.linalg.norm(signal)
        return [problem.sample(n, signal, rng) for n in (args.n_train, args.n_test)]

    digit_errors = measure(digit_bags, args)
    gaussian_errors = measure(gaussian_bags, args)
    predicted = {model: predict(model, strength, dimension, args) for model in CLASSIFIERS}
    print_table(digit_errors, gaussian_errors, predicted, args.lengths)
    draw(digit_errors, gaussian_errors, predicted, args).savefig(args.out, dpi=120)
    print(f"picture: {args.out}")


def whitener(bags):
    """Return a fitted transformer to tokens of variance 1 in every direction where there is ink."""
    tokens = bags.reshape(-1, bags.shape[-1])
    variances = PCA().fit(tokens).explained_variance_
    inked = int(np.count_nonzero(variances > 1e-3 * variances[0]))
    return TokenTransformer(PCA(inked, whiten=True), max_tokens=len(tokens)).fit(bags)


def match(pixels, digits, digit):
    """Return strength and dimension of the sparse-token problem that resembles the digits.

    Its strength is the distance between the mean image of the digit and the mean image of the
    others, in pixels whitened on the others.
    """
    white = whitener(pixels[digits != digit][None])
    gap = white.transform(pixels[digits == digit][None]).tokens.mean(axis=0)
    return float(np.linalg.norm(gap)), len(gap)


def draw_bags(pixels, digits, digit, n, length, rng):
    """Return n bags (n, length, 64), every second one with one `digit`, and their labels."""
    labels = np.arange(n) % 2
    picked = rng.choice(np.flatnonzero(digits != digit), (n, length))
    picked[labels == 1, 0] = rng.choice(np.flatnonzero(digits == digit), n // 2)
    return pixels[rng.permuted(picked, axis=1)], labels


def measure(draw_pair, args):
    """Return test errors: model -> array (lengths, draws)."""
    errors = {model: np.empty((len(args.lengths), args.draws)) for model in CLASSIFIERS}
    for row, length in enumerate(args.lengths):
        for repeat in range(args.draws):
            rng = np.random.default_rng([args.seed, length, repeat])
            train, test = draw_pair(length, rng)
            for model, classifier in CLASSIFIERS.items():
                fitted = clone(classifier).fit(*train)
                errors[model][row, repeat] = 1 - fitted.score(*test)
            progress(f"length {length}, draw {repeat + 1} of {args.draws}")
    progress("")
    return errors


def predict(model, strength, dimension, args):
    """Return the predicted test error at each length, at the best ridge and sharpness."""
    readout = st.Readout(ridge=[0.01, 0.1, 1.0], alpha1=args.n_train / dimension)
    least = []
    for L in args.lengths:
        problem = SparseTokenProblem(L, informative=1, strength=strength)
        models = [st.Vectorized()] if model == "vectorized" else [st.Pooled()]
        if model == "attention":  # with the query of two steps, or mean pooling
            cosine = st.align(problem, st.TwoSteps(alpha0=readout.alpha1)).cosine
            models += [st.Attention(st.Query(cosine, k)) for k in (1.0, 2.0, 4.0)]
        found = [st.predict(problem, one, readout, tolerance=5e-3) for one in models]
        least.append(np.nanmin([one.test_error for one in found]))
    return least


def progress(text):
    print(f"\r{text:<40}\r", end="", file=sys.stderr, flush=True)


def print_table(digit_errors, gaussian_errors, predicted, lengths):
    print("Test error on digits and on Gaussian tokens (standard errors), and predicted for these.")
    print("length" + "".join(f"{model:>35}" for model in predicted))
    for row, length in enumerate(lengths):
        cells = [
            f"{told(digit_errors[model][row])} {told(gaussian_errors[model][row])} {line[row]:.3f}"
            for model, line in predicted.items()
        ]
        print(f"{length:>6}" + "".join(f"{cell:>35}" for cell in cells))


def told(errors):
    return f"{errors.mean():.3f} ({standard_error(errors):.3f})"


def standard_error(errors):
    return errors.std(axis=-1, ddof=1) / np.sqrt(errors.shape[-1])


def draw(digit_errors, gaussian_errors, predicted, args):
    with styled():
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(9, 3.9), sharex=True, sharey=True, layout="constrained"
        )
        for model, line in predicted.items():
            points = {"color": COLOURS[model], "capsize": 3}
            for axes, errors, marks in (
                (left, digit_errors[model], "o--"),
                (right, gaussian_errors[model], "o"),
            ):
                bars = standard_error(errors)
                axes.errorbar(args.lengths, errors.mean(axis=1), bars, fmt=marks, **points)
            right.plot(args.lengths, line, color=COLOURS[model], label=model)
        left.set_title(f"digits: is there a {args.digit}?", loc="left")
        right.set_title("Gaussian tokens: measured (points), predicted (lines)", loc="left")
        left.set(ylabel="test error", xscale="log", ylim=(0, 0.54))
        left.set_xticks(args.lengths, map(str, args.lengths))
        left.minorticks_off()
        for axes in (left, right):
            axes.axhline(0.5, color="black", lw=0.8, ls=":")
            axes.set_xlabel("tokens in a bag, at most one informative")
        figure.legend(loc="outside upper center", ncols=3)
    return figure


def read_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument(
        "--digit",
        type=int,
        default=0,
        choices=range(10),
        help="the digit that makes a bag positive",
    )
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=[5, 10, 20, 50, 100, 200], help="tokens in a bag"
    )
    parser.add_argument("--n-train", type=int, default=400, help="bags to train with")
    parser.add_argument("--n-test", type=int, default=500, help="bags to test with")
    parser.add_argument("--draws", type=int, default=5, help="repetitions with new bags")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn")
    parser.add_argument("--out", default="digits_bags.png", help="the picture")
    return parser.parse_args()


if __name__ == "__main__":
    main()
