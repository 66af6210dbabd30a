"""Bags of one patient are left out together, in every fold and every closed formula."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from small_fits import few_trees
from sparsetoken import AttentionClassifier, BagClassifier, BagRegressor
from sparsetoken.bags import LeakWarning
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import (
    BagPooling,
    NoisyOrClassifier,
    PooledClassifier,
    PooledForestClassifier,
    QueryWarning,
    TokenTransformer,
)
from sparsetoken.estimators.fitting.folds import fold_numbers
from sparsetoken.estimators.fitting.linear_fit import fit_linear, gain
from sparsetoken.estimators.fitting.stacking import LossRisk, shrunk_weights
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import FeatureMatrix


def patients(seed=0, P=30, shift=1.0, each=4):
    """Return bags with a random shift of each patient, labels of patients by chance, patients."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(P), each)
    bags = (
        rng.standard_normal((len(patient), 5, 10))
        + shift * rng.standard_normal((P, 1, 10))[patient]
    )
    return bags, rng.permutation(np.arange(P) % 2)[patient], patient


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
@pytest.mark.parametrize(
    "kind",
    [
        BagClassifier,  # of which the others are members
        AttentionClassifier,
        PooledClassifier,
        NoisyOrClassifier,
        pytest.param(PooledForestClassifier, marks=pytest.mark.slow),
    ],
)
def test_patients_without_a_signal_are_not_told_apart(kind):
    """The labels of new patients are known to one half of them, whatever bags say."""
    losses = []
    for seed in range(3):
        bags, y, patient = patients(seed)
        fitted = kind().fit(bags, y, groups=patient)
        signs = np.where(y == 1, -1, 1)
        losses.append(np.logaddexp(0, signs * fitted.left_out_scores_[:, 0]).mean())
    # Without groups they are .2 to .5; of 90 patients at log 2 the error is below .05.
    assert np.mean(losses) > np.log(2) - 0.1


def test_a_group_scores_its_bags_without_them():
    """The closed formula is a refit to the other groups, to rounding for the square loss."""
    rng, y = np.random.default_rng(0), np.tile([1.0, -1.0], 20)
    F, groups, ones = rng.standard_normal((40, 3)), rng.integers(0, 6, 40), np.ones(40)
    loss, samples = get_loss("square"), Samples(y, ones, ones, groups)
    fit = fit_linear(FeatureMatrix(F), samples, loss, 0.1, 1e-12)
    for group in range(6):
        rest = groups != group
        share = rest.sum() / 40  # the penalty keeps its size when a group is left out
        again = fit_linear(FeatureMatrix(F[rest]), samples.take(rest), loss, 0.1 / share, 1e-12)
        expected = F[~rest] @ again.w + again.b
        np.testing.assert_allclose(fit.left_out_scores[~rest], expected, atol=1e-9)


def slides(seed: int, patients: int):
    """Return two bags of each patient, who share a shift; 6 of 200 tokens of a class differ."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(patients), 2)
    y = patient % 2
    bags = rng.standard_normal((len(y), 200, 32))
    bags += 0.6 * rng.standard_normal((patients, 1, 32))[patient]
    bags[y == 1, :6] += 3.5 / np.sqrt(32)
    return bags, y, patient


def test_a_shift_of_patients_does_not_hide_few_tokens():
    """The mean token moves by 0.1 with the class and by 0.6 with the patient."""
    (bags, y, patient), (test, truth, _) = slides(10, 20), slides(11, 40)
    alone = AttentionClassifier().fit(bags, y, groups=patient)
    # Descents from the mean token alone have an area of 0.3.
    assert roc_auc_score(truth, alone.decision_function(test)) > 0.8
    with few_trees():
        model = BagClassifier(progress=False).fit(bags, y, groups=patient)
    assert model.token_form_ == "centred tokens"
    assert roc_auc_score(truth, model.decision_function(test)) > 0.95
    top = np.array([one[0] for one in model.top_tokens(test[truth == 1])])
    assert (top < 6).mean() > 0.8
    shifted = test + np.linspace(-2, 2, 32)
    place = model.member_names_.index("attention of centred tokens")
    np.testing.assert_allclose(*(model.member_scores(X)[:, place] for X in (test, shifted)))
    first, second = (np.stack(model.predict_token_proba(X)) for X in (test, shifted))
    np.testing.assert_allclose(first, second, atol=1e-10)
    assert first[truth == 1, :6].mean() > 0.4 > 0.1 > first[truth == 1, 6:].mean()


def test_copies_in_a_group_are_one_sample_in_standard_errors():
    rng, y = np.random.default_rng(0), np.tile([1.0, -1.0], 30)
    F = rng.standard_normal((60, 2)) + y[:, None]
    once = np.arange(60)
    loss, gains = get_loss("logistic"), []
    for copies in (1, 3):
        rows = np.repeat(once, copies)
        samples = Samples(y[rows], np.ones(len(rows)), np.ones(len(rows)), rows)
        fits = [fit_linear(FeatureMatrix(F[rows][:, :k]), samples, loss, 0.1) for k in (1, 2)]
        gains.append(gain(*fits[::-1], samples))
    # One Newton step from three copies is one from a sample of three times the weight.
    assert gains[1] == pytest.approx(gains[0], rel=1e-3)


def test_folds_hold_whole_groups_and_every_class_outside_of_them():
    for seed in range(20):
        rng = np.random.RandomState(seed)
        groups = rng.randint(12, size=60)
        y = rng.randint(3, size=60)
        folds = fold_numbers(y, 8, rng, groups)
        assert all(len(set(folds[groups == g])) == 1 for g in np.unique(groups))
        for fold in range(folds.max() + 1):
            assert set(y[folds != fold]) == {0, 1, 2}


def test_folds_of_groups_have_the_class_rate_where_groups_allow_it():
    _, y, patient = patients()
    folds = fold_numbers(y, 10, np.random.RandomState(0), patient)
    assert [np.mean(y[folds == fold]) for fold in range(folds.max() + 1)] == [0.5] * 5


def test_copies_in_a_group_are_one_sample_in_stacking():
    """As bags of their own they would give members that are lucky all of the weight."""
    y, rows, loss = np.tile([1.0, -1.0], 15), np.repeat(np.arange(30), 5), get_loss("logistic")
    members = 0.2 * y[:, None] + np.random.default_rng(1).standard_normal((30, 3))
    scores = np.concatenate([np.zeros((30, 1)), members], axis=1)
    once, copied, apart = (
        shrunk_weights(scores[some], LossRisk(samples_of(y[some], groups), loss))
        for some, groups in ((rows[::5], None), (rows, rows), (rows, None))
    )
    np.testing.assert_allclose(copied, once, atol=1e-6)  # of two searches
    assert once[0] > 0.5
    assert apart[0] < 0.1


def samples_of(y, groups):
    return Samples(y, np.ones(len(y)), np.ones(len(y)), groups)


def test_numbers_of_new_groups():
    rng = np.random.default_rng(0)
    bags, _, patient = patients()
    y = rng.standard_normal(30)[patient]
    with pytest.warns(QueryWarning, match="the constant, which has all weight"):
        fitted = BagRegressor().fit(bags, y, groups=patient)
    left_out = np.mean((fitted.left_out_scores_[:, 0] - y) ** 2)
    # Numbers of patients by chance: no prediction is better than the mean.
    assert left_out > 0.95 * y.var()


def test_groups_are_names_of_any_one_kind():
    bags, y, patient = patients()
    model = PooledClassifier()
    expected = model.fit(bags, y, groups=patient).left_out_scores_
    for names in (list(map(str, patient)), patient.astype(object)):
        assert np.array_equal(model.fit(bags, y, groups=names).left_out_scores_, expected)
    alone = model.fit(bags, y, groups=np.arange(len(y))).left_out_scores_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        assert np.array_equal(model.fit(bags, y).left_out_scores_, alone)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(120), "at least two groups"),
        (np.arange(30), "one for each of 120 bags"),
        ([1, "1"] * 60, "all of one kind"),
        ([None, 1] * 60, "without missing values"),
    ],
)
def test_groups_that_do_not_fit(groups, message):
    bags, y, _ = patients()
    with pytest.raises(InvalidInput, match=message):
        PooledClassifier().fit(bags, y, groups=groups)


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
@pytest.mark.filterwarnings("ignore::sparsetoken.bags.LeakWarning")  # which tells of it
def test_a_class_of_one_group_trains():
    bags, y, _ = patients()
    groups = np.where(y == 1, -1, np.arange(len(y)))
    fitted = AttentionClassifier().fit(bags, y, groups=groups)
    assert np.isfinite(fitted.left_out_scores_).all()


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
def test_members_of_a_user_receive_the_groups():
    """Patients without a signal, whom a member that knows no groups tells apart."""
    bags, y, patient = patients(0)
    plain, piped = AttentionClassifier(), make_pipeline(BagPooling(), PooledClassifier())
    with few_trees():
        model = BagClassifier([("own", plain), ("piped", piped)], progress=False)
        model.fit(bags, y, groups=patient)
    own = model.members_["own"]
    assert own.n_groups_ == model.members_["piped"][-1].n_groups_ == len(np.unique(patient))
    expected = AttentionClassifier().fit(bags, y, groups=patient)
    np.testing.assert_array_equal(own.left_out_scores_, expected.left_out_scores_)


def test_weights_of_zero_take_their_groups_along():
    bags, y, patient = patients()
    weight = (patient < 20).astype(float)
    fitted = PooledClassifier().fit(bags, y, sample_weight=weight, groups=patient)
    part = patient < 20
    alone = PooledClassifier().fit(bags[part], y[part], groups=patient[part])
    assert np.array_equal(fitted.left_out_scores_, alone.left_out_scores_)


def test_scikit_learn_routes_groups():
    """A spy in place of the fit: cross_validate and pipelines hand the part of each fold on."""
    bags, y, patient = patients()
    seen = []

    class Spy(PooledClassifier):
        def fit(self, X, y, *, sample_weight=None, groups=None):
            seen.append(groups)
            return super().fit(X, y, sample_weight=sample_weight, groups=groups)

    with sklearn.config_context(enable_metadata_routing=True):
        alone = Spy().set_fit_request(groups=True)
        for model in (alone, make_pipeline(TokenTransformer(StandardScaler()), alone)):
            seen.clear()
            cross_validate(model, bags, y, cv=GroupKFold(3), params={"groups": patient})
            parts = [set(part.tolist()) for part in seen]
            assert sorted(map(len, parts)) == [20, 20, 20]
            assert set.union(*parts) == set(range(30))
