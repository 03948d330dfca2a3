"""The verbs of model files: fit, predict, update, forget, merge, sample, explain, inspect."""

import io
import json
import re
import subprocess
import sys
import warnings
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import run

import bayesnb as nb
from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    Binned,
    Categorical,
    Dirichlet,
    FixedProbabilities,
    Poisson,
    datasets,
    load,
)
from bayesnb.cli import asking, outputs
from bayesnb.dependence import exponents
from bayesnb.inference.column_gains import information

pytestmark = pytest.mark.usefixtures("examined_once", "few_drawn_labels", "few_drawn_rows")

# Most tests are not about the choice of a dependence, which takes the time of thirty fits.
NAIVE = "--dependence", "none"


@pytest.fixture
def done(capsys):
    """Run a command that must succeed, and return what it prints."""

    def command(*arguments):
        code, out, err = run(capsys, *arguments)
        assert code == 0, err
        return out

    return command


@pytest.fixture
def penguins(tmp_path):
    """The penguins as a CSV file, and the frame."""
    X, y = datasets.penguins()
    path = tmp_path / "penguins.csv"
    X.assign(species=y).to_csv(path, index=False)
    return path, X, y


@pytest.fixture
def tennis(tmp_path, done):
    """A model file of PlayTennis."""
    done("fit", "play-tennis", *NAIVE, "-o", tmp_path / "tennis.bayesnb")
    return tmp_path / "tennis.bayesnb"


def test_a_fit_writes_the_model_of_the_estimator(capsys, penguins, tmp_path):
    path, X, y = penguins
    code, out, err = run(capsys, "fit", path, "--target", "species", *NAIVE, "-o", tmp_path / "m.bayesnb")
    assert (code, out) == (0, "")
    assert "344 rows, 7 features; Adelie 152, Chinstrap 68, Gentoo 124" in err
    clf = BayesianNB().fit(X, y)
    np.testing.assert_allclose(load(tmp_path / "m.bayesnb").predict_proba(X), clf.predict_proba(X), rtol=1e-9)


def test_the_options_of_fit_reach_the_model(done, tmp_path):
    X, y = datasets.heights()
    frame = X.assign(sex=y, visits=np.arange(40) % 4, half=0.5)
    frame.loc[3, "sex"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    done(
        "fit", tmp_path / "t.csv", "--target", "sex", *NAIVE, "-o", tmp_path / "m.bayesnb",
        "--feature", "visits=poisson", "--feature", "height_cm=binned:165,175", "--weight", "half", "--m", "2",
        "--class-prior", "female=0.25,male=0.75", "--unseen", "new", "--estimate", "mean",
    )  # fmt: skip
    known = frame.dropna()
    clf = BayesianNB(
        {"visits": Poisson(), "height_cm": Binned(edges=[165.0, 175.0], prior=Dirichlet.m_estimate(2))},
        class_prior={"female": 0.25, "male": 0.75}, unseen="new", estimate="mean",
    ).fit(known.drop(columns=["sex", "half"]), known["sex"], known["half"])  # fmt: skip
    found = load(tmp_path / "m.bayesnb")
    asked = frame.drop(columns=["sex", "half"])
    np.testing.assert_allclose(found.predict_proba(asked), clf.predict_proba(asked), rtol=1e-9)
    assert isinstance(found.posterior_.label, FixedProbabilities)
    assert found.class_count_.sum() == 39 / 2


def test_families_of_families_are_named_behind_a_colon(done, tmp_path):
    X, y = datasets.heights()
    X.assign(sex=y, visits=np.arange(40) % 4).to_csv(tmp_path / "t.csv", index=False)
    done(
        "fit", tmp_path / "t.csv", "--target", "sex", *NAIVE, "-o", tmp_path / "m.bayesnb",
        "--feature", "visits=hurdle:poisson", "--feature", "height_cm=mixture:gaussian,log-normal",
        "--feature", "weight_kg=best:gaussian,log-normal",
    )  # fmt: skip
    features = load(tmp_path / "m.bayesnb").classifier_.schema.features
    assert features["visits"].family.title == "Hurdle(Poisson)"
    assert features["height_cm"].family.title == "Mixture(Gaussian, LogNormal)"
    assert [one[0] for one in features["weight_kg"].tried] == ["Gaussian", "LogNormal"]


def test_the_option_m_sets_the_prior_of_all_categorical_and_binary_columns(done, tmp_path):
    X, y = datasets.play_tennis()
    X.assign(windy=(X["wind"] == "strong"), play=y).to_csv(tmp_path / "t.csv", index=False)
    done("fit", tmp_path / "t.csv", "--target", "play", *NAIVE, "-o", tmp_path / "m.bayesnb", "--m", "3")
    smooth = Categorical(Dirichlet.m_estimate(3.0))
    told = dict.fromkeys(X.columns, smooth) | {"windy": Bernoulli(Beta.m_estimate(3.0))}
    clf = BayesianNB(told).fit(X.assign(windy=(X["wind"] == "strong")), y)
    again = load(tmp_path / "m.bayesnb")
    for name, table in clf.tables().items():
        pd.testing.assert_frame_equal(again.tables()[name], table)
    assert repr(again.features["outlook"]) == repr(smooth)


def test_predictions_stream_to_stdout_and_to_files(done, penguins, tmp_path, capsys):
    path, X, y = penguins
    done("fit", path, "--target", "species", *NAIVE, "-o", tmp_path / "m.bayesnb")
    expected = BayesianNB().fit(X, y).predict_proba(X)
    written = done("predict", tmp_path / "m.bayesnb", path)
    assert max(len(digits) for digits in re.findall(r"0\.0*(\d+)", written)) == 6
    for more, rtol in (((), 5e-6), (("--digits", 17), 1e-12)):
        out = pd.read_csv(io.StringIO(done("predict", tmp_path / "m.bayesnb", path, *more)))
        assert out.columns.tolist() == ["prediction", "p_Adelie", "p_Chinstrap", "p_Gentoo"]
        np.testing.assert_allclose(out.iloc[:, 1:], expected, rtol=rtol)
    few = tmp_path / "few.csv"
    X[::8].to_csv(few, index=False)
    assert (
        done("predict", tmp_path / "m.bayesnb", few, "-o", tmp_path / "p.parquet", "--interval", "--keep", "year") == ""
    )
    notes = BayesianNB().fit(X, y).predict_interval(X[::8]).attrs
    _, _, said = run(capsys, "predict", tmp_path / "m.bayesnb", few, "--interval")
    assert f"with a standard error of at most {notes['mcse']:.2g}; it is above 0.01 in {notes['imprecise']} of" in said
    assert "outside its interval" not in said
    done("fit", path, "--target", "species", "--dependence", "weighted", "-o", tmp_path / "w.bayesnb")
    _, out, said = run(capsys, "predict", tmp_path / "w.bayesnb", few, "--interval", "--digits", 17)
    ends = pd.read_csv(io.StringIO(out))
    each = [
        (ends[f"p_{c}"] < ends[f"p_{c}_lower"] - 0.001) | (ends[f"p_{c}"] > ends[f"p_{c}_upper"] + 0.001)
        for c in set(y)
    ]
    outside = int(np.any(each, axis=0).sum())
    assert outside > 0
    assert f"in {outside} of {len(ends)} rows, a probability lies outside its interval by more than 0.001" in said
    kept = pd.read_parquet(tmp_path / "p.parquet")
    assert kept.columns[:2].tolist() == ["year", "prediction"]
    assert kept.columns[-1] == "p_Gentoo_upper"
    assert ((kept["p_Gentoo_lower"] <= kept["p_Gentoo_median"]) & (kept["p_Gentoo"] <= 1)).all()


def test_forget_undoes_update(done, tennis, tmp_path):
    before = load(tennis)
    X, y = datasets.play_tennis()
    more = tmp_path / "more.csv"
    X.assign(play=y, wind="storm").to_csv(more, index=False)
    done("update", tennis, more)
    assert load(tennis).class_count_.tolist() == [10.0, 18.0]
    done("forget", tennis, more)
    after = load(tennis)
    assert after.class_count_.tolist() == before.class_count_.tolist()
    for name, s in before.classifier_.statistics.features.items():
        counts = after.classifier_.statistics.features[name].counts
        np.testing.assert_array_equal(counts[:, :, : s.counts.shape[2]], s.counts)
        assert counts.sum() == s.counts.sum()


@pytest.mark.parametrize("others", [1, 3])
def test_an_update_of_a_file_that_others_update_meanwhile_learns_the_rows_of_all(
    done, tennis, tmp_path, monkeypatch, others
):
    X, y = datasets.play_tennis()
    more = tmp_path / "more.csv"
    X.assign(play=y).to_csv(more, index=False)
    save, left = outputs.save_model, [others]

    def after_others(*given, **options):
        if left[0]:
            left[0] -= 1
            load(tennis).partial_fit(X, y).save(tennis)
        save(*given, **options)

    monkeypatch.setattr(outputs, "save_model", after_others)
    done("update", tennis, more)
    assert load(tennis).class_count_.tolist() == [5.0 * (others + 2), 9.0 * (others + 2)]


def test_rows_from_stdin_cannot_be_read_again_so_a_file_that_was_changed_is_kept(capsys, tennis, tmp_path, monkeypatch):
    X, y = datasets.play_tennis()
    save = outputs.save_model

    def after_another(*given, **options):
        load(tennis).partial_fit(X, y).save(tennis)
        save(*given, **options)

    monkeypatch.setattr(outputs, "save_model", after_another)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(X.assign(play=y).to_csv(index=False).encode())))
    code, _, err = run(capsys, "update", tennis, "-")
    assert code == 1
    assert "was changed since it was read" in err
    assert load(tennis).class_count_.tolist() == [10.0, 18.0]


@pytest.mark.filterwarnings("default:.*an apostrophe stands before")
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_no_cell_of_a_written_table_is_a_formula(capsys, tmp_path, suffix):
    cells = [
        '=HYPERLINK("http://x")',
        "+1+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(1)",
        "\t=1",
        "\r=1",
        "-x",
        "-5",
        "+49 (30) 12",
        "a=b",
    ]
    X = pd.DataFrame({"=note": cells, "x": np.arange(10.0) - 5})
    BayesianNB().fit(X[["x"]], ["=up"] * 5 + ["b"] * 5).save(tmp_path / "m.bayesnb")
    X.to_parquet(tmp_path / "new.parquet")
    out = tmp_path / f"out.{suffix}"
    code, _, err = run(
        capsys, "predict", tmp_path / "m.bayesnb", tmp_path / "new.parquet", "--keep", "=note", "-o", out
    )
    assert code == 0
    assert "an apostrophe stands before cells of '=note', 'prediction'" in " ".join(err.split())
    written = pd.read_csv(out, sep="," if suffix == "csv" else "\t", dtype=str, keep_default_na=False)
    assert written["'=note"].tolist() == ["'" + c for c in cells[:7]] + cells[7:]
    assert not any(str(c).startswith(("=", "@", "\t", "\r")) for c in [*written, *written.to_numpy().ravel()])
    assert set(written["prediction"]) == {"'=up", "b"}
    run(
        capsys,
        "predict",
        tmp_path / "m.bayesnb",
        tmp_path / "new.parquet",
        "--keep",
        "=note",
        "-o",
        tmp_path / "out.parquet",
    )
    assert pd.read_parquet(tmp_path / "out.parquet")["=note"].tolist() == cells


def test_a_query_on_a_terminal_has_its_control_characters_escaped(tmp_path, monkeypatch):
    from bayesnb.cli import main

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    X = pd.DataFrame({"x\x1b[31m": ["a\x1b]0;title\x07", "b"] * 4})
    BayesianNB().fit(X, list("uvuvuvuv")).save(tmp_path / "m.bayesnb")
    monkeypatch.setattr("sys.stdout", shown := Terminal())
    with pytest.raises(SystemExit):
        main(["export", str(tmp_path / "m.bayesnb")])
    assert "SELECT" in shown.getvalue()
    assert "\x1b" not in shown.getvalue()


def test_an_update_written_to_another_file_leaves_the_old_file_unchanged(done, tennis, tmp_path):
    old = tennis.read_bytes()
    done("update", tennis, "play-tennis", "-o", tmp_path / "new.bayesnb")
    assert tennis.read_bytes() == old
    assert load(tmp_path / "new.bayesnb").class_count_.sum() == 28


def test_merging_models_gives_the_model_of_all_rows(done, penguins, tmp_path):
    _, X, y = penguins
    frame = X.assign(species=y)
    for name, part in {"a": frame[:150], "b": frame[150:200], "c": frame[200:]}.items():
        part.to_csv(tmp_path / f"{name}.csv", index=False)
        done("fit", tmp_path / f"{name}.csv", "--target", "species", *NAIVE, "-o", tmp_path / f"{name}.bayesnb",
             "--feature", "year=categorical")  # fmt: skip
    done("merge", *(tmp_path / f"{name}.bayesnb" for name in "abc"), "-o", tmp_path / "all.bayesnb")
    clf = BayesianNB({"year": Categorical()}).fit(X, y)
    np.testing.assert_allclose(load(tmp_path / "all.bayesnb").predict_proba(X), clf.predict_proba(X), rtol=1e-9)


def test_sample_prints_the_samples_of_the_model(done, tennis, tmp_path):
    out = pd.read_csv(io.StringIO(done("sample", tennis, "-n", "5", "--seed", "4")))
    assert out.columns.tolist() == ["play", "outlook", "temperature", "humidity", "wind"]
    expected = nb.draws.sample(load(tennis).set_params(random_state=4), 5)
    assert out.to_numpy().tolist() == expected.to_numpy().tolist()
    done("sample", tennis, "-n", "7", "--label", "no", "-o", tmp_path / "s.parquet")
    assert set(pd.read_parquet(tmp_path / "s.parquet")["play"]) == {"no"}


def test_explain_with_a_model_explains_a_row_of_a_table(done, tennis):
    X, _ = datasets.play_tennis()
    by_position = done("explain", tennis, "play-tennis", "--row", "3", "--format", "csv")
    by_value = done("explain", tennis, "--row", "outlook=rain,temperature=mild,humidity=high,wind=weak",
                    "--format", "csv")  # fmt: skip
    of_data = done("explain", "play-tennis", *NAIVE, "--row", "3", "--format", "csv")
    assert by_position == by_value == of_data
    frame = pd.read_csv(io.StringIO(by_position), index_col=0)
    assert frame.loc["outlook", "value"] == X.loc[3, "outlook"]
    said = json.loads(done("explain", tennis, "play-tennis", "--row", "3", "--format", "json"))
    assert said["target"] == "play"
    assert said["row"] == X.loc[3].to_dict()


def test_set_changes_values_of_the_row_at_a_position(done, tennis):
    row = ("explain", tennis, "play-tennis", "--row", "3")
    changed = done(*row, "--set", "wind=strong", "--set", "humidity=", "--format", "csv")
    by_value = done("explain", tennis, "--row", "outlook=rain,temperature=mild,wind=strong", "--format", "csv")
    assert changed == by_value
    assert changed == done("explain", "play-tennis", *NAIVE, "--row", "3", "--set", "wind=strong", "--set", "humidity=",
                           "--format", "csv")  # fmt: skip
    assert "not the effect of an action" in " ".join(done(*row, "--set", "wind=strong").split())
    assert "not the effect" not in done(*row)


def test_inspect_describes_a_table(done, penguins):
    path, X, _ = penguins
    said = json.loads(done("inspect", path, "--target", "species", "--format", "json"))
    assert said["rows"] == 344
    assert said["classes"] == {"Adelie": 152.0, "Chinstrap": 68.0, "Gentoo": 124.0}
    each = {f["feature"]: f for f in said["features"]}
    assert each["island"]["levels"] == "Biscoe, Dream, Torgersen"
    assert each["body_mass_g"]["mean"] == pytest.approx(X["body_mass_g"].mean())
    assert each["body_mass_g"]["sd"] == pytest.approx(X["body_mass_g"].std(ddof=0))
    assert each["sex"]["missing"] == pytest.approx(11 / 344)
    assert "│ species" in done("inspect", path)


def test_inspect_recognises_a_model_by_its_content(done, tennis, tmp_path):
    moved = tennis.rename(tmp_path / "no-suffix")
    said = json.loads(done("inspect", moved, "--format", "json"))
    assert said["rows"] == {"no": 5.0, "yes": 9.0}
    assert said["target"] == "play"
    assert said["content"] == nb.describe(moved)["content_hash"]
    out = done("inspect", moved)
    assert "14 rows: no 5, yes 9" in out
    assert "│ outlook" in out
    assert done("inspect", moved, "--all").count("Dirichlet(alpha=1.0)") >= 4


def test_inspect_says_how_good_a_model_was_until_other_rows_are_learned(done, tmp_path):
    path = tmp_path / "m.bayesnb"
    done("fit", "penguins", "--dependence", "none", "-o", path)
    said = json.loads(done("inspect", path, "--format", "json"))
    X, y = datasets.penguins()
    alone = nb.evaluate(BayesianNB(), X, y)
    assert said["record"]["data"] == "penguins"
    assert said["record"]["rows"] == len(X)
    assert said["record"]["log_loss"] == pytest.approx(alone["log_loss"])
    assert said["record"]["accuracy"] == pytest.approx(alone["accuracy"])
    assert said["record"]["frequencies"] == pytest.approx(1.05495, abs=1e-4)
    out = done("inspect", path)
    assert "98% were predicted correctly; log loss 0.062 (class frequencies of the other rows 1.05)" in " ".join(
        out.split()
    )
    assert len(out.splitlines()) <= 40
    # The most informative column comes first, and reading and writing keep the scores.
    assert out.index("flipper_length_mm") < out.index("sex")
    nb.load(path).save(tmp_path / "again.bayesnb")
    assert nb.describe(tmp_path / "again.bayesnb")["record"] == said["record"]
    done("update", path, "penguins")
    assert json.loads(done("inspect", path, "--format", "json"))["record"] == {}
    assert "The file holds no score" in done("inspect", path)


def test_the_information_of_a_column_does_not_depend_on_names_units_order_or_scale():
    X, y = datasets.penguins()
    X, y = X[["island", "bill_length_mm", "sex"]], y
    entropy, told = information(BayesianNB().fit(X, y).classifier_)
    p = BayesianNB().fit(X, y).tables()["(class)"]["probability"]
    assert entropy == pytest.approx(-(p * np.log(p)).sum())
    # Renamed classes and levels are sorted in another order.
    other = X[["sex", "bill_length_mm", "island"]].assign(
        bill_length_mm=-X["bill_length_mm"] / 7, island=X["island"].map({"Biscoe": "z", "Dream": "y", "Torgersen": "x"})
    )
    _, again = information(BayesianNB().fit(other, y.map({"Adelie": "c", "Chinstrap": "b", "Gentoo": "a"})).classifier_)
    assert again == pytest.approx(told, abs=0.02)
    assert information(BayesianNB().fit(X[["sex", "island"]], y).classifier_)[1]["island"] == told["island"]
    # The exact mutual information of a column of levels, at the predictive probabilities.
    table = np.array([pd.crosstab(y, X["island"])])[0] + 1.0
    joint = table / table.sum(1, keepdims=True) * ((y.value_counts().sort_index().to_numpy() + 1) / 347)[:, None]
    exact = (joint * np.log(joint / joint.sum(1, keepdims=True) / joint.sum(0))).sum()
    assert told["island"] == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("dependence", ["weighted", "forests"])
def test_the_score_of_a_model_with_exponents_leaves_each_row_out_of_them(done, tmp_path, dependence):
    path = tmp_path / "m.bayesnb"
    done("fit", "play-tennis", "--dependence", dependence, "-o", path)
    record = json.loads(done("inspect", path, "--format", "json"))["record"]
    assert record["rows"] == 14
    seen = BayesianNB(dependence=dependence).fit(*datasets.play_tennis())
    with pytest.warns(UserWarning, match="too good") if dependence == "weighted" else nullcontext():
        held = seen.loo(*datasets.play_tennis())["probability"]
    y = datasets.play_tennis()[1]
    inside = -np.log([held.loc[k, label] for k, label in enumerate(y)]).mean()
    assert record["log_loss"] > inside if dependence == "weighted" else record["log_loss"] == pytest.approx(inside)


def test_inspect_shows_a_bag_of_words_and_watch_names_its_column(done, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    notes = [" ".join(["crash", "login", "thanks", "help", "slow"][k] for k in rng.integers(0, 5, 4)) for _ in y]
    columns = {f"x{k}": rng.normal(size=200) for k in range(13)}
    pd.DataFrame({"note": notes, "y": y, **columns}).to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "m.bayesnb"
    done("fit", tmp_path / "t.csv", "--target", "y", "--feature", "note=text", "--dependence", "none", "-o", path)
    out = done("inspect", path)
    assert "│ note" in out
    assert "1 further feature," in out
    assert "Not watched: note\n" in done("watch", path, tmp_path / "t.csv", "--target", "y") + "\n"


def test_the_class_frequencies_are_those_of_the_labels_whichever_class_prior_was_specified(done, tmp_path):
    rows = ("play-tennis", "--dependence", "none")
    path = tmp_path / "m.bayesnb"
    done("fit", *rows, "-o", path)
    before = json.loads(done("inspect", path, "--format", "json"))["record"]["frequencies"]
    done("fit", *rows, "--class-prior", "yes=0.05,no=0.95", "-o", path, "--force")
    assert json.loads(done("inspect", path, "--format", "json"))["record"]["frequencies"] == pytest.approx(before)


def test_inspect_counts_columns_of_the_table_and_a_missing_cell_reveals_nothing(done, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1200)
    x = np.where(rng.random(1200) < 0.8, y, 1 - y)
    table = pd.DataFrame({"whole": np.where(x, "a", "b"), "half": np.where(x, "a", "b"), "y": np.where(y, "yes", "no")})
    table.loc[rng.random(1200) < 0.5, "half"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "m.bayesnb"
    done("fit", tmp_path / "t.csv", "--target", "y", "--feature", "half=missing:categorical", *NAIVE, "-o", path)
    said = done("inspect", path, "--format", "json")
    information = {each["feature"]: each["information"] for each in json.loads(said)["features"]}
    assert information["half"] == pytest.approx(information["whole"] / 2, rel=0.25)
    assert "from 2 columns." in done("inspect", path)


def test_the_score_of_an_average_is_that_of_compare(done, tmp_path):
    path = tmp_path / "m.bayesnb"
    done("fit", "play-tennis", "--dependence", "auto", "-o", path)
    record = json.loads(done("inspect", path, "--format", "json"))["record"]
    compared = json.loads(done("compare", "play-tennis", "--dependence", "auto", "--format", "json"))["scores"]
    auto = next(line for line in compared if line["estimate"] == "auto")
    assert record["folds"] == 5
    assert (record["log_loss"], record["accuracy"]) == pytest.approx((auto["log_loss"], auto["accuracy"]), rel=1e-9)
    assert "14 learned rows, held out in 5 folds" in " ".join(done("inspect", path).split())


@pytest.mark.slow
def test_models_and_tables_go_through_pipes(tmp_path):
    X, y = datasets.play_tennis()
    table = X.assign(play=y).to_csv(index=False).encode()
    bayesnb = [sys.executable, "-W", "error", "-m", "bayesnb"]
    model = subprocess.run(
        [*bayesnb, "fit", "-", "--target", "play", "--dependence", "none", "-o", "-"],
        input=table,
        capture_output=True,
        check=True,
    ).stdout
    (tmp_path / "m.bayesnb").write_bytes(model)
    predicted = subprocess.run(
        [*bayesnb, "predict", tmp_path / "m.bayesnb", "-", "--digits", "17"],
        input=table,
        capture_output=True,
        check=True,
    ).stdout
    expected = BayesianNB().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(pd.read_csv(io.BytesIO(predicted)).iloc[:, 1:], expected, rtol=1e-9)


# Exponents


def test_exponents_of_a_large_table_are_learned_from_some_of_its_rows(capsys, tmp_path, monkeypatch):
    X, y = datasets.penguins()
    rows = X.assign(species=y, n=1.5)
    rows[:200].to_parquet(tmp_path / "a.parquet")
    rows[200:].to_parquet(tmp_path / "b.parquet")
    monkeypatch.setitem(exponents.NAMED, "tempered", replace(exponents.NAMED["tempered"], rows=150))
    asked = ("fit", tmp_path / "*.parquet", "--target", "species", "--weight", "n", "--dependence", "tempered")
    code, _, err = run(capsys, *asked, "-o", tmp_path / "m.bayesnb")
    assert code == 0
    assert "344 rows" in err
    assert "learning exponents from 150 rows" in err
    assert load(tmp_path / "m.bayesnb").exponents_.attrs["rows"] == 225


def test_a_fit_of_one_class_says_that_every_answer_is_known(capsys, penguins, tmp_path):
    path, X, _ = penguins
    X.assign(species="Adelie").to_csv(path, index=False)
    code, _, err = run(capsys, "fit", path, "--target", "species", *NAIVE, "-o", tmp_path / "m.bayesnb")
    assert code == 0
    assert "bayesnb: warning: all rows have one class, Adelie: it has probability 1" in err


@pytest.mark.parametrize("dependence", [pytest.param("weighted", marks=pytest.mark.slow), "pairwise"])
def test_forget_undoes_update_of_a_model_whose_features_depend_on_each_other(done, penguins, tmp_path, dependence):
    path, X, y = penguins
    model, further = tmp_path / "m.bayesnb", tmp_path / "further.csv"
    X[:40].assign(species=y).to_csv(further, index=False)
    done("fit", path, "--target", "species", "--dependence", dependence, "-o", model)
    before, more = load(model).predict_proba(X), load(model).partial_fit(X[:40], y[:40]).predict_proba(X)
    done("update", model, further)
    np.testing.assert_allclose(load(model).predict_proba(X), more, atol=1e-8)
    done("forget", model, further)
    np.testing.assert_allclose(load(model).predict_proba(X), before, atol=1e-8)


def test_merge_says_that_a_model_is_given_twice_and_that_one_model_alone_has_a_dependence(capsys, penguins, tmp_path):
    path, X, y = penguins
    table, (plain, weighted, both) = X.assign(species=y), (tmp_path / f"{name}.bayesnb" for name in "abc")
    for part, model, dependence in ((table[::2], plain, "none"), (table[1::2], weighted, "weighted")):
        part.to_csv(path, index=False)
        assert run(capsys, "fit", path, "--target", "species", "--dependence", dependence, "-o", model)[0] == 0
    assert f"{plain} is the same model as {plain}" in run(capsys, "merge", plain, plain, "-o", both)[2]
    assert "is the same model" not in run(capsys, "merge", plain, weighted, "-o", both, "--force")[2]
    for models in ((plain, weighted), (weighted, plain)):
        said = " ".join(run(capsys, "merge", *models, "-o", both, "--force")[2].split())
        assert (
            f"{weighted} has a dependence and {plain} has none: the merged model is as the first, {models[0]}" in said
        )


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        (["--na", "year=0"], [], False),
        ([], ["--na", "0"], False),
        (["--na", "year=0"], ["--na", "year=1"], False),
        (["--keep-na", "None"], [], False),
        (["--na", "y=b"], [], False),
        (["--na", "year=0", "--na", "kept=0", "--na", "y=0"], ["--na", "0"], True),
        (["--na", "NA"], ["--na", "other=0"], True),
        # Neither model has learned such a text as a value.
        (["--na", "year=?"], [], True),
        (["--na", "kept=unknown", "--na", "y=?"], ["--na", "year=7.5 kg"], True),
        (["--na", "kept=unknown"], ["--na", "year=9"], False),  # The first model may have learned a 9.
        (["--keep-na", "year=None"], [], True),
    ],
)
def test_models_are_merged_only_if_they_read_the_same_texts_of_each_column_as_missing(
    capsys, tmp_path, first, second, agree
):
    rows = [f"{k % 7},{'None' if k % 5 else 'some'},{k},{'abc'[k % 3]}" for k in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["year,kept,other,y", *rows]))
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--dependence", "none", "--drop", "other")
    models = [tmp_path / "a.bayesnb", tmp_path / "b.bayesnb"]
    for own, model in zip((first, second), models, strict=True):
        assert run(capsys, *fit, *own, "-o", model)[0] == 0
    for pair in (models, models[::-1]):
        code, _, err = run(capsys, "merge", *pair, "-o", tmp_path / "both.bayesnb", "--force")
        assert (code == 0) == agree, err
        if not agree:
            assert "the two models read different texts as missing, one with" in " ".join(err.split())
            with pytest.raises(ValueError, match="different texts as missing"):
                load(pair[0]).merge(load(pair[1]))
    shown = run(capsys, "inspect", "--all", models[0])[1]
    assert all(f"{first[0]}: " in shown and mark in shown for mark in first[1::2])
    if agree:
        for pair in (models, models[::-1]):
            run(capsys, "merge", *pair, "-o", tmp_path / "both.bayesnb", "--force")
            shown = run(capsys, "inspect", "--all", tmp_path / "both.bayesnb")[1]
            assert all(mark in shown for mark in (*first[1::2], *second[1::2]))


def test_merge_names_all_differences_of_all_models_at_once(capsys, tmp_path):
    rows = [
        f"{k % 7},{'None' if k % 5 else 'some'},{k % 9 + 1}/{k % 8 + 1}/2024,{k % 4},{'abc'[k % 3]}" for k in range(60)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["year,kept,day,size,y", *rows]))
    first = ["--na", "kept=some", "--na", "size=0", "--feature", "day=date:dmy", "--feature", "year=poisson"]
    second = ["--feature", "day=date:mdy", "--feature", "size=categorical", "--keep-na", "kept=None"]
    for name, own in {"a": first, "b": second, "c": second[:2]}.items():
        fit = ("fit", tmp_path / "t.csv", "--target", "y", "--dependence", "none", "-o", tmp_path / f"{name}.bayesnb")
        assert run(capsys, *fit, *own)[0] == 0
    files = [tmp_path / f"{name}.bayesnb" for name in "abc"]
    code, _, err = run(capsys, "merge", *files, "-o", tmp_path / "all.bayesnb")
    err = " ".join(err.split())
    assert code != 0
    assert not (tmp_path / "all.bayesnb").exists()
    of_b, of_c = err.split("c.bayesnb: ")
    for said in ("column 'kept': the two models read different", "column 'day': the two models read it differently"):
        assert said in of_b
        assert said in of_c
    assert "--keep-na kept=None" in of_b
    for said in ("feature 'size': one model reads it as gaussian", "feature 'year': one model reads it as poisson"):
        assert said in of_b
    with pytest.raises(nb.errors.RefusedError, match=r"'kept'.*'day'.*'year'") as refused:
        load(files[0]).merge(load(files[2]))
    assert refused.value.column == "kept"


@pytest.mark.filterwarnings("always:column '(hours|water)'")
def test_merge_warns_of_numbers_in_different_units(capsys, tmp_path):
    r = np.random.default_rng(0)
    water, hours = r.normal(11, 0.7, 400), r.normal(11, 1.2, 400)
    part, y = np.arange(400) % 2, r.choice(["a", "b"], 400)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(400) // 4, "D")

    def model(name, rows, **cells):
        table = pd.DataFrame(
            {"hours": hours, "water": [f"{w:.1f} %" for w in water], "day": day.strftime("%Y-%m-%d")} | cells
        )
        table.assign(y=y)[rows].to_csv(tmp_path / f"{name}.csv", index=False)
        fit = ("fit", tmp_path / f"{name}.csv", "--target", "y", "--dependence", "none", "-o", tmp_path / name)
        assert run(capsys, *fit)[0] == 0

    model("a", part == 0)
    for name, cells, said in (
        ("same", {}, ""),
        ("later", {"day": (day + pd.Timedelta(days=900)).strftime("%Y-%m-%d")}, ""),
        ("minutes", {"hours": hours * 60}, "column 'hours': the numbers of the two models are far apart (means "),
        ("fraction", {"water": water / 100}, "column 'water': the numbers of one model have no percent sign (mean 0.1"),
    ):
        model(name, part == 1, **cells)
        for pair in (("a", name), (name, "a")):
            err = run(capsys, "merge", *(tmp_path / each for each in pair), "-o", tmp_path / "both", "--force")[2]
            assert err.count("warning") == bool(said), err
            assert said in " ".join(err.split())
    model("one", (part == 1) & (y == "a"))
    model("few", np.arange(400) > 396, hours=hours * 60)
    for name in ("one", "few"):
        err = run(capsys, "merge", tmp_path / "a", tmp_path / name, "-o", tmp_path / "both", "--force")[2]
        assert "warning" not in err


MARKED: dict[tuple[str, ...], bytes] = {}
"""The models of the next test by the options of their fit; each is fitted once."""


@pytest.mark.parametrize(
    ("fitted", "given", "column"),
    [
        ([], ["--na", "kept=some"], "kept"),
        ([], ["--na", "6"], "year"),
        ([], ["--na", "y=b"], "y"),
        ([], ["--na", "day=2024-01-01"], "day"),
        (["--na", "6"], ["--na", "kept=some"], "kept"),
        ([], ["--keep-na", "kept=None"], "kept"),
        # The learned rows cannot hold such a text as a value.
        ([], ["--na", "?"], None),
        ([], ["--na", "kept=?"], None),
        ([], ["--na", "year=?"], None),
        ([], ["--keep-na", "year=None"], None),
        (["--na", "6"], ["--na", "year=6"], None),
        (["--na", "kept=some", "--keep-na", "None"], [], None),
    ],
)
def test_a_marker_that_is_a_value_in_the_learned_rows_is_warned_of(capsys, tmp_path, fitted, given, column):
    cells = [f"{k % 7},{'None' if k % 5 else 'some'},2024-01-{k % 9 + 1:02},{'abc'[k % 3]}" for k in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["year,kept,day,y", *cells]))
    (tmp_path / "few.csv").write_text("\n".join(["year,kept,day,y", cells[1]]))
    model = tmp_path / "m.bayesnb"
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--dependence", "none", "-o", model)
    if (known := tuple(fitted)) in MARKED:
        model.write_bytes(MARKED[known])
    else:
        assert run(capsys, *fit, *fitted)[0] == 0
        MARKED[known] = model.read_bytes()
    for verb in ("update", "forget"):
        err = " ".join(run(capsys, verb, model, tmp_path / "few.csv", *given)[2].split())
        assert ("the model was fitted without" in err) == (column is not None)
        if column is not None:
            mark = given[1].rpartition("=")[2]
            words = f"column '{column}': the model was fitted without {given[0]} {column}={mark}, so {mark} counts as"
            assert words in err


@pytest.mark.parametrize("option", [["--keep-na", "source=none"], ["--na", "source=?"]])
def test_a_marker_stated_for_the_class_answers_the_question_about_a_class_named_none(capsys, tmp_path, option):
    rows = [f"{k},{'none' if k % 2 else 'sewage'}" for k in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["x,source", *rows]))
    fit = ("fit", tmp_path / "t.csv", "--target", "source", "--dependence", "none", "-o", tmp_path / "m.bayesnb")
    assert "the class 'none' (20): if it means missing" in run(capsys, *fit)[2]
    code, out, err = run(capsys, *fit, *option, "--force")
    assert code == 0
    assert "means missing" not in err
    assert "none 20" in out + err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ([], ""),
        (["--class-prior", "laplace"], ""),
        (["--class-prior", "frequencies"], ""),
        (["--class-prior", "uniform"], "a 50% (70%), b 50% (30%)"),
        (["--class-prior", "a=0.1,b=0.9"], "a 10% (70%), b 90% (30%)"),
        (["--class-prior", "a=0.1,b=0.9", "--dependence", "weighted"], "a 10% (70%), b 90% (30%)"),
        (["--class-prior", "a=0.1,b=0.7,c=0.2"], "a 10% (70%), b 70% (30%), c 20% (0%)"),
        (["--class-prior", "uniform", "--unknown", "other"], "a 49% (70%), b 49% (30%), other "),
    ],
)
def test_inspect_says_first_that_the_class_prior_of_a_model_was_given(capsys, tmp_path, option, said):
    rows = [f"{k % 7},{'a' if k % 10 < 7 else 'b'}" for k in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]))
    model = tmp_path / "m.bayesnb"
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--dependence", "none", "-o", model)
    assert run(capsys, *fit, *option)[0] == 0
    for flags in ([], ["--all"]):
        first = " ".join(run(capsys, "inspect", model, *flags)[1].partition("model:")[0].split())
        assert ("Its class prior was given" in first) == bool(said)
        assert said in first


LEARNED = ("tempered", "weighted", "auto-counts")


@pytest.mark.parametrize(
    ("columns", "dependence"),
    [
        # Only forests of levels do not depend on the order, so the others are merged with numbers alone.
        pytest.param(columns, dependence, marks=[pytest.mark.slow] * (columns == "levels" and dependence in LEARNED))
        for dependence in ("none", "forests", *LEARNED)
        for columns in ("numbers", "levels")
    ],
)
def test_merge_warns_exactly_if_the_order_of_the_models_matters(capsys, tmp_path, dependence, columns):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"y": rng.choice(["a", "b", "c"], 160)})
    for name in ("u", "v"):
        table[name] = rng.normal(table["y"].map({"a": 0.0, "b": 1.0, "c": 2.0}), 1.0)
        if columns == "levels":
            table[name] = table[name].round().clip(-1, 2).map("level {:.0f}".format)
    models, orders = [tmp_path / f"{name}.bayesnb" for name in "ab"], [tmp_path / f"{name}.bayesnb" for name in "xy"]
    for model, part in zip(models, (table[:100], table[100:]), strict=True):
        part.to_csv(tmp_path / "t.csv", index=False)
        fit = ("fit", tmp_path / "t.csv", "--target", "y", "--dependence", dependence, "-o", model)
        assert run(capsys, *fit)[0] == 0
    said = [
        " ".join(run(capsys, "merge", *models[::s], "-o", out)[2].split())
        for s, out in zip((1, -1), orders, strict=True)
    ]
    one, other = (load(model).predict_proba(table[["u", "v"]]) for model in orders)
    matters = not np.allclose(one, other, atol=1e-9)
    assert matters == (dependence not in ("none", *["forests"] * (columns == "levels")))
    for text, (first, second) in zip(said, (models, models[::-1]), strict=True):
        assert ("Another order of the models gives other predictions" in text) == matters
        assert (f"keeps the dependence that {first} has learned, not that of {second}" in text) == matters


def test_models_that_count_dependence_in_other_cells_are_merged_with_the_counts_of_the_first(
    capsys, penguins, tmp_path
):
    path, X, y = penguins
    table, (first, second, both) = X.assign(species=y), (tmp_path / f"{name}.bayesnb" for name in "abc")
    for part, model in ((table[::2], first), (table[1::2], second)):
        part.to_csv(path, index=False)
        assert run(capsys, "fit", path, "--target", "species", "--dependence", "weighted", "-o", model)[0] == 0
    code, _, err = run(capsys, "merge", first, second, "-o", both)
    assert code == 0
    assert f"it counts dependence only in the rows of {first}" in " ".join(err.split())
    merged, alone = load(both), load(first)
    assert merged.class_count_.sum() == len(X)
    np.testing.assert_array_equal(merged.exponents_["mean"], alone.exponents_["mean"])
    with pytest.warns(UserWarning, match="look like the rows that the model was fitted to"):
        assert nb.evaluate(merged, X, y, cv=None)["log_loss"] < 0.1


@pytest.mark.parametrize(
    ("asked", "ask"),
    [
        (["credible-set", "--mass", "0.8"], lambda clf, X, y: nb.sets.credible_set(clf, X, mass=0.8)),
        (["uncertainty"], lambda clf, X, y: clf.uncertainty(X)),
        (["predict-interval", "--given", "data"], lambda clf, X, y: clf.predict_interval(X, given="data")),
        (["suspicious-labels"], lambda clf, X, y: nb.checks.suspicious_labels(clf, X, y)),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_each_question_to_a_table_is_a_command_with_the_options_of_its_signature(done, tennis, asked, ask):
    X, y = datasets.play_tennis()
    found = pd.read_csv(
        io.StringIO(done("ask", asked[0], tennis, "play-tennis", *asked[1:], "--format", "csv")), index_col=0
    )
    expected = pd.DataFrame(ask(load(tennis), X, y))
    assert found.shape == expected.shape
    numbers = [k for k in range(expected.shape[1]) if expected.dtypes.iloc[k] in (bool, float)]
    np.testing.assert_allclose(found.iloc[:, numbers].astype(float), expected.iloc[:, numbers].astype(float), rtol=1e-9)


@pytest.fixture(scope="module")
def few_penguins(tmp_path_factory):
    """Some penguins as a CSV file, with gaps, and the file of their model."""
    X, y = datasets.penguins()
    few, folder = X.assign(species=y).iloc[::12].copy(), tmp_path_factory.mktemp("few")
    few.iloc[::3, 1] = None
    few.to_csv(folder / "few.csv", index=False)
    BayesianNB().fit(folder / "few.csv", "species").save(folder / "m.bayesnb")
    return few, folder / "few.csv", folder / "m.bayesnb"


@pytest.mark.parametrize("name", asking.asked())
def test_an_answer_on_a_screen_says_how_many_rows_it_leaves_out(done, few_penguins, name):
    few, path, model = few_penguins
    asked = ("ask", name.replace("_", "-"), model, path)
    whole, screen = pd.read_csv(io.StringIO(done(*asked, "--format", "csv"))), done(*asked)
    shown = asking.asked()[name].shown
    if name in ("uncertainty", "predict_interval", "surprise", "predict_credal"):
        assert len(whole) == len(few) > 10
    if shown is None and len(whole) > 10:
        assert f"the first 10 of {len(whole)} rows" in " ".join(screen.split())


def test_uncertain_rows_come_first_on_a_screen_and_in_their_order_in_a_file(done, tennis):
    answer = pd.read_csv(io.StringIO(done("ask", "uncertainty", tennis, "play-tennis", "--format", "csv")), index_col=0)
    assert answer.index.tolist() == list(range(14))
    screen = done("ask", "uncertainty", tennis, "play-tennis")
    rows = [int(number) for number in re.findall(r"^(?:row |│ +)(\d+)", screen, re.MULTILINE)]
    assert rows == answer["total"].sort_values(ascending=False, kind="stable").index[:10].tolist()


def test_inspect_says_that_a_score_of_weighted_rows_may_be_too_good(done, tmp_path):
    X, y = datasets.penguins()
    for weight, said in (
        (2, "Of 344 learned rows, which count as 688, each left out, 98% were"),
        (1, "Of 344 learned rows, each"),
    ):
        X.assign(species=y, n=weight).to_csv(tmp_path / "d.csv", index=False)
        options = "--target", "species", "--dependence", "none", "--weight", "n"
        done("fit", tmp_path / "d.csv", *options, "-o", tmp_path / f"{weight}.bayesnb")
        out = " ".join(done("inspect", tmp_path / f"{weight}.bayesnb").split())
        assert said in out
        part = "Part of the weight of each held-out row was learned, so other rows may be predicted worse."
        assert (part in out) == (weight == 2)


def test_an_update_uses_the_weight_column_of_the_fit(capsys, tmp_path):
    X, y = datasets.play_tennis()
    table = X.assign(play=y, times=[1, 2] * 7)
    table[:10].to_csv(tmp_path / "first.csv", index=False)
    table[10:].to_csv(tmp_path / "more.csv", index=False)
    table.to_csv(tmp_path / "all.csv", index=False)
    options = ("--target", "play", "--weight", "times", "--dependence", "none", "-o")
    run(capsys, "fit", tmp_path / "first.csv", *options, tmp_path / "first.bayesnb")
    *_, said = run(capsys, "update", tmp_path / "first.bayesnb", tmp_path / "more.csv")
    assert "rows of weight 15 became rows of weight 21" in said
    *_, said = run(capsys, "fit", tmp_path / "all.csv", *options, tmp_path / "all.bayesnb")
    assert "weights: no 9, yes 12" in said
    found, expected = (nb.load(tmp_path / f"{name}.bayesnb").predict_proba(X) for name in ("first", "all"))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_an_update_warns_of_a_class_that_differs_from_a_learned_class_by_case(capsys, tennis, tmp_path):
    X, y = datasets.play_tennis()
    X.assign(play=y.str.title())[:4].to_csv(tmp_path / "more.csv", index=False)
    code, _, said = run(capsys, "update", tennis, tmp_path / "more.csv")
    assert code == 0
    assert "new classes, with their rows: No (2), Yes (2)" in said
    assert "warning: the classes 'No', 'no' differ only by case or blanks" in " ".join(said.split())


def test_a_loaded_model_warns_of_numbers_that_its_fit_read_as_missing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    r = np.random.default_rng(0)
    X = pd.DataFrame({"age": r.integers(18, 80, 60), "t": r.choice(list("abc"), 60)})
    X.loc[:3, "age"] = 999
    X.assign(y=np.resize(["u", "v"], 60)).to_csv("t.csv", index=False)
    fit = ("fit", "t.csv", "--target", "y", "--na", "age=999", "--dependence", "none", "-o", "m.bayesnb")
    assert run(capsys, *fit)[0] == 0
    clf = nb.load("m.bayesnb")
    with pytest.warns(UserWarning, match="'age' holds 999 in 4 of 60 rows, read as a number here; --na"):
        clf.predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict_proba(X.replace(999, np.nan))
        assert run(capsys, "predict", "m.bayesnb", "t.csv")[0] == 0


@pytest.mark.parametrize(("cells", "kept"), [(["a, b", "b", "a", ""], ""), (["DE", "FR", "AT", "NA"], "NA")])
def test_a_loaded_model_warns_of_gaps_that_its_fit_kept_as_a_value(capsys, tmp_path, monkeypatch, cells, kept):
    monkeypatch.chdir(tmp_path)
    r = np.random.default_rng(0)
    held, other = np.resize(cells, 60), r.choice(list("abc"), 60)
    pd.DataFrame({"held": held, "t": other, "y": np.resize(["u", "v"], 60)}).to_csv("t.csv", index=False)
    fit = ("fit", "t.csv", "--target", "y", "--keep-na", f"held={kept}", "--dependence", "none", "-o", "m.bayesnb")
    assert run(capsys, *fit)[0] == 0
    clf, X = nb.load("m.bayesnb"), pd.read_csv("t.csv").drop(columns="y")
    with pytest.warns(UserWarning, match=f"'held' is missing in 15 of 60 rows, .* if these cells mean '{kept}'"):
        clf.predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right = clf.predict_proba(X.assign(held=X["held"].fillna(kept)))
        clf.predict_proba(X[X["held"].isna()])  # A column without any value is absent.
        code, out, err = run(capsys, "predict", "m.bayesnb", "t.csv", "--digits", 17)
    assert (code, "is missing in" in err) == (0, False)
    np.testing.assert_allclose(pd.read_csv(io.StringIO(out)).iloc[:, 1:], right, rtol=1e-9)


def test_scores_of_rows_on_which_terms_were_chosen_say_so(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    r = np.random.default_rng(0)
    X = pd.DataFrame(r.normal(size=(80, 2)), columns=["a", "b"]).round(3)
    X.assign(y=np.where(X.a * X.b > 0, "u", "v")).to_csv("t.csv", index=False)
    for dependence, chosen in (("pairwise", True), ("weighted", False), ("none", False)):
        run(capsys, "fit", "t.csv", "--target", "y", "--dependence", dependence, "-o", "m.bayesnb", "--force")
        out = " ".join(run(capsys, "inspect", "m.bayesnb")[1].split())
        assert ("Its terms were chosen on these rows" in out) == chosen
        err = " ".join(run(capsys, "ask", "loo", "m.bayesnb", "t.csv")[2].split())
        said = "have seen the label of each row, so these probabilities are too good; bayesnb compare learns"
        assert err.count(said) == (dependence != "none")
        *_, out, err = map(" ".join, map(str.split, run(capsys, "ask", "suspicious-labels", "m.bayesnb", "t.csv")[1:]))
        assert (out + err).count("Trust the order of the rows") == (dependence != "none")


@pytest.fixture
def survey(tmp_path, done):
    rng, n = np.random.default_rng(0), 200
    y = np.where(rng.random(n) < 0.3, "yes", "no")
    asked = np.where(rng.random(n) < np.where(y == "yes", 0.6, 0.1), None, rng.choice(["low", "high"], n))
    table = pd.DataFrame({"age": rng.integers(20, 60, n), "mood": asked, "y": y})
    table.to_csv(path := tmp_path / "survey.csv", index=False)
    done("fit", path, "--target", "y", "--dependence", "none", "--feature", "mood=missing:categorical",
         "-o", tmp_path / "m.bayesnb")  # fmt: skip
    return tmp_path


@pytest.mark.parametrize("of", [("m.bayesnb",), ("survey.csv", "--target", "y", "--dependence", "none",
                                                 "--feature", "mood=missing:categorical")])  # fmt: skip
def test_a_column_that_a_row_does_not_name_is_no_evidence_and_an_empty_value_is(of, survey, done):
    first = (survey / of[0], *of[1:])

    def entries(*row: str) -> dict[str, float]:
        found = json.loads(done("explain", *first, *row, "--format", "json"))["entries"]
        return {entry["entry"]: entry["log_odds"] for entry in found}

    for row in (("--row", "age=30"), ("--row", '{"age": 30}'), ("--set", "age=30")):
        assert entries(*row)["mood is missing"] == 0
    for row in (("--row", "age=30,mood="), ("--set", "age=30", "--set", "mood=")):
        assert abs(entries(*row)["mood is missing"]) > 0.5


def test_a_level_never_seen_counts_as_present_beside_an_indicator_of_missing_cells(capsys, survey):
    (survey / "new.csv").write_text("age,mood\n30,odd\n")
    code, _, err = run(capsys, "predict", survey / "m.bayesnb", survey / "new.csv")
    assert code == 0
    assert "('odd'), whose value is ignored; the cell counts as not missing" in " ".join(err.split())


def test_flip_of_a_model_file_asks_for_the_table(capsys, survey):
    code, _, err = run(capsys, "explain", survey / "m.bayesnb", "--row", "age=30", "--flip")
    assert code == 2
    assert "needs the table of the learned rows" in " ".join(err.split())


def test_a_separator_that_does_not_fit_is_named_and_no_quote_is_blamed_alone(capsys, tmp_path):
    (tmp_path / "t.csv").write_text("a;b;y\n1,5;2;u\n3;4;v\n1,5;2,5;u\n" * 3)
    code, _, err = run(capsys, "fit", tmp_path / "t.csv", "--target", "y", "--sep", ",", "-o", tmp_path / "m.bayesnb")
    assert code
    assert "different numbers of cells with the separator ','" in err or "cells where the header has" in err


def test_the_regret_after_more_rows_does_not_contradict_a_held_out_row_of_probability_0(capsys, tmp_path):
    # The level "c" occurs once, so the row without which it is new has probability 0 under the mode.
    table = pd.DataFrame({"x": [*"aabb" * 10, "c"], "y": [*"ppqpqqpq" * 5, "p"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run(
        capsys, "compare", tmp_path / "t.csv", "--target", "y", "--dependence", "none", "--all", "--more", "100"
    )
    assert code == 0, err
    said = " ".join(out.split())
    assert "mle and map gave the class of a held-out row probability 0, so the regret has no bound" in said
    assert "map now" not in said
    assert "map already now" not in said


def test_an_update_with_learned_rows_says_that_they_count_once_more(capsys, tennis, tmp_path):
    assert "count once more" in run(capsys, "update", tennis, "play-tennis", "-o", tmp_path / "two.bayesnb")[2]
    X, y = datasets.play_tennis()
    X.assign(play=y)[1:].to_csv(tmp_path / "less.csv", index=False)
    assert "once more" not in run(capsys, "update", tennis, tmp_path / "less.csv", "-o", tmp_path / "more.bayesnb")[2]
    # A model that holds the cells of its rows knows a second update, in any order of the rows.
    X, y = datasets.penguins()
    X, y = X[::3], y[::3]
    fourth = np.arange(len(X)) % 4 == 0
    X.assign(species=y)[~fourth].to_csv(tmp_path / "most.csv", index=False)
    rest = X.assign(species=y)[fourth]
    rest.to_csv(tmp_path / "rest.csv", index=False)
    rest.sample(frac=1, random_state=0).to_csv(tmp_path / "again.csv", index=False)
    model = tmp_path / "m.bayesnb"
    run(capsys, "fit", tmp_path / "most.csv", "--target", "species", "-o", model)
    assert "once more" not in run(capsys, "update", model, tmp_path / "rest.csv")[2]
    assert "cell by cell" in run(capsys, "update", model, tmp_path / "again.csv")[2]


def test_columns_changed_by_set_are_shown_with_both_values_and_both_probabilities(done, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 100)
    X = pd.DataFrame({f"x{i}": rng.normal((y == "yes") * 0.2, 1).round(2) for i in range(30)})
    noise = pd.Series(rng.choice(["a; b", "a", "b; c", "a; c", "a; b; c", "b", "c"], 200))
    table, model = tmp_path / "t.csv", tmp_path / "m.bayesnb"
    X.assign(some=noise, weak=rng.normal(size=200).round(2), y=y).to_csv(table, index=False)
    done("fit", table, "--target", "y", "--dependence", "none", "-o", model)
    row = (model, table, "--row", "3", "--set", "weak=0.01", "--set", "some=b; c")
    row = ("explain", *row, "--label", "no")
    out = done(*row)
    old = pd.read_csv(table).loc[3, "weak"]
    assert f"weak = 0.01 (was {old:g})" in out
    assert re.search(r"some=c = 1.* \(was [01]\)", out)
    found = json.loads(done(*row, "--format", "json"))
    before = json.loads(done("explain", model, table, "--row", "3", "--label", "no", "--format", "json"))
    assert found["set"]["weak"] == 0.01
    assert found["before"] == {key: before[key] for key in ("row", "probabilities", "entries")}
    assert f"{before['probabilities']['no']:.3f} before, {found['probabilities']['no']:.3f} now" in out
    assert "set" not in before
