"""Tables as they are: words, gaps, dates, truth values and sparse columns, from pandas, polars and arrays."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from marginwise import MarginSVC, TunedSVC, load_model, save_model
from marginwise.errors import InvalidInputError, NothingLearntWarning, TableWarning
from marginwise.estimators._tables import MOST_BYTES
from marginwise.kernels import RBF, Constant

pytestmark = pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning")

FEW = {"ard": 0, "max_evaluations": 15, "random_state": 0}
RNG = np.random.default_rng(0)
N = 90
COLOUR = RNG.choice(["red", "green", "blue"], N)
SIZE = RNG.normal(size=N)
Y = np.where((COLOUR == "red") * 2.0 - 1.0 + SIZE + 0.3 * RNG.normal(size=N) > 0, "yes", "no")
FRAME = pd.DataFrame({"colour": COLOUR, "size": SIZE})


def gappy(share: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    words = np.where(rng.random(N) < share, None, COLOUR)
    return pd.DataFrame({"colour": words, "size": np.where(rng.random(N) < share, np.nan, SIZE)})


def words_of(table: pd.DataFrame) -> list[str | None]:
    return [None if word != word or word is None else word for word in table["colour"]]


def objects(table: pd.DataFrame) -> np.ndarray:
    return table.astype(object).to_numpy()


@pytest.fixture(scope="module")
def model() -> TunedSVC:
    return TunedSVC(**FEW).fit(FRAME, Y)


@pytest.fixture(scope="module")
def with_gaps() -> TunedSVC:
    return TunedSVC(**FEW).fit(gappy(), Y)


@pytest.mark.parametrize(
    "table",
    [
        FRAME.astype({"colour": "category"}),
        FRAME.astype({"colour": "string"}),
        FRAME.astype({"colour": object}),
        pl.DataFrame({"colour": COLOUR, "size": SIZE}),
        pl.DataFrame({"colour": pl.Series(COLOUR, dtype=pl.Categorical), "size": SIZE}),
        pl.DataFrame({"colour": pl.Series(COLOUR, dtype=pl.Enum(["blue", "red", "green"])), "size": SIZE}),
        objects(FRAME),
        objects(FRAME).tolist(),
    ],
    ids=["category", "string", "object", "polars", "polars categorical", "polars enum", "array", "lists"],
)
def test_the_same_model_whatever_holds_the_table(model: TunedSVC, table) -> None:
    other = TunedSVC(**FEW).fit(table, Y)
    np.testing.assert_array_equal(other.predict_proba(table), model.predict_proba(FRAME))
    assert other.feature_importances_.shape == (2,)


@pytest.mark.parametrize(
    "table",
    [
        gappy().assign(colour=gappy()["colour"].astype("category"), size=gappy()["size"].astype("Float64")),
        gappy().assign(colour=gappy()["colour"].astype("string")),
        pl.DataFrame({"colour": words_of(gappy()), "size": gappy()["size"].tolist()}),
        objects(gappy()),
    ],
    ids=["nullable", "string", "polars", "array"],
)
def test_gaps_are_gaps_whatever_holds_them(with_gaps: TunedSVC, table) -> None:
    other = TunedSVC(**FEW).fit(table, Y)
    np.testing.assert_array_equal(other.predict_proba(table), with_gaps.predict_proba(gappy()))


def test_a_category_has_one_length_scale_and_one_relevance() -> None:
    model = TunedSVC(0.5, max_evaluations=20, random_state=0).fit(FRAME, Y)
    assert model.hyperparameters_.names[-2:] == ("l_1", "l_2")
    assert model.length_scales_.shape == model.feature_importances_.shape == (2,)
    assert (model.feature_importances_ > 0.05).all()
    assert model.score(FRAME, Y) > 0.85


def test_a_category_is_a_factor_of_equal_or_not(model: TunedSVC) -> None:
    """All pairs of different colours are at one distance, also from one never seen; total variance is 1."""
    cells = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    Z = model._encoding(cells)
    distances = ((Z[:, None] - Z) ** 2).sum(axis=2)
    p = np.unique(COLOUR, return_counts=True)[1] / N
    assert model._encoding.columns == (0, 0, 0, 0, 1)
    np.testing.assert_allclose(distances, 2.0 / (1.0 - p @ p) * (1.0 - np.eye(4)), atol=1e-12)
    inputs = model._encoding(model._cells(FRAME))[:, :4]
    np.testing.assert_allclose(inputs.mean(axis=0), 0.0, atol=1e-12)
    assert inputs.var(axis=0).sum() == pytest.approx(1.0)


def test_a_gap_is_as_far_from_each_cell_as_the_column_on_average(with_gaps: TunedSVC) -> None:
    cells = with_gaps._cells(gappy())[:, 1]
    known = cells[~np.isnan(cells)]
    z = with_gaps._encoding(np.column_stack([np.zeros(N), cells]))[:, -2:]
    gap = z[np.isnan(cells)][0]
    np.testing.assert_allclose(gap, [0.0, 1.0])
    scaled = (known - known.mean()) / known.std()
    here = ((z[~np.isnan(cells)] - gap) ** 2).sum(axis=1)
    np.testing.assert_allclose(here, [((scaled - x) ** 2).mean() for x in scaled])


def test_values_never_seen_bring_variance(model: TunedSVC) -> None:
    new = pd.DataFrame({"colour": ["red", "purple", "mauve"], "size": [0.0, 0.0, 0.0]})
    mean, variance = model.latent_mean_and_variance(new)
    assert variance[1] > variance[0]
    np.testing.assert_allclose([mean[1], variance[1]], [mean[2], variance[2]], rtol=1e-12)
    probability = model.predict_proba(new)[:, 1]
    assert abs(probability[1] - 0.5) < abs(probability[0] - 0.5)


@pytest.mark.parametrize("trained_on_gaps", [False, True])
def test_probabilities_widen_where_cells_are_missing(model, with_gaps, trained_on_gaps: bool) -> None:
    fitted = with_gaps if trained_on_gaps else model
    sure = fitted.predict_proba(FRAME).max(axis=1).mean()
    for missing in ({"size": np.nan}, {"colour": None}, {"colour": None, "size": np.nan}):
        assert fitted.predict_proba(FRAME.assign(**missing)).max(axis=1).mean() < sure - 0.02


def test_gaps_in_columns_without_any_in_training_are_averaged_over(model: TunedSVC) -> None:
    row = FRAME.iloc[[0]]
    donors = model._encoding.donors[:, 1]
    filled = pd.concat([row.assign(size=value) for value in donors])
    gap = row.assign(size=np.nan)
    np.testing.assert_allclose(model.predict_proba(gap)[0], model.predict_proba(filled).mean(axis=0))
    means, variances = model.latent_mean_and_variance(filled)
    mean, variance = model.latent_mean_and_variance(gap)
    assert mean[0] == pytest.approx(means.mean())
    assert variance[0] == pytest.approx(variances.mean() + means.var())
    p = model.predict_proba(gap)[0, 1]
    assert model.decision_function(gap)[0] == pytest.approx(np.log(p / (1 - p)))
    both = pd.concat([row, gap, row])
    np.testing.assert_allclose(
        model.predict_proba(both)[[0, 2]], model.predict_proba(pd.concat([row, row])), rtol=1e-12
    )


def test_donors_do_not_depend_on_the_order_of_rows(model: TunedSVC) -> None:
    order = np.random.default_rng(3).permutation(N)
    other = TunedSVC(**FEW).fit(FRAME.iloc[order], Y[order])
    gap = FRAME.assign(size=np.nan)
    np.testing.assert_allclose(other.predict_proba(gap), model.predict_proba(gap), atol=1e-12)


def test_which_columns_are_categories_can_be_said() -> None:
    codes = np.column_stack([np.unique(COLOUR, return_inverse=True)[1], SIZE])
    ways = [[0], [True, False], np.array([0]), np.array([True, False])]
    probabilities = [TunedSVC(**FEW, categorical_features=way).fit(codes, Y).predict_proba(codes) for way in ways]
    for probability in probabilities[1:]:
        np.testing.assert_array_equal(probability, probabilities[0])
    named = pd.DataFrame(codes, columns=["colour", "size"])
    by_name = TunedSVC(**FEW, categorical_features=["colour"]).fit(named, Y).predict_proba(named)
    np.testing.assert_array_equal(by_name, probabilities[0])
    as_number = TunedSVC(**FEW, categorical_features=None).fit(codes, Y).predict_proba(codes)
    assert np.abs(as_number - by_name).max() > 0.005


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("colour", "categorical_features is 'colour'"),
        (["shape"], "'shape'.*the columns are colour, size"),
        ([2], "categorical_features is 2"),
        ([True], "1 truth values"),
        ([1], "column 'colour' holds words"),
        (None, "column 'colour' holds words"),
    ],
)
def test_categories_that_are_none(said, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        TunedSVC(**FEW, categorical_features=said).fit(FRAME, Y)


def test_ordered_categories_keep_their_order() -> None:
    levels = ["low", "middle", "high"]
    codes = RNG.integers(0, 3, N)
    frame = FRAME.assign(level=pd.Categorical.from_codes(codes, levels, ordered=True))
    numbers = FRAME.assign(level=codes.astype(float))
    model = TunedSVC(**FEW).fit(frame, Y)
    expected = TunedSVC(**FEW).fit(numbers, Y).predict_proba(numbers)
    np.testing.assert_array_equal(model.predict_proba(frame), expected)
    np.testing.assert_array_equal(model.predict_proba(frame.assign(level=frame["level"].astype(str))), expected)
    with pytest.raises(InvalidInputError, match="column 'level' holds 'top', which has no place among 'low'"):
        model.predict(frame.assign(level="top"))


def test_truth_values_are_numbers() -> None:
    red = COLOUR == "red"
    as_bool = TunedSVC(**FEW).fit(pd.DataFrame({"red": red, "size": SIZE}), Y)
    as_number = TunedSVC(**FEW).fit(np.column_stack([red, SIZE]), Y)
    X = np.column_stack([red, SIZE])
    np.testing.assert_array_equal(
        as_bool.predict_proba(pd.DataFrame({"red": red, "size": SIZE})), as_number.predict_proba(X)
    )


@pytest.mark.parametrize("kind", ["pandas", "with zone", "objects", "polars"])
def test_dates_are_days_with_a_remark(kind: str) -> None:
    days = RNG.integers(0, 400, N)
    dates = [datetime.date(2024, 1, 1) + datetime.timedelta(int(day)) for day in days]
    series = pd.Series(pd.to_datetime(dates))
    frame = {
        "pandas": pd.DataFrame({"when": series, "size": SIZE}),
        "with zone": pd.DataFrame({"when": series.dt.tz_localize("UTC"), "size": SIZE}),
        "objects": pd.DataFrame({"when": pd.Series(dates, dtype=object), "size": SIZE}),
        "polars": pl.DataFrame({"when": dates, "size": SIZE}),
    }[kind]
    with pytest.warns(TableWarning, match="column 'when' holds dates, taken as numbers of days"):
        model = TunedSVC(**FEW).fit(frame, Y)
    assert model._cells(frame)[:, 0].tolist() == (19723 + days).tolist()
    with pytest.raises(InvalidInputError, match="column 'when' holds numbers; expected dates, as in training"):
        model.predict(pd.DataFrame({"when": days, "size": SIZE}))


def test_an_array_of_durations_and_numbers_is_a_table() -> None:
    X = np.empty((N, 2), dtype=object)
    X[:, 0], X[:, 1] = SIZE, [datetime.timedelta(hours=int(hour)) for hour in np.arange(N) % 48]
    with pytest.warns(TableWarning, match="column 1 holds dates"):
        model = TunedSVC(**FEW).fit(X, Y)
    assert model._cells(X)[6].tolist() == [SIZE[6], 0.25]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": "large"}, r"column 'size' holds words \('large'\); expected numbers, as in training"),
        ({"colour": 3}, "column 'colour' holds numbers; expected categories such as 'blue', as in training"),
        ({"size": np.inf}, "column 'size' holds infinity in row 0"),
        ({"size": pd.Timestamp("2024-05-31")}, "column 'size' holds dates"),
        ({"size": [[1]] * N}, "column 'size' has cells of types list"),
    ],
    ids=["words", "numbers", "infinity", "dates", "lists"],
)
def test_a_changed_column_is_named(model: TunedSVC, change: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        model.predict(FRAME.assign(**change))


def test_columns_that_are_missing_or_in_another_order(model: TunedSVC) -> None:
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing:\n- colour"):
        model.predict(FRAME[["size"]])
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(FRAME[["size", "colour"]])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(FRAME[:0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TunedSVC(**FEW).fit(FRAME, Y[:-1])


def test_sparse_tables_are_those_written_out() -> None:
    X = np.column_stack([SIZE, COLOUR == "red", RNG.normal(size=(N, 4))])
    X[RNG.random(X.shape) < 0.4] = 0.0
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
        model = TunedSVC(**FEW).fit(kind(X), Y)
        np.testing.assert_array_equal(model.predict_proba(kind(X)), TunedSVC(**FEW).fit(X, Y).predict_proba(X))
    texts = [f"the {colour} {'big' if size > 0 else 'small'} one" for colour, size in zip(COLOUR, SIZE, strict=True)]
    pipeline = make_pipeline(TfidfVectorizer(), TunedSVC(**FEW)).fit(texts, Y)
    assert pipeline.score(texts, Y) > 0.8
    huge = scipy.sparse.csr_array((3, MOST_BYTES))
    with pytest.raises(InvalidInputError, match=f"{24 * MOST_BYTES} bytes with the zeros.*at most {MOST_BYTES} bytes"):
        TunedSVC().fit(huge, [0, 1, 1])


@pytest.mark.slow
def test_many_more_columns_than_rows() -> None:
    """62 rows of 2000 correlated columns: at least as good as a linear SVM with C by cross-validation, on average."""
    wrong = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(562, 10))
        X = factors @ (rng.normal(size=(10, 2000)) * (rng.random((10, 2000)) < 0.3)) + rng.normal(size=(562, 2000))
        latent = factors @ rng.normal(size=10)
        y = latent + 0.3 * latent.std() * rng.normal(size=562) > 0
        peer = make_pipeline(StandardScaler(), GridSearchCV(SVC(kernel="linear"), {"C": 10.0 ** np.arange(-5, 3)}))
        models = peer.fit(X[:62], y[:62]), TunedSVC(0, random_state=0).fit(X[:62], y[:62])
        wrong.append([1.0 - model.score(X[62:], y[62:]) for model in models])
    theirs, ours = np.mean(wrong, axis=0)
    assert ours < theirs + 0.01  # the standard error of a difference of 500 rows each


def test_a_model_that_learnt_nothing_is_told() -> None:
    y = np.where(np.arange(N) % 5 == 0, "rare", "often")
    with pytest.warns(NothingLearntWarning, match=r"do not help to tell .* is not clearly below the 0\.500 of always"):
        TunedSVC(**FEW).fit(FRAME[["size"]], y)


def test_noise_is_told_where_one_class_is_the_rarer() -> None:
    """Always predicting the common class is right in 70 of 100 rows, and no sign of having learnt anything.

    Not of every table: some gain more than one standard error by chance.
    """
    y, told = (np.arange(120) % 10 < 3).astype(int), 0
    for seed in range(8):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            TunedSVC(**FEW).fit(np.random.default_rng(seed).normal(size=(120, 4)), y)
        told += any("do not help to tell the classes apart" in str(one.message) for one in said)
    assert told >= 7


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_help_a_little_but_clearly_are_not_spoken_ill_of(seed: int) -> None:
    """Even where the error is no better than that of the common class: probabilities are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    y = (rng.random(300) < 0.3 / (0.3 + 0.7 * np.exp(-X[:, 0]))).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TableWarning)
        model = TunedSVC(**FEW).fit(X, y)
    assert model.expected_error_ > 0.2


def test_the_model_file_keeps_the_schema(with_gaps: TunedSVC, tmp_path) -> None:
    save_model(with_gaps, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    new = FRAME.assign(colour=["purple", None, *COLOUR[2:]])
    np.testing.assert_array_equal(loaded.predict_proba(new), with_gaps.predict_proba(new))
    assert loaded._schema == with_gaps._schema
    with pytest.raises(InvalidInputError, match="column 'size' holds words"):
        loaded.predict(FRAME.assign(size="large"))


@pytest.mark.parametrize("kernel", ["rbf", RBF() + Constant()], ids=["rbf", "given"])
def test_other_kernels_tie_categories_too(kernel) -> None:
    model = TunedSVC(0.5, kernel=kernel, max_evaluations=15, random_state=0).fit(gappy(), Y)
    assert len(model.length_scales_) == 2
    assert model.hyperparameters_.names == ("C", "k0", "koff", "l_1", "l_2")


def test_given_hyperparameters(tmp_path) -> None:
    model = MarginSVC(C=10.0, length_scales=[1.0, 2.0]).fit(gappy(), Y)
    assert (model.predict(FRAME) == Y).mean() > 0.8
    assert set(model.predict(FRAME.assign(colour="purple", size=np.nan))) <= {"yes", "no"}
    complete = MarginSVC(C=10.0).fit(FRAME, Y)
    gap, donors = FRAME[:1].assign(size=np.nan), complete._encoding.donors[:, 1]
    filled = pd.concat([FRAME[:1].assign(size=value) for value in donors])
    assert complete.decision_function(gap)[0] == pytest.approx(complete.decision_function(filled).mean())
    save_model(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model.skops").decision_function(FRAME), model.decision_function(FRAME)
    )
