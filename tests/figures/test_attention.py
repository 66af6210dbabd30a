import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.markers import CARETDOWN
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsetoken import AttentionClassifier, BagClassifier, BagRegressor
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledClassifier, TokenTransformer
from sparsetoken.figures import AttentionDisplay
from sparsetoken.figures.style import COLOURS

WEIGHTS = [np.array([0.2, 0.7, 0.1]), np.array([1.0]), np.array([0.1, 0.2, 0.3, 0.4])]

PLACES = [np.array([[0, 0], [256, 0], [0, 256]]), np.array([[5.0, 5.0]]), 256 * np.eye(4)[:, :2]]
PLACED = {"coordinates": PLACES}


def _heights(display):
    return [[bar.get_height() for bar in bars] for bars in display.bars_]


def _marks(axes, marker):
    """Return the places of the marks of one kind in an axes."""
    (line,) = [line for line in axes.lines if line.get_marker() == marker]
    return line.get_xdata().tolist()


def test_the_bars_are_the_weights_of_the_classifier(ragged):
    bags, labels = ragged
    model = AttentionClassifier(temperature=2.0, random_state=0).fit(bags, labels)
    display = AttentionDisplay.from_estimator(model, bags[1:5], k=2)
    s, w = model.exponent_[0], model.coef_[0]
    expected = [np.exp(s * (bag @ w)) for bag in bags[1:5]]  # softmax, written out
    # Rounding of two orders of summing.
    for heights, e in zip(_heights(display), expected, strict=True):
        np.testing.assert_allclose(heights, e / e.sum(), atol=1e-12)
    for axes, e in zip(display.axes_, expected, strict=True):
        tops = np.argsort(e)[::-1][: 2 if e.max() >= 1.5 * e.mean() else 0]
        assert _marks(axes, CARETDOWN) == tops.tolist()
    assert display.axes_.shape == (4,)
    assert display.figure_.axes == display.axes_.tolist()


def test_a_pipeline_and_a_search_are_opened(ragged):
    bags, labels = ragged
    pipe = make_pipeline(TokenTransformer(StandardScaler()), AttentionClassifier(random_state=0))
    pipe.fit(bags, labels)
    expected = pipe[-1].attention_weights(pipe[0].transform(bags[:3]))
    search = GridSearchCV(pipe, {"attentionclassifier__ridge": [0.1]}, cv=2).fit(bags, labels)
    refitted = search.best_estimator_
    weights = refitted[-1].attention_weights(refitted[0].transform(bags[:3]))
    for estimator, drawn in ((pipe, expected), (search, weights)):
        display = AttentionDisplay.from_estimator(estimator, bags[:3])
        assert _heights(display) == [w.tolist() for w in drawn]


def test_a_class_of_many_has_its_own_weights():
    rng = np.random.default_rng(1)
    labels = np.array(["a", "b", "c"] * 20)
    bags = rng.standard_normal((60, 5, 3))
    bags[np.arange(60), 2] += 3 * np.eye(3)[np.arange(60) % 3]
    model = AttentionClassifier(temperature=1.0, random_state=0).fit(bags, labels)
    display = AttentionDisplay.from_estimator(model, bags[:2], target="b")
    assert _heights(display) == [w[:, 1].tolist() for w in model.attention_weights(bags[:2])]
    tops = [int(t[0, 1]) for t in model.top_tokens(bags[:2])]
    assert [_marks(axes, CARETDOWN)[0] for axes in display.axes_] == tops
    for target in (None, "d"):
        with pytest.raises(InvalidInput, match="target must be one of the classes a, b, c"):
            AttentionDisplay.from_estimator(model, bags[:2], target=target)


def test_true_tokens_stand_out():
    truth = [[False, True, False], [False], [1, 0, 0, 1]]
    display = AttentionDisplay.from_predictions(WEIGHTS, true_tokens=truth, names=["x", "y", "z"])
    for axes, bars, flags in zip(display.axes_, display.bars_, truth, strict=True):
        colours = [to_hex(bar.get_facecolor()) for bar in bars]
        assert len(set(colours)) == len({bool(flag) for flag in flags})
        own = to_hex(COLOURS["attention"])
        assert [colour != own for colour in colours] == [bool(flag) for flag in flags]
        assert _marks(axes, "o") == np.flatnonzero(flags).tolist()
    assert [axes.get_ylabel() for axes in display.axes_] == ["x", "y", "z"]
    told = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert told == ["attention weight", "top token", "true token", "equal weights"]


def test_names_are_drawn_as_they_are_written(text):
    display = AttentionDisplay.from_predictions(WEIGHTS[:1], names=[text])
    display.figure_.draw_without_rendering()  # a formula that is none would end it
    label = display.axes_[0].get_ylabel()
    assert label.replace("\\$", "$") == text.replace("\ud800", "\\ud800")
    assert label.count("\\$") == text.count("$")


def test_ragged_bags_share_one_scale():
    display = AttentionDisplay.from_predictions(WEIGHTS)
    limits = {(*axes.get_xlim(), *axes.get_ylim()) for axes in display.axes_}
    assert len(limits) == 1
    left, right, bottom, top = limits.pop()
    assert (left, right) == (-0.5, 3.5)
    assert bottom < 0 < 1 < top
    assert [_marks(axes, CARETDOWN) for axes in display.axes_] == [[1], [], [3]]


def test_equal_weights_are_a_line_for_softmax_only():
    display = AttentionDisplay.from_predictions([[0.5, 0.25, 0.25], [0.5, -0.25, 0.75]])
    lines = [axes.collections[0].get_segments()[0] for axes in display.axes_[:1]]
    # One third of a bag of three.
    assert lines[0][:, 1] == pytest.approx([1 / 3, 1 / 3])
    assert not display.axes_[1].collections
    assert display.axes_[1].get_ylim()[0] < -0.25


def test_no_top_tokens_can_be_asked_for(ragged):
    bags, labels = ragged
    model = AttentionClassifier(random_state=0).fit(bags, labels)
    display = AttentionDisplay.from_estimator(model, bags[:2], k=0)
    assert [_marks(axes, CARETDOWN) for axes in display.axes_] == [[], []]
    display.figure_.draw_without_rendering()
    low, high = (axes.get_position() for axes in display.axes_[::-1])
    # The rows fill the figure, but for the legend, the label and the numbers.
    assert low.height + high.height > 0.5


def test_a_regressor_is_drawn_and_has_no_target(ragged):
    bags, _ = ragged
    model = BagRegressor(random_state=0).fit(bags, [float(bag[0, 0]) for bag in bags])
    display = AttentionDisplay.from_estimator(model, bags[:2])
    for bars, w in zip(display.bars_, model.attention_weights(bags[:2]), strict=True):
        assert [bar.get_height() for bar in bars] == w.tolist()
    with pytest.raises(InvalidInput, match="target must be None for a regressor"):
        AttentionDisplay.from_estimator(model, bags[:2], target=1)


def test_two_classes_have_no_target(ragged):
    bags, labels = ragged
    model = AttentionClassifier(random_state=0).fit(bags, labels)
    for target in (*model.classes_, "nowhere"):
        with pytest.raises(InvalidInput, match="target must be None for two classes"):
            AttentionDisplay.from_estimator(model, bags[:2], target=target)


def test_estimators_without_attention_are_refused(ragged):
    bags, labels = ragged
    with pytest.raises(NotFittedError):
        AttentionDisplay.from_estimator(AttentionClassifier(), bags)
    pooled = PooledClassifier().fit(bags, labels)
    with pytest.raises(InvalidInput, match=r"attention_weights.*PooledClassifier"):
        AttentionDisplay.from_estimator(pooled, bags[:2])
    model = AttentionClassifier(random_state=0).fit(bags, labels)
    with pytest.raises(InvalidInput, match=r"k must be an integer >= 0"):
        AttentionDisplay.from_estimator(model, bags[:2], k=-1)
    with pytest.raises(InvalidInput, match="1 to 30 bags; got '60 bags'"):
        AttentionDisplay.from_estimator(model, bags)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"weights": []}, "weights must be of 1 to 30 bags"),
        ({"weights": [[0.5, np.nan]]}, r"weights\[0\] must be a finite array"),
        ({"weights": [[[0.5]]]}, r"weights\[0\] must be a finite array of shape"),
        ({"weights": [[]]}, r"weights\[0\] must be .* L >= 1"),
        ({"top_tokens": [[0]]}, "top_tokens must be of length 3"),
        ({"top_tokens": [[0], [1], [0]]}, r"top_tokens\[1\] must be positions from 0 to 0"),
        ({"top_tokens": [[0.5], [0], [0]]}, r"top_tokens\[0\] must be positions"),
        ({"top_tokens": [[-1], [0], [0]]}, r"top_tokens\[0\] must be positions"),
        ({"true_tokens": [[True]]}, "true_tokens must be of length 3"),
        ({"true_tokens": [[1, 0], [1], [1, 0, 0, 0]]}, r"true_tokens\[0\] must be a bool array"),
        ({"true_tokens": [[2, 0, 0], [1], [1, 0, 0, 0]]}, r"true_tokens\[0\] must be a bool"),
        ({"names": ["a"]}, "names must be of length 3"),
        ({"values": "scores"}, "values must be one of probabilities, weights"),
        (
            {"weights": [[0.5, 1.5]], "values": "probabilities"},
            r"weights\[0\] must be probabilities, in \[0, 1\]; got 'values from 0.5 to 1.5'",
        ),
        ({"scale": "log"}, "scale must be one of linear, rank"),
        (PLACED | {"vmin": 1.0, "vmax": 0.5}, r"numbers, vmin < vmax; got \(1.0, 0.5\)"),
        (PLACED | {"image": [np.zeros(3)] * 3}, r"image\[0\] must be an array of numbers of shape"),
        (PLACED | {"image_scale": [1.0, 0.0, 1.0]}, r"image_scale\[1\] must be a finite number in"),
        (PLACED | {"microns": -1}, "microns must be a finite number in"),
        (
            {"coordinates": True},
            "coordinates must be of length 3, one .* got True",
        ),
    ],
)
def test_bad_input_is_named(wrong, message):
    given = {"weights": WEIGHTS, **wrong}
    with pytest.raises(InvalidInput, match=message):
        AttentionDisplay.from_predictions(given.pop("weights"), **given)


def test_tokens_are_squares_where_they_lie():
    truth = [np.arange(len(w)) == 1 for w in WEIGHTS[:1]] + [np.zeros(1, bool), np.zeros(4, bool)]
    display = AttentionDisplay.from_predictions(WEIGHTS, **PLACED, true_tokens=truth)
    assert (display.bars_, len(display.maps_), display.axes_.shape) == ([], 3, (3,))
    for drawn, w in zip(display.maps_, WEIGHTS, strict=True):
        np.testing.assert_array_equal(drawn.get_array(), w)
    first = display.maps_[0].get_paths()
    np.testing.assert_allclose(first[1].vertices[:4].min(axis=0), [256, 0])
    assert np.ptp(first[1].vertices[:, 0]) == 256  # squares touch one another
    low, high = display.axes_[0].get_ylim()
    assert low > high  # the second coordinate points down, as in pictures
    display.figure_.draw_without_rendering()


FAINT = [np.array([2e-5, 1e-5, 0.0]), np.array([0.6]), np.array([0.3, 0.1, 0.1, 0.1])]


def _frames(axes):
    """Return the number of frames around top tokens of a map, which are drawn last."""
    return len(axes.collections[-1].get_paths())


@pytest.mark.parametrize(
    ("given", "label", "ends", "frames"),
    [
        ({"values": "probabilities"}, "P(token is informative)", (0, 1), [0, 1, 0]),
        ({}, "attention weight", (0, 0.6), [1, 0, 1]),
        ({"vmin": 0.1, "vmax": 0.2, "cmap": "magma"}, "attention weight", (0.1, 0.2), [1, 0, 1]),
        ({"scale": "rank"}, "percentile of tokens in a bag", (0, 100), [1, 0, 1]),
    ],
)
def test_all_maps_have_one_scale_and_one_bar(given, label, ends, frames):
    """A slide with a largest probability of 2e-5 is dark beside one of 0.6."""
    display = AttentionDisplay.from_predictions(FAINT, **PLACED, **given)
    assert {map_.get_clim() for map_ in display.maps_} == {ends}
    assert {map_.get_cmap().name for map_ in display.maps_} == {given.get("cmap", "viridis")}
    (bar,) = set(display.figure_.axes) - set(display.axes_)
    assert bar.get_ylabel() == label
    drawn = [map_.get_array() for map_ in display.maps_]
    ranked = [[100, 200 / 3, 100 / 3], [100], [100, 50, 50, 50]]  # ties share their mean
    for values, expected in zip(drawn, ranked if "scale" in given else FAINT, strict=True):
        np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert [_frames(axes) for axes in display.axes_] == frames


def test_equal_weights_are_dark_and_have_no_frame():
    places = [PLACES[0], PLACES[2]]
    weights = [np.full(3, 1 / 3), np.array([0.25, 0.26, 0.24, 0.25])]
    display = AttentionDisplay.from_predictions(weights, coordinates=places)
    assert {map_.get_clim() for map_ in display.maps_} == {(0, 1)}
    assert [_frames(axes) for axes in display.axes_] == [0, 0]


def test_a_model_that_found_nothing_has_no_top_tokens(ragged):
    bags, labels = ragged
    model = BagClassifier(random_state=0).fit(bags, labels)
    few = [bag for bag, y in zip(bags, labels, strict=True) if y and len(bag) > 3][:2]
    marked = AttentionDisplay.from_estimator(model, few, values="probabilities")
    assert [_marks(axes, CARETDOWN) for axes in marked.axes_] == [[0], [0]]
    model.weights_[1:] = 0  # the class rate alone
    for values in ("weights", "probabilities"):
        display = AttentionDisplay.from_estimator(model, few, values=values)
        assert [_marks(axes, CARETDOWN) for axes in display.axes_] == [[], []]


def test_probabilities_are_those_of_the_classifier(ragged):
    bags, labels = ragged
    model = BagClassifier(random_state=0).fit(bags, labels)
    display = AttentionDisplay.from_estimator(model, bags[:3], values="probabilities")
    assert _heights(display) == [one.tolist() for one in model.predict_token_proba(bags[:3])]
    attention = AttentionClassifier(random_state=0).fit(bags, labels)
    with pytest.raises(InvalidInput, match=r"predict_token_proba.*AttentionClassifier"):
        AttentionDisplay.from_estimator(attention, bags[:2], values="probabilities")


def test_an_image_and_a_scale_bar():
    """At 16 units in a pixel an image of 32 by 48 pixels ends at 768 and 512."""
    image = np.zeros((32, 48, 3), np.uint8)
    display = AttentionDisplay.from_predictions(
        WEIGHTS[:1], coordinates=PLACES[:1], image=[image], image_scale=16, microns=0.5
    )
    (axes,) = display.axes_
    assert axes.images[0].get_extent() == [0, 768, 512, 0]
    # The map is 768 units or 384 microns wide: 100 is the longest of 1, 2, 5 in a third of it.
    (text,) = [one.get_text() for one in axes.artists[0].findobj(Text) if one.get_text()]
    (bar,) = axes.artists[0].size_bar.get_children()
    assert (text, bar.get_width()) == ("100 µm", 200)
    display.figure_.draw_without_rendering()


def test_coordinates_of_all_tokens_are_those_of_each_bag():
    places = np.arange(16.0).reshape(8, 2) ** 2
    whole = AttentionDisplay.from_predictions(WEIGHTS, coordinates=places)
    each = np.split(places, [3, 4])
    one_by_one = AttentionDisplay.from_predictions(WEIGHTS, coordinates=each)
    for a, b in zip(whole.maps_, one_by_one.maps_, strict=True):
        for path, other in zip(a.get_paths(), b.get_paths(), strict=True):
            np.testing.assert_array_equal(path.vertices, other.vertices)
    with pytest.raises(InvalidInput, match="of length 8, one row for each token; got 'length 7'"):
        AttentionDisplay.from_predictions(WEIGHTS, coordinates=places[1:])


def test_a_map_takes_the_coordinates_of_the_bags(ragged):
    from sparsetoken.bags import as_bags

    bags, labels = ragged
    model = AttentionClassifier(temperature=2.0, random_state=0).fit(bags, labels)
    few = as_bags(bags[:2])
    with pytest.raises(InvalidInput, match="coordinates must be True for bags with coordinates"):
        AttentionDisplay.from_estimator(model, few, coordinates=True)
    places = np.arange(2 * len(few.tokens)).reshape(-1, 2)
    placed = type(few)(few.tokens, few.offsets, coordinates=places)
    display = AttentionDisplay.from_estimator(model, placed, coordinates=True)
    for drawn, w in zip(display.maps_, model.attention_weights(few), strict=True):
        np.testing.assert_array_equal(drawn.get_array(), w)
    for given, told in (([places[:1]] * 2, r"coordinates\[0\] must be"), ([], "of length 2")):
        with pytest.raises(InvalidInput, match=told):
            AttentionDisplay.from_estimator(model, placed, coordinates=given)


def test_a_long_name_leaves_room_for_its_map():
    """Matplotlib warns, which is an error here, where it finds no room."""
    display = AttentionDisplay.from_predictions(
        WEIGHTS[:1], coordinates=PLACES[:1], names=["T" * 250]
    )
    display.figure_.draw_without_rendering()
    assert display.axes_[0].get_position().height > 0.2
