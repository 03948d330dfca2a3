"""The command line does what the README says. Tests of refused input are in ``test_bad_input.py``."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import run

import bayesnb as nb
from bayesnb import BayesianNB, cli, datasets
from bayesnb.chains import Convergence
from bayesnb.inference.classifier import Classifier
from bayesnb.sampling import agreement

ALONE = ("--dependence", "none")
FINE = Convergence(1.001, 1.0, 2000.0, 0, "pi")


def agreement_of(z):
    table = pd.DataFrame({
        "kind": "mean", "quantity": "mean pi[no]", "closed": 0.4, "sampled": 0.4, "mcse": 0.01, "z": [0.5, z],
    })  # fmt: skip
    plug_ins = pd.DataFrame({"sampled": [0.7, 0.3]})
    return agreement.Agreement(table, plug_ins, 0, FINE, "nuts")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "play-tennis" else pytest.mark.slow) for name in datasets.names()],
)
def test_every_embedded_table_is_compared_and_printed_as_json_without_nan(capsys, name):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    code, out, _ = run(capsys, "compare", name, "--format", "json", "--draws", "50")
    said = json.loads(out, parse_constant=refuse)
    assert code == 0
    assert said["data"] == name
    names = ["mle", "map", "mean", "predictive", "weighted", "auto"]
    assert [row["estimate"] for row in said["scores"]] == names
    assert list(said["rows"][0]["estimates"]) == names
    for row in said["rows"]:
        assert sum(row["estimates"]["predictive"].values()) == pytest.approx(1)
        assert all(0 <= v["lower"] <= v["median"] <= v["upper"] <= 1 for v in row["interval"].values())
    if name == "play-tennis":
        # Nothing is clearly better than the default of the command, and the class frequencies are as good.
        assert said["recommended"] == "auto"
        assert said["fit"] == "bayesnb fit play-tennis --target play -o play-tennis.bayesnb"
        assert said["sentence"].startswith("Keep --dependence auto: no model scored here is clearly better")


def test_the_answer_for_a_row_is_that_of_the_estimator(capsys, tmp_path):
    X, y = datasets.penguins()
    path = tmp_path / "penguins.csv"
    X.assign(species=y).to_csv(path, index=False)
    row = "island=Dream,bill_length_mm=50,flipper_length_mm="
    asked = ("--target", "species", "--row", row, *ALONE, "--format", "json")
    _, out, _ = run(capsys, "compare", str(path), *asked)
    said = json.loads(out)["rows"][0]["estimates"]["predictive"]
    one = X.iloc[[0]].assign(island="Dream", bill_length_mm=50.0)
    one[[c for c in X.columns if c not in ("island", "bill_length_mm")]] = None
    clf = BayesianNB().fit(X, y)
    expected = dict(zip(clf.classes_, clf.predict_proba(one)[0], strict=True))
    assert said == pytest.approx(expected)


def test_parquet_and_csv_give_the_same_output(capsys, tmp_path):
    X, y = datasets.heights()
    X.assign(sex=y).to_csv(tmp_path / "t.csv", index=False)
    X.assign(sex=y).to_parquet(tmp_path / "t.parquet", index=False)
    one, two = (
        run(capsys, "compare", str(tmp_path / f), "--target", "sex", *ALONE, "--format", "csv")[1]
        for f in ("t.csv", "t.parquet")
    )
    assert one == two
    assert len(one.splitlines()) == 5


def test_a_higher_prob_gives_a_wider_interval(capsys):
    widths = []
    for prob in ("0.5", "0.95"):
        _, out, _ = run(capsys, "compare", "play-tennis", "--prob", prob, *ALONE, "--format", "json")
        interval = json.loads(out)["rows"][0]["interval"]["no"]
        assert interval["lower"] < interval["median"] < interval["upper"]
        widths.append(interval["upper"] - interval["lower"])
    assert widths[0] < widths[1]


def test_disagreement_of_nuts_and_the_closed_form_exits_with_5(capsys, monkeypatch):
    monkeypatch.setattr(Classifier, "verify", lambda *_, **__: agreement_of(20.0))
    code, out, _ = run(capsys, "compare", "play-tennis", "--nuts", *ALONE)
    assert code == 5
    assert "DISAGREE" in out


def test_agreement_of_nuts_and_the_closed_form_exits_with_0_and_adds_a_column(capsys, monkeypatch):
    monkeypatch.setattr(Classifier, "verify", lambda *_, **__: agreement_of(1.0))
    code, out, err = run(capsys, "compare", "play-tennis", "--nuts", *ALONE)
    assert code == 0
    assert "sampled (NUTS)" in out
    assert "0.700" in out
    assert "sampling with NUTS" in err


def test_chains_that_did_not_converge_exit_with_4(capsys, monkeypatch):
    def stuck(*_, **__):
        raise agreement.ConvergenceError("the chains did not converge (largest r_hat 1.5)")

    monkeypatch.setattr(Classifier, "verify", stuck)
    code, out, _ = run(capsys, "compare", "play-tennis", "--nuts", *ALONE, "--format", "json")
    assert code == 4
    assert "did not converge" in json.loads(out)["nuts"]["verdict"]


def test_a_dependence_to_compare_can_be_chosen(capsys):
    _, out, _ = run(capsys, "compare", "play-tennis", "--dependence", "tempered", "--format", "json")
    said = json.loads(out)
    X, y = datasets.play_tennis()
    today = X.iloc[[0]].assign(temperature="cool", wind="strong")
    expected = BayesianNB(dependence="tempered", random_state=0).fit(X, y).predict_proba(today)[0, 0]
    assert said["rows"][0]["estimates"]["tempered"]["no"] == pytest.approx(expected)
    assert said["scores"][-1]["estimate"] == "tempered"
    assert "scored by 5-fold cross-validation" in said["scores"][-1]["note"]


def test_the_shell_completes_options_choices_files_and_embedded_data_sets(tmp_path, monkeypatch):
    from click.shell_completion import BashComplete

    def completed(*words):
        *before, incomplete = words
        found = BashComplete(cli.cli, {}, "bayesnb", "_BAYESNB_COMPLETE").get_completions(before, incomplete)
        return [(item.type, item.value) for item in found]

    monkeypatch.chdir(tmp_path)
    assert ("plain", "inspect") in completed("")
    assert completed("fit", "--dependence", "wei") == [("plain", "weighted")]
    assert completed("compare", "pengu") == [("plain", "penguins")]
    assert completed("compare", "") == [("file", "")]
    assert completed("fit", "penguins", "-o", "") == [("file", "")]
    (tmp_path / "penguins.csv").touch()
    assert completed("compare", "pengu") == [("file", "pengu")]


@pytest.mark.parametrize(
    ("options", "fitted"),
    [((), False), (("--format", "csv"), False), (("--all",), True), (("--set", "wind=weak"), True)],
)
def test_compare_fits_a_dependence_to_all_rows_only_if_its_answer_is_printed(capsys, options, fitted):
    # All models are in the table of scores, which folds give.
    code, out, err = run(capsys, "compare", "play-tennis", "--dependence", "tempered", "--cv", "2", *options)
    assert code == 0
    assert "tempered" in out
    assert ("learning --dependence tempered" in err) == fitted


def test_explain_says_what_to_ask_next_about_a_row_with_gaps(capsys):
    X, y = datasets.play_tennis()
    found = nb.design.ask_next(BayesianNB().fit(X, y), {"wind": ["strong"]})["information"]
    _, out, _ = run(capsys, "explain", "play-tennis", *ALONE, "--row", "wind=strong", "--format", "json")
    said = {line["column"]: line["information"] for line in json.loads(out)["ask_next"]}
    assert said == pytest.approx(found.to_dict())
    _, out, _ = run(capsys, "explain", "play-tennis", *ALONE, "--row", "wind=strong")
    assert f"What to ask next: {found.index[0]} {found.iloc[0]:.3f}, " in " ".join(out.split())
    _, out, _ = run(capsys, "explain", "play-tennis", *ALONE, "--row", "0")
    assert "What to ask next" not in out


def test_explain_names_the_missing_columns_that_it_cannot_rank(capsys, tmp_path):
    X, y = datasets.play_tennis()
    X.assign(note="some words", play=y).to_csv(tmp_path / "t.csv", index=False)
    given = ["explain", str(tmp_path / "t.csv"), "--target", "play", "--feature", "note=text", "--dependence", "none"]
    _, out, _ = run(capsys, *given, "--row", "wind=strong")
    assert "no information can be computed: note." in " ".join(out.split())
    _, out, _ = run(capsys, *given, "--row", "wind=strong", "--format", "json")
    assert json.loads(out)["not_asked"] == ["note"]
    # The note alone is missing.
    _, out, _ = run(capsys, *given, "--row", ",".join(f"{name}={X[name][0]}" for name in X))
    assert "no information can be computed: note." in " ".join(out.split())
    assert "no information can be computed" not in run(capsys, *given, "--row", "0")[1]


def test_the_audit_of_one_class_doubts_no_label(capsys, tmp_path):
    pd.DataFrame({"a": list("xy") * 4, "b": list("xxyy") * 2, "y": "p"}).to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = run(capsys, "audit", str(tmp_path / "t.csv"), "--target", "y", "--format", "json")
    assert code == 0
    assert "labels" not in json.loads(out)


def test_the_audit_says_which_columns_are_not_compared(capsys, tmp_path):
    X = pd.DataFrame({"id": [f"row {k}" for k in range(80)], "a": list("xy") * 40, "b": list("xxyy") * 20})
    # "boron" is read as two columns, which are compared.
    X["boron"] = ["<5", *map(str, range(6, 85))]
    X.assign(y=list("pqqp") * 20).to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run(capsys, "audit", str(tmp_path / "t.csv"), "--target", "y")
    assert code == 0
    assert "not compared (more than 64 levels, text to count, or exposure): 'id'\n" in err
    assert "number of boron" in out
    assert "'a' and 'b'" in " ".join(out.split())


@pytest.mark.nuts
def test_the_option_nuts_runs_nuts(capsys):
    code, out, _ = run(capsys, "compare", "play-tennis", "--nuts", *ALONE, "--format", "json")
    said = json.loads(out)
    sampled = said["rows"][0]["estimates"]["sampled (NUTS)"]["no"]
    assert code == 0
    assert said["nuts"]["agrees"] is True
    assert sampled == pytest.approx(0.7353, abs=0.02)
    assert np.isfinite(said["nuts"]["seconds_nuts"])
