"""The class that stands for all classes without rows: its density, its probability, and what may be done with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln

import bayesnb as nb
from bayesnb import BayesianNB, Dirichlet, Gaussian, NormalGamma
from bayesnb.cli import main
from bayesnb.data.specifications import families_by_name
from bayesnb.priors.class_prior import mass_of_new_class

RNG = np.random.default_rng(0)
Y = np.repeat(["elm", "fir", "oak"], [30, 20, 10])
X = pd.DataFrame(
    {
        "height": RNG.normal(np.repeat([10.0, 14.0, 20.0], [30, 20, 10])),
        "leaf": RNG.choice(["long", "round"], 60),
        "rings": RNG.poisson(4.0, 60),
    }
)
FEATURES = {"rings": "poisson"}
FAR = pd.DataFrame({"height": [40.0, 10.0], "leaf": ["long", "round"], "rings": [30, 4]})
CLF = BayesianNB(FEATURES, unknown="new").fit(X, Y)


def test_the_density_of_the_unknown_class_is_the_prior_predictive():
    new, prior = list(CLF.classes_).index("new"), CLF.posterior_.prior
    of_height, of_leaf, of_rings = prior["height"].at([new]), prior["leaf"].alpha[new, 0], prior["rings"].at([new])
    m, kappa, a, b = (float(getattr(of_height, name).item()) for name in ("m", "kappa", "a", "b"))
    density = stats.t.logpdf(FAR["height"], 2 * a, m, np.sqrt(b * (kappa + 1) / (a * kappa)))
    density += np.log(of_leaf / of_leaf.sum())[[0, 1]]
    shape, rate = of_rings.alpha.item(), of_rings.beta.item()
    density += stats.nbinom.logpmf(FAR["rings"], shape, rate / (1 + rate))
    joint = CLF.predict_joint_log_proba(FAR)[:, new]
    assert_allclose(joint, density + np.log(CLF.posterior_.label.mean()[new]), rtol=1e-12)
    assert CLF.predict(FAR).tolist() == ["new", "elm"]


def test_default_priors_learn_their_strength_from_the_known_classes_and_given_priors_are_kept():
    learned = BayesianNB({"height": Gaussian("learned")}).fit(X[["height"]], Y).posterior_.prior["height"]
    ours = CLF.posterior_.prior["height"]
    for name in ("m", "kappa", "a", "b"):
        assert_allclose(getattr(ours, name)[0], getattr(learned, name)[0], rtol=1e-9)
    assert "learned" in CLF.describe().loc["height", "prior"]
    given = NormalGamma(m=12, kappa=1, a=2, b=2)
    kept = BayesianNB({"height": Gaussian(given)}, unknown="new").fit(X[["height"]], Y).posterior_.prior["height"]
    assert (kept.m == 12).all()
    assert (kept.b == 2).all()


@pytest.mark.parametrize("sizes", [(30, 20, 10), (1, 1, 1, 1, 6), (500, 2)])
def test_the_default_mass_is_that_of_a_pitman_yor_process_with_its_discount_integrated_out(sizes):
    n, k = np.array(sizes, float), len(sizes)

    def weight(d: float) -> float:
        return np.exp(np.log1p(d * np.arange(1, k)).sum() + (gammaln(n - d) - gammaln(1 - d) - gammaln(n)).sum())

    ends = {"epsabs": 0, "epsrel": 1e-11}
    top = quad(lambda d: weight(d) * (1 + d * k) / (1 + n.sum()), 0, 1, **ends)[0]
    assert_allclose(mass_of_new_class(n), top / quad(weight, 0, 1, **ends)[0], rtol=1e-6)
    y = np.repeat([f"c{c}" for c in range(k)], sizes)
    clf = BayesianNB(unknown="new").fit({"x": np.arange(len(y)) % 7.0}, y)
    assert_allclose(clf.predict_proba({"x": [np.nan]})[0, k], mass_of_new_class(n), rtol=1e-12)


def test_known_classes_keep_their_relative_probabilities_and_a_given_mass_is_kept():
    alone = BayesianNB(FEATURES).fit(X, Y).posterior_.label.mean()
    for prior in (None, Dirichlet(3.0), "frequencies", {"elm": 0.5, "fir": 0.3, "oak": 0.2}):
        alone = BayesianNB(FEATURES, class_prior=prior).fit(X, Y).posterior_.label.mean()
        ours = BayesianNB(FEATURES, class_prior=prior, unknown={"new": 0.2}).fit(X, Y)
        assert_allclose(ours.posterior_.label.mean(), np.insert(0.8 * alone, 2, 0.2), rtol=1e-12)
        left = ours.classifier_.posterior.model.label.log_left_out(
            ours.posterior_.label, ours.class_count_, np.array([0]), np.ones(1), "mean"
        )
        assert_allclose(np.exp(left).sum(), 1.0, rtol=1e-12)
    named = {"elm": 0.5, "fir": 0.2, "oak": 0.2, "new": 0.1}
    assert_allclose(BayesianNB(FEATURES, class_prior=named, unknown="new").fit(X, Y).posterior_.label.mean()[2], 0.1)


def test_probabilities_are_calibrated_if_the_share_of_new_rows_is_as_assumed_and_classes_come_from_the_prior():
    """Every new row has its own new class. 4 bins of P(new): the frequency is within 4 standard errors of the mean."""
    rng, share, prior = np.random.default_rng(1), 0.3, NormalGamma(m=0, kappa=0.15, a=4, b=4)
    proba, new = [], []
    for _ in range(40):
        mu, tau = (v[:, 0] for v in prior.draw(rng, (36, 1, 3)))
        mu, tau = (np.reshape(v, (36, 3)) for v in prior.draw(rng, (36, 3)))
        known = np.repeat(np.arange(6), 20)
        clf = BayesianNB(Gaussian(prior), class_prior="uniform", unknown={-1: share})
        clf.fit(mu[known] + rng.standard_normal((120, 3)) / np.sqrt(tau[known]), known)
        own = np.where(is_new := rng.random(30) < share, np.arange(6, 36), rng.integers(0, 6, 30))
        rows = mu[own] + rng.standard_normal((30, 3)) / np.sqrt(tau[own])
        proba.append(clf.predict_proba(rows)[:, 0])
        new.append(is_new)
    proba, new = np.concatenate(proba), np.concatenate(new)
    for low, high in ((0, 0.1), (0.1, 0.4), (0.4, 0.9), (0.9, 1.01)):
        inside = (proba >= low) & (proba < high)
        se = np.sqrt((proba * (1 - proba))[inside].sum())
        assert inside.sum() > 50
        assert abs((new - proba)[inside].sum()) < 4 * se


def test_rows_of_classes_that_were_not_learned_are_scored_as_the_unknown_class():
    known = Y != "oak"
    clf = BayesianNB(FEATURES, unknown="new").fit(X[known], Y[known])
    told = np.where(known, Y, "new")
    assert clf.score(X, Y) == clf.score(X, told) == (clf.predict(X) == told).mean()
    assert nb.evaluate(clf, X, Y, cv=None).equals(nb.evaluate(clf, X, told, cv=None))
    assert nb.scorecard(clf, X, Y, cv=None).confusion.shape == (3, 3)
    assert nb.scorecard(BayesianNB(FEATURES).fit(X[known], Y[known]), X, Y, cv=None).confusion.shape == (2, 2)


def test_answers_about_rows_have_the_unknown_class():
    assert "new" in CLF.predict_interval(FAR).columns.get_level_values(0)
    costs = pd.DataFrame(1.0 - np.eye(4), index=CLF.classes_, columns=CLF.classes_)
    assert CLF.decide(FAR, costs)["decision"].tolist() == ["new", "elm"]
    assert CLF.tables()["leaf"].index.tolist() == CLF.classes_.tolist()
    assert_allclose(nb.deploy.compile(CLF).predict_proba(FAR.to_dict("records")), CLF.predict_proba(FAR), rtol=1e-12)
    assert "new" in nb.deploy.to_sql(CLF)
    assert CLF.to_pymc().coords["class_label"] == tuple(CLF.classes_)


def test_parts_forgetting_merging_and_files_give_the_same_model(tmp_path):
    def close(other: BayesianNB) -> None:
        assert other.classes_.tolist() == CLF.classes_.tolist()
        assert_allclose(other.predict_proba(FAR), CLF.predict_proba(FAR), rtol=1e-9)

    odd = np.arange(60) % 2 == 1
    a, b = (BayesianNB(FEATURES, unknown="new").fit(X[rows], Y[rows]) for rows in (odd, ~odd))
    CLF.save(tmp_path / "m")
    close(nb.load(tmp_path / "m"))
    assert nb.load(tmp_path / "m").classifier_.unknown == "new"
    close(BayesianNB(FEATURES, unknown="new").partial_fit(X[odd], Y[odd]).partial_fit(X[~odd], Y[~odd]))
    close(nb.load(tmp_path / "m").partial_fit(X[:9], Y[:9]).forget(X[:9], Y[:9]))
    close(a.merge(BayesianNB(FEATURES, unknown="other").fit(X[~odd], Y[~odd])))
    more = BayesianNB(FEATURES, unknown="new").fit(X[Y != "oak"], Y[Y != "oak"])
    close(more.partial_fit(X[Y == "oak"], Y[Y == "oak"]))
    with pytest.raises(ValueError, match="all rows of all classes"):
        b.forget(X[~odd], Y[~odd])
    assert b.set_params(unknown=None).discount(1.0).classes_.tolist() == ["elm", "fir", "oak"]


def test_probabilities_do_not_depend_on_order_names_units_or_copies():
    expected, mixed = CLF.predict_proba(FAR), RNG.permutation(60)
    to = {"elm": "z", "fir": "b", "oak": "a", "new": "m"}

    def probabilities(X: pd.DataFrame, y: Any, new: Any, at: pd.DataFrame, **how: Any) -> np.ndarray:
        clf = BayesianNB(FEATURES, unknown=new).fit(X, y, **how)
        return pd.DataFrame(clf.predict_proba(at), columns=clf.classes_)[list(order)].to_numpy()

    order = CLF.classes_
    assert_allclose(probabilities(X.iloc[mixed], Y[mixed], "new", FAR), expected, rtol=1e-8)
    twice = probabilities(pd.concat([X, X]), np.tile(Y, 2), "new", FAR)
    assert_allclose(probabilities(X, Y, "new", FAR, sample_weight=np.full(60, 2)), twice, rtol=1e-8)
    assert_allclose(
        probabilities(*(t.assign(height=-7 * t["height"] + 3) for t in (X,)), Y, "new", FAR.assign(height=[-277, -67])),
        expected,
        rtol=1e-6,
    )
    order = [to[label] for label in CLF.classes_]
    assert_allclose(probabilities(X, [to[label] for label in Y], "m", FAR), expected, rtol=1e-8)


def test_estimates_that_an_unknown_class_refuses_are_lines_with_a_note_beside_the_predictive():
    table = nb.evaluation.compare_estimates(BayesianNB(FEATURES, unknown="new"), X, Y, dependence=("weighted",))
    assert np.isfinite(table.loc["predictive", "log_loss"])
    assert table.index[table["note"].str.contains("'new'|\"new\"")].tolist() == ["mle", "map", "mean", "weighted"]


@pytest.mark.parametrize(
    ("settings", "y", "said"),
    [
        ({"estimate": "mean"}, Y, "class 'new', which has no rows"),
        ({"dependence": "weighted"}, Y, "dependence=None"),
        ({"unknown": "elm"}, Y, "rows have the label 'elm'"),
        ({"unknown": {"new": 1.5}}, Y, "between 0 and 1"),
        ({"unknown": {"new": 0.1, "newer": 0.1}}, Y, "one label"),
        ({"unknown": {"new": 0.1}, "class_prior": Dirichlet({"elm": 1, "fir": 1, "oak": 1, "new": 1})}, Y, "in one of"),
        ({}, [None, *Y[1:]], "Unlabelled"),
    ],
)
def test_what_cannot_be_done_with_an_unknown_class_is_refused_by_name(settings, y, said):
    with pytest.raises(ValueError, match=said):
        BayesianNB(FEATURES, **{"unknown": "new"} | settings).fit(X, y)
    with pytest.raises(ValueError, match="estimate"):
        CLF.classifier_.with_estimate("map")


def code(words: list[str]) -> Any:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


def test_the_command_line_fits_predicts_and_scores_an_unknown_class(tmp_path, capsys, few_drawn_labels):
    known = Y != "oak"
    X.assign(tree=Y)[known].to_csv(tmp_path / "known.csv", index=False)
    X.assign(tree=Y).to_csv(tmp_path / "all.csv", index=False)
    model, told = str(tmp_path / "m.bayesnb"), ["--target", "tree", "--feature", "rings=poisson"]
    assert code(["fit", str(tmp_path / "known.csv"), *told, "--unknown", "new=0.1", "-o", model]) == 0
    ours = BayesianNB(FEATURES, unknown={"new": 0.1}).fit(X[known], Y[known])
    assert_allclose(nb.load(model).predict_proba(X), ours.predict_proba(X), rtol=1e-9)
    capsys.readouterr()
    assert code(["score", model, str(tmp_path / "all.csv")]) == 0
    assert "│ new " in capsys.readouterr().out
    X.assign(tree=np.unique(Y, return_inverse=True)[1]).to_csv(tmp_path / "numbers.csv", index=False)
    assert code(["fit", str(tmp_path / "numbers.csv"), *told, "--unknown", "-1", "-o", model, "--force"]) == 0
    assert nb.load(model).classes_.tolist() == [-1, 0, 1, 2]
    assert code(["fit", str(tmp_path / "numbers.csv"), *told, "--unknown", "new", "-o", model, "--force"]) == 2
    page, quick = tmp_path / "r.md", ["--draws", "20", "--explain", "0", "--dependence", "none"]
    assert code(["report", str(tmp_path / "known.csv"), *told, "--unknown", "new", *quick, "-o", str(page)]) == 0
    assert "| new" in page.read_text()


VALUES = {
    "counts": X["rings"], "reals": X["height"], "positive": np.exp(X["height"] / 10), "flags": X["rings"] % 2,
    "levels": X["leaf"],
}  # fmt: skip


@pytest.mark.parametrize("family", sorted(families_by_name()))
def test_every_family_that_reads_a_column_reads_it_beside_an_unknown_class(family):
    read = 0
    for values in VALUES.values():
        x = pd.DataFrame({"x": values})
        try:
            BayesianNB({"x": family}).fit(x, Y)
        except (ValueError, TypeError):
            continue
        read += 1
        proba = BayesianNB({"x": family}, unknown="new").fit(x, Y).predict_proba(x)
        assert_allclose(proba.sum(1), 1)
        assert (proba > 0).all()
    assert read or "known" in family or family in {"date", "choices", "number", "bounded", "text", "multinomial"}
