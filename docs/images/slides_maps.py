"""Draw slides_maps.png: probabilities of patches in slides that look like tissue.

    python docs/images/slides_maps.py

Slides are simulated: a patch has 8 features, and in slides with a tumour those of one focus are
moved. The model has seen 80 other slides, and of each only whether it has a tumour.
"""

import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads are slower on busy cores

import matplotlib as mpl
import numpy as np
from scipy.ndimage import gaussian_filter, zoom

import sparsetoken as st
from sparsetoken.bags import Bags
from sparsetoken.figures import AttentionDisplay

HERE = Path(__file__).parent
CELLS, TILE, PIXELS, MICRONS = 26, 256, 6, 0.5  # cells of a side, and pixels of each in the image
TISSUE, PALE = np.array([225, 150, 185]), np.array([246, 243, 246])


def field(rng, size, smooth):
    """Return a smooth random field of mean 0 and standard deviation 1."""
    noise = gaussian_filter(rng.standard_normal((size, size)), smooth)
    return (noise - noise.mean()) / noise.std()


def slide(rng, tumour):
    """Return features and corners of the patches with tissue, the focus, and a small image."""
    y, x = np.mgrid[:CELLS, :CELLS] / (CELLS - 1) * 2 - 1
    depth = 0.8 - x**2 - 1.6 * y**2 + 0.35 * field(rng, CELLS, 3)
    cells = np.argwhere(depth > 0)
    features = 0.3 * rng.standard_normal(8) + rng.standard_normal((len(cells), 8))
    centre = cells[rng.integers(len(cells))]
    focus = tumour & (((cells - centre) ** 2).sum(axis=1) <= 5)
    features[focus, :2] += 3.0
    edge = 1 / (1 + np.exp(-20 * zoom(depth, PIXELS, order=1, grid_mode=True, mode="nearest")))
    edge *= 1 + 0.12 * field(rng, CELLS * PIXELS, 2)
    image = PALE + edge[..., None] * (TISSUE - PALE)
    return features, TILE * cells[:, ::-1], focus, image.clip(0, 255).astype(np.uint8)


rng = np.random.default_rng(0)
labels = np.arange(86) % 2
slides = [slide(rng, tumour=label == 1) for label in labels]
bags = st.bags.as_bags([features for features, *_ in slides])
model = st.BagClassifier(progress=False).fit(bags[:80], labels[:80])
shown = [81, 83, 85, 80, 82, 84]
new = [slides[i] for i in shown]
placed = Bags(
    np.concatenate([features for features, *_ in new]),
    np.cumsum([0, *(len(features) for features, *_ in new)]),
    coordinates=np.concatenate([corners for _, corners, *_ in new]),
)
mpl.use("Agg")
chances = model.predict_proba(placed)[:, 1]
kinds = ["tumour" if labels[i] else "normal" for i in shown]
display = AttentionDisplay.from_estimator(
    model,
    placed,
    values="probabilities",
    coordinates=True,
    true_tokens=[focus for _, _, focus, _ in new],
    names=[f"{kind}, P(tumour) = {p:.2f}" for kind, p in zip(kinds, chances, strict=True)],
    image=[image for *_, image in new],
    image_scale=TILE / PIXELS,
    microns=MICRONS,
)
display.figure_.savefig(HERE / "slides_maps.png", dpi=130)
