"""Each picture shows its input completely and with labels, and leaves no open figure; invalid input is refused."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.transforms import Bbox
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb import BayesianNB, checks, datasets, draws, plots
from bayesnb.data.targets import codes_of
from bayesnb.inference.independence import Independence
from bayesnb.inference.scoring import calibration_error
from bayesnb.plots import panels

BLUE, VERMILLION, GREEN = plots.OKABE_ITO[:3]


def agg(figure):
    """The canvas with the pixels of the figure, which is drawn once."""
    if not hasattr(figure.canvas, "renderer"):
        FigureCanvasAgg(figure).draw()
    return figure.canvas


def pixels(figure):
    """The pixels of the figure, (y, x, rgb) from 0 to 1."""
    return np.asarray(agg(figure).buffer_rgba())[..., :3] / 255


def shows(picture, colour):
    return (np.abs(picture - to_rgb(colour)).max(axis=-1) < 0.01).sum() > 10


def cut_off(figure):
    """Whether anything is drawn across the edge of the figure."""
    agg(figure)
    taken, whole = figure.get_tightbbox(), figure.bbox_inches
    over = (-taken.x0, -taken.y0, taken.x1 - whole.x1, taken.y1 - whole.y1)
    return max(over) > 0.01


def texts(figure):
    """All texts of the figure, in the order of drawing."""
    return [t.get_text() for t in figure.findobj(plt.Text) if t.get_visible() and t.get_text()]


def ledger_of(entries, label="no", against="yes", unit="nats"):
    """Contributions made by hand: {entry: (value, log-odds)}; ``...`` stands for a missing value."""
    lines = {"(prior)": (None, -0.5)} | entries
    total = sum(size for _, size in lines.values())
    lines["(total)"] = (None, total)
    frame = pd.DataFrame({
        "label": label,
        "against": against,
        "value": pd.Series([None if value is ... else value for value, _ in lines.values()], dtype=object),
        "log_odds": [float(size) for _, size in lines.values()],
        "lower": [size - 0.3 for _, size in lines.values()],
        "upper": [size + 0.4 for _, size in lines.values()],
        "missing": [value is ... for value, _ in lines.values()],
    })  # fmt: skip
    frame.index = pd.MultiIndex.from_tuples([(7, name) for name in lines], names=["row", "entry"])
    frame.attrs["unit"] = unit
    return frame


@pytest.fixture(scope="module")
def tennis():
    X, y = datasets.play_tennis()
    return BayesianNB(random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def penguins():
    X, y = datasets.penguins()
    return BayesianNB(random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def tree(penguins):
    return penguins[0].sample_posterior(200)


def codes(clf, y):
    return codes_of(clf.classes_, y.to_numpy())


PICTURES = {
    "prior_posterior": lambda clf, X, y: plots.prior_posterior(
        clf.sample_posterior(200), ["mu_bill_length_mm", "mu_year"]
    ),
    "class_probability": lambda clf, X, y: plots.class_probability(
        nb.draws.sample_proba(clf, X, 200), clf.classes_, [99, 271], clf.predict_proba(X)
    ),
    "map_against_bayes": lambda clf, X, y: plots.map_against_bayes(
        BayesianNB(estimate="map").fit(X, y).predict_proba(X), clf.predict_proba(X), clf.classes_
    ),
    "reliability": lambda clf, X, y: plots.reliability(clf.loo(X, y)["probability"], codes(clf, y)),
    "ledger": lambda clf, X, y: plots.ledger(clf.explain(X.iloc[[99]])),
    "uncertainty_scatter": lambda clf, X, y: plots.uncertainty_scatter(clf.uncertainty(X.iloc[::8], draws=100)),
    "decision_regions": lambda clf, X, y: plots.decision_regions(
        clf, X, y, ("bill_length_mm", "flipper_length_mm"), grid_resolution=20
    ),
    "decision_regions by class": lambda clf, X, y: plots.decision_regions(
        clf, X, y, ("bill_length_mm", "bill_depth_mm"), "class", grid_resolution=20
    ),
}
ONE_COLOUR = ("reliability",)
TWO_COLOURS = ("ledger",)


@pytest.fixture(scope="module")
def drawn(penguins):
    return {name: draw(*penguins) for name, draw in PICTURES.items()}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_not_blank_has_the_colours_of_what_it_shows_and_is_not_cut_off(name, drawn):
    assert not cut_off(drawn[name])
    picture = pixels(drawn[name])
    assert picture.std() > 0.05
    n = 1 if name in ONE_COLOUR else 2 if name in TWO_COLOURS else 3
    assert all(shows(picture, colour) for colour in plots.OKABE_ITO[:n])


@pytest.mark.parametrize("name", [name for name in PICTURES if name not in ("reliability", "ledger")])
def test_the_legend_names_each_class_and_covers_no_data(name, drawn):
    figure = drawn[name]
    agg(figure)
    (legend,) = figure.legends
    said = [text.get_text() for text in legend.get_texts()]
    assert all(any(label in text for text in said) for label in ("Adelie", "Chinstrap", "Gentoo"))
    box = legend.get_window_extent()
    assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_neither_shown_nor_kept_open_by_pyplot(name, penguins, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("shown")

    monkeypatch.setattr(plt, "show", refuse)
    before = plt.get_fignums()
    assert PICTURES[name](*penguins) is not None
    assert plt.get_fignums() == before


@pytest.mark.parametrize("n", [2, 14, 45])
def test_a_map_of_dependence_has_a_cell_for_each_pair_and_shows_copies(n):
    names = [f"a column with $ in its name {k}" for k in range(n)]
    pairs = pd.DataFrame(list(combinations(names, 2)), columns=["first", "second"])
    copies = (pairs["first"] == names[0]) & (pairs["second"] == names[-1])
    pairs = pairs.assign(log_bayes_factor=np.where(copies, 99.0, -3.0), information=np.where(copies, 1.2, 0.1))
    pairs = pairs.sort_values("log_bayes_factor", ascending=False, kind="stable", ignore_index=True)
    figure = plots.independence(Independence(pairs, pd.Series({"mean": 1.0, "log_bayes_factor": 0.0}), tuple(names)))
    assert not cut_off(figure)
    axes, bar = figure.axes
    assert axes.get_title().startswith(f"1 of {n * (n - 1) // 2} pairs")
    assert "nats" in bar.get_ylabel()
    grey, coloured = (np.isfinite(image.get_array().filled(np.nan)) for image in axes.images)
    shown = min(n, 40)
    assert coloured.sum() == 1
    assert grey.sum() + 1 == shown * (shown - 1) // 2
    assert coloured[-1, 0]
    assert len(axes.get_xticklabels()) == shown - 1
    assert ("40 of 45" in axes.get_title()) == (n == 45)
    assert all(r"\$" in label.get_text() for label in axes.get_yticklabels())


HOSTILE = "$x_1$ is\n_very_ long, and \\frac{a}{b} and $y$ would be mathematics " * 2


@pytest.mark.parametrize("name", ["$a$", "$a", "_hidden", "two\nlines", "\\alpha$", HOSTILE])
def test_a_name_is_shown_unchanged_and_shortened_to_one_line(name):
    figure = plots.ledger(ledger_of({name: (name, 1.0)}, label=name, against="b"))
    assert not cut_off(figure)
    shown = panels.plain(name)
    assert "\n" not in shown
    assert len(shown) <= 2 * 32
    frame = pd.DataFrame({"prediction": [name, "b"], "aleatoric": [0.1, 0.2], "epistemic": [0.1, 0.3]})
    (legend,) = plots.uncertainty_scatter(frame).legends
    assert {text.get_text() for text in legend.get_texts()} == {shown, "b", "equal total"}
    assert legend.get_texts()[0].get_text().replace("\\$", "$").strip()[:2] in (name[:2], "b")


def test_a_ledger_shows_the_whole_name_of_a_column_of_a_survey():
    name, value = "how satisfied are you with the repair overall?", "very satisfied indeed, many thanks"
    figure = plots.ledger(ledger_of({name: (value, 1.0), "age": (3.0, -0.5)}, label="a", against="b"))
    assert f"{name} = {value}" in [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert not cut_off(figure)
    left, _, right, _ = figure.axes[0].get_position().extents * figure.get_figwidth()
    assert right - left > 3.5


def test_the_prior_is_dashed_and_the_posterior_is_not(tree):
    figure = plots.prior_posterior(tree, "mu_bill_length_mm")
    (axes,) = figure.axes
    assert [line.get_linestyle() for line in axes.lines] == ["--"] * 3 + ["-"] * 3
    assert {"prior", "posterior", "mu_bill_length_mm", "density"} <= set(texts(figure))
    posterior = axes.lines[3:]
    peaks = [line.get_xdata()[line.get_ydata().argmax()] for line in posterior]
    held = tree["posterior"]["mu_bill_length_mm"]
    assert_allclose(peaks, held.mean(["chain", "draw"]), atol=0.5)


# Prior to posterior


def test_a_drawn_density_integrates_to_one(tree):
    (axes,) = plots.prior_posterior(tree, "pi").axes
    for line in axes.lines[3:]:
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1, abs=0.02)


def test_a_tree_without_a_prior_shows_the_posterior(tree):
    alone = tree.copy()
    del alone["prior"]
    figure = plots.prior_posterior(alone, "pi")
    assert len(figure.axes[0].lines) == 3
    assert "prior" not in texts(figure)


def test_a_category_shared_by_columns_is_titled_with_its_own_columns_level(tennis):
    _, X, y = tennis
    wide = X.assign(**{f"x{k}": np.arange(14.0) for k in range(24)})
    shared = BayesianNB(random_state=0).fit(wide, y).sample_posterior(50)
    titles = [axes.get_title() for axes in plots.prior_posterior(shared, "theta_categorical_3").axes]
    assert titles[:4] == ["outlook, overcast", "outlook, rain", "outlook, sunny", "temperature, cool"]
    (axes,) = plots.prior_posterior(
        shared, "theta_categorical_3", categorical_3_feature="temperature", categorical_3_category="sunny|mild"
    ).axes
    assert axes.get_title() == "temperature, mild"


# Class probabilities


def test_each_row_has_a_panel_with_its_predictive_marked(tennis):
    clf, X, _ = tennis
    proba = clf.predict_proba(X)
    figure = plots.class_probability(nb.draws.sample_proba(clf, X, 100), clf.classes_, [3, 0], proba)
    assert [axes.get_ylabel() for axes in figure.axes] == ["row 3", "row 0"]
    marks = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() == "^"]
    assert_allclose(marks, proba[3])
    assert figure.axes[-1].get_xlabel() == "p(class | row, θ)"
    assert "predictive" not in texts(plots.class_probability(nb.draws.sample_proba(clf, X, 100), clf.classes_))


def test_rows_with_different_predicted_classes_are_marked_by_a_ring():
    plug_in = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    predictive = np.array([[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
    figure = plots.map_against_bayes(plug_in, predictive, ["a", "b"])
    points, rings = figure.axes[0].collections
    assert_allclose(points.get_offsets(), np.stack([predictive[:, 1], plug_in[:, 1]], axis=1))
    assert_allclose(rings.get_offsets(), [[0.6, 0.4]])
    assert {"p(b)", "another class is predicted\n(1 of 3 rows)", "plug-in (MAP)"} <= set(texts(figure))


def test_the_frame_of_an_agreement_gives_the_same_picture_as_two_arrays(tennis):
    clf, X, y = tennis
    frame = clf.verify(X, sampler="exact", random_seed=0).plug_ins
    by_frame = plots.map_against_bayes(frame)
    by_array = plots.map_against_bayes(
        BayesianNB(estimate="map").fit(X, y).predict_proba(X), clf.predict_proba(X), clf.classes_
    )
    offsets = [figure.axes[0].collections[0].get_offsets() for figure in (by_frame, by_array)]
    assert_allclose(*offsets)
    assert plots.map_against_bayes(frame, estimate="mean").axes[0].get_ylabel() == "plug-in (mean)"


def test_rows_that_are_impossible_are_counted_and_not_drawn():
    plug_in = np.array([[np.nan, np.nan], [0.6, 0.4]])
    figure = plots.map_against_bayes(plug_in, np.full((2, 2), 0.5))
    assert len(figure.axes[0].collections[0].get_offsets()) == 1
    assert figure.axes[0].get_title().startswith("1 rows are impossible")


# Reliability


def test_the_bins_are_those_of_the_calibration_error(penguins):
    clf, X, y = penguins
    proba, true = clf.loo(X, y)["probability"].to_numpy(), codes(clf, y)
    table = plots.reliability_table(proba, true)
    error = (table["rows"] * (table["confidence"] - table["share"]).abs()).sum() / len(true)
    assert error == pytest.approx(calibration_error(proba.max(1), proba.argmax(1) == true))
    assert table["rows"].sum() == len(true)
    assert ((table["from"] <= table["confidence"]) & (table["confidence"] <= table["to"])).all()


def test_an_error_bar_has_the_given_coverage_and_shrinks_with_more_rows():
    proba = np.repeat([[0.7, 0.3]], 100, axis=0)
    for right in (0, 1, 50, 99, 100):
        few = plots.reliability_table(proba, (np.arange(100) >= right).astype(int)).iloc[0]
        many = plots.reliability_table(
            np.repeat(proba, 10, axis=0), np.repeat((np.arange(100) >= right).astype(int), 10)
        ).iloc[0]
        assert few["share"] == right / 100
        assert 0 <= few["lower"] <= few["share"] <= few["upper"] <= 1
        assert many["upper"] - many["lower"] < few["upper"] - few["lower"]


def test_error_bars_cover_the_frequency_of_calibrated_forecasts():
    rng = np.random.default_rng(1)
    held = []
    for _ in range(400):
        p = rng.choice([0.65, 0.85, 0.95], size=60)
        table = plots.reliability_table(np.stack([p, 1 - p], axis=1), (rng.random(60) > p).astype(int), prob=0.9)
        held += ((table["lower"] <= table["confidence"]) & (table["confidence"] <= table["upper"])).tolist()
    assert 0.86 < np.mean(held) < 0.96


def test_reliability_of_one_class_uses_the_probability_of_that_class(tennis):
    clf, X, y = tennis
    proba, true = clf.loo(X, y)["probability"].to_numpy(), codes(clf, y)
    table = plots.reliability_table(proba, true, bins=1, code=1)
    assert table["confidence"].item() == pytest.approx(proba[:, 1].mean())
    assert table["share"].item() == pytest.approx(9 / 14)
    assert "probability of class 1" in texts(plots.reliability(proba, true, code=1))


# Ledger


def test_a_bar_is_as_long_as_its_contribution(tennis):
    clf, X, _ = tennis
    frame = clf.explain(X.iloc[[0]].assign(wind=None), unit="bits")
    (axes,) = plots.ledger(frame).axes
    assert_allclose([bar.get_width() for bar in axes.patches], frame["log_odds"])
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["(prior)", "outlook = sunny", "temperature = hot", "humidity = high", "wind (missing)", "(total)"]
    assert axes.get_xlabel() == "log-odds [bits]"
    assert (axes.get_title("left"), axes.get_title("right")) == ("← for yes", "for no →")


def test_a_missing_value_is_named_in_grey_and_has_no_bar():
    (axes,) = plots.ledger(ledger_of({"wind": (..., 0.0), "hum": ("high", 1.0)})).axes
    label = axes.get_yticklabels()[1]
    assert (label.get_text(), label.get_color()) == ("wind (missing)", panels.GREY)
    assert axes.patches[1].get_width() == 0


def test_a_contribution_of_0_against_0_is_labelled_so():
    figure = plots.ledger(ledger_of({"a": ("x", 2.0), "b": ("y", np.nan)}))
    assert texts(figure).count(" 0/0") == 2
    assert shows(pixels(figure), BLUE)


# Uncertainty


def test_every_row_is_a_point_in_the_colour_of_its_class():
    frame = pd.DataFrame({
        "prediction": ["b", "a", "b"], "aleatoric": [0.1, 0.2, 0.3], "epistemic": [0.02, 0.01, 0.0],
    })  # fmt: skip
    figure = plots.uncertainty_scatter(frame)
    (axes,) = figure.axes
    a, b = axes.collections
    assert_allclose(a.get_offsets(), [[0.2, 0.01]])
    assert_allclose(b.get_offsets(), [[0.1, 0.02], [0.3, 0.0]])
    assert to_rgb(BLUE) == tuple(a.get_facecolor()[0, :3])
    for line in axes.lines:
        assert_array_equal(line.get_xdata() + line.get_ydata(), [line.get_xdata()[1]] * 2)


# Decision regions


def test_the_background_is_the_entropy_predicted_from_the_two_columns_alone(penguins):
    clf, X, y = penguins
    names = ("bill_length_mm", "flipper_length_mm")
    figure = plots.decision_regions(clf, X, y, names, grid_resolution=15)
    shade = figure.axes[0].collections[0]
    corners = shade.get_coordinates()
    middle = (corners[:-1, :-1] + corners[1:, 1:]).reshape(-1, 2) / 2
    grid = pd.DataFrame(middle, columns=names).reindex(columns=X.columns)
    grid[["island", "sex"]] = grid[["island", "sex"]].astype(object)
    p = clf.predict_proba(grid)
    assert_allclose(shade.get_array().ravel(), -(p * np.log(p)).sum(axis=1), atol=1e-9)
    assert figure.axes[0].get_title() == "2 rows that lack a value are not shown"
    points = figure.axes[0].collections[-3:]
    assert sum(len(part.get_offsets()) for part in points) == len(X) - 2
    assert [figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()] == list(names)


def test_a_table_without_names_is_drawn_by_position(penguins):
    _, X, y = penguins
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm"]
    named = BayesianNB().fit(X[columns], y)
    array = BayesianNB().fit(X[columns].to_numpy(), y)
    by_name = plots.decision_regions(named, X[columns], y, (columns[0], columns[2]), "class", grid_resolution=20)
    by_place = plots.decision_regions(array, X[columns].to_numpy(), y, (0, 2), "class", grid_resolution=20)
    shades = [figure.axes[0].collections[0].get_array() for figure in (by_name, by_place)]
    assert_array_equal(*shades)
    assert by_place.axes[0].get_xlabel() == "x0"


def test_drawing_does_not_change_the_classifier(penguins):
    _, X, y = penguins
    clf = BayesianNB().fit(X, y)
    before = dict(vars(clf))
    plots.decision_regions(clf, X, y, ("bill_length_mm", "year"), grid_resolution=5)
    assert vars(clf) == before


def test_pictures_of_unusual_rows_and_models_are_drawn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 10
    clf = BayesianNB(class_prior="uniform", random_state=0).fit(X, y)
    assert plots.decision_regions(clf, X, y, (0, 1), grid_resolution=5).axes
    # Ten classes have ten colours, and a known probability is a line.
    known = plots.prior_posterior(clf.sample_posterior(20, 2), "pi").axes[0]
    assert len({tuple(line.get_color()) for line in known.lines}) == 10
    # A level that one class cannot have draws a bar to the edge; of many columns, the small ones are one bar.
    wide = pd.DataFrame({f"c{k}": list("aabb") for k in range(30)}).assign(c0=list("aaab"))
    ledger = BayesianNB(estimate="mle").fit(wide, list("uuvv")).explain(wide[3:], "v", "u")
    assert any("∞" in text for text in texts(plots.ledger(ledger)))
    finite = BayesianNB().fit(wide, list("uuvv")).explain(wide[:1])
    assert any("(21 others)" in text for text in texts(plots.ledger(finite, entries=10)))


# The first argument

TAKEN = [name for name in dir(plots) if callable(getattr(plots, name))]


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKEN)
def test_a_plot_of_something_else_than_its_result_says_what_to_write(name, tennis):
    clf, X, y = tennis
    draw = getattr(plots, name)
    others = [None, "no", X.iloc[0], list("ab"), clf.explain]
    for other in others if name == "decision_regions" else [*others, clf, clf.classifier_, BayesianNB()]:
        with pytest.raises(nb.errors.RefusedError, match=rf"does not take a .*: write plots\.{name}\(") as refused:
            draw(other, X, y, X)
    # What the message says to write is drawn.
    if name not in ("decision_regions", "forest"):
        named = {"clf": clf, "plug_in": clf, "X": X, "y": y, "row": X[:1], "pd": pd}
        modules = {word: getattr(nb, word) for word in ("plots", "draws", "checks", "design")}
        assert eval(str(refused.value).partition("write ")[2], modules | named) is not None


def test_labels_where_codes_are_needed_are_answered_with_how_to_write_the_codes(tennis):
    clf, X, y = tennis
    with pytest.raises(ValueError, match=r"got \['no', 'yes'\]: write pd\.Categorical\(y, clf\.classes_\)\.codes"):
        plots.reliability(clf.predict_proba(X), y)
    assert plots.reliability(clf.predict_proba(X), pd.Categorical(y, clf.classes_).codes).axes


# Long names, wide characters and many classes


def texts_outside(figure):
    """The titles, labels and entries of legends that the edge of a figure cuts off."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    within = figure.bbox.padded(2)
    texts = [text for axes in figure.axes for text in (axes.title, axes.xaxis.label, axes.yaxis.label)]
    texts += [text for axes in figure.axes for text in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    texts += [text for held in figure.legends for text in held.get_texts()]
    found = {text.get_text(): text.get_window_extent(canvas.get_renderer()) for text in texts if text.get_text()}
    inside = {text: Bbox.intersection(box, within) for text, box in found.items()}
    return {text for text, box in found.items() if not text[-1].isdigit() and str(inside[text]) != str(box)}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_no_name_is_cut_off_by_the_edge_of_a_figure(few_drawn_labels):
    rng = np.random.default_rng(0)
    names = [f"class {k} whose name is rather long" for k in range(11)] + ["日本語のとても長いクラス名です日本"]
    k = np.arange(96) % len(names)
    long, wide = (
        "measurement_number_1_of_the_very_long_column_name",
        "这是一个非常长的中文列名称用来测试表格的宽度和对齐方式",
    )
    X = pd.DataFrame({long: k + rng.normal(size=96), wide: rng.choice(["a long level, which says a lot", "低"], 96)})
    y = pd.Series(np.array(names)[k])
    clf = BayesianNB(random_state=0).fit(X, y)
    tree = clf.sample_posterior(draws=50)
    plugged = BayesianNB(estimate="map").fit(X, y).predict_proba(X)
    figures = {
        "class probability": plots.class_probability(draws.sample_proba(clf, X[:2], 50), clf.classes_),
        "ledger": plots.ledger(clf.explain(X[:1])),
        "map": plots.map_against_bayes(plugged, clf.predict_proba(X), clf.classes_),
        "checks": plots.predictive_checks(checks.predictive_checks(clf, X, y)),
        "independence": plots.independence(checks.independence(clf, X, y)),
        "sensitivity": plots.sensitivity(checks.sensitivity(clf, X, scaling="rows")),
        "scatter": plots.uncertainty_scatter(clf.uncertainty(X)),
    }
    figures |= {name: plots.prior_posterior(tree, name) for name in map(str, tree.posterior.data_vars)}
    outside = {name: found for name, figure in figures.items() if (found := texts_outside(figure))}
    assert not outside


def test_regions_of_a_column_that_is_read_as_numbers_and_the_worth_of_rows_with_an_infinite_regret():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 40)
    X = pd.DataFrame(
        {"off": [f"{k} %" for k in rng.integers(1, 30, 80)], "x": rng.normal(y == "b"), "c": list("uv") * 40}
    )
    clf = BayesianNB(random_state=0).fit(X, y)
    figure = nb.plots.decision_regions(clf, X, y, ("off", "x"))
    assert sum(len(points.get_offsets()) for points in figure.axes[0].collections[-2:]) == 80
    found = nb.design.worth_of_rows(clf, [0, 40], draws=20)
    found["regret of mle"], found["regret of map"] = np.inf, 0.01
    left, right = nb.plots.worth_of_rows(found).axes[:2]
    assert right.get_title() == "plug-ins; infinite: MLE"
    assert left.get_ylim()[1] > found["upper"].max()
