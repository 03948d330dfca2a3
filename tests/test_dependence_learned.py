"""Models whose features may depend on each other, from encoded rows to probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import logsumexp

from bayesnb.dependence.exponents import Exponents
from bayesnb.dependence.joint import JOINT
from bayesnb.dependence.learned import Dependence
from bayesnb.dependence.learning import learn
from bayesnb.dependence.pairs import CellTerm, PairTerm
from bayesnb.dependence.terms import TermSet, terms_of
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.multinomial import Bag, Multinomial
from bayesnb.families.rates import Exposed, Poisson
from bayesnb.families.trials import Bernoulli, Categorical, Coded
from bayesnb.model import NaiveBayes, Posterior, part_of
from bayesnb.priors.beta_tree import splits
from bayesnb.statistics.statistic import Labels


def fitted(features: dict, data: dict, labels: Labels) -> Posterior:
    model = NaiveBayes(features)
    return model.posterior(model.statistics(data, labels, [f"c{k}" for k in range(labels.n)]))


def encoded(n: int = 120, missing: float = 0.1):
    """A table of every kind of column, two of which depend on each other."""
    rng = default_rng(0)
    y = rng.integers(2, size=n)
    z = rng.normal(size=n)
    reals = np.column_stack([z + y, z + 0.3 * rng.normal(size=n), rng.normal(size=n)])
    reals[rng.random(reals.shape) < missing] = np.nan
    level = np.where(rng.random(n) < 0.7, y, rng.integers(3, size=n))
    data = {
        "reals": reals,
        "levels": Coded(np.column_stack([level, level]), (("a", "b", "c"), ("a", "b", "c"))),
        "yes": sparse.csr_array((rng.random((n, 2)) < 0.3).astype(float)),
        "calls": rng.poisson(3.0, (n, 1)).astype(float),
        "watched": Exposed(rng.poisson(2.0, (n, 1)).astype(float), rng.uniform(1, 2, n)),
        "words": Bag(rng.poisson(1.0, (n, 3)).astype(float), ("cat", "dog", "emu")),
    }
    features = {
        "reals": Gaussian(),
        "levels": Categorical(),
        "yes": Bernoulli(),
        "calls": Poisson(),
        "watched": Poisson(exposure="hours"),
        "words": Multinomial(),
    }
    weight = rng.choice([1.0, 2.0, 0.5], n)
    return features, data, Labels(y, weight, 2)


HOW = ["tempered", "weighted", "pairwise", "auto", Exponents(by="class", pairs=5, kernel=True, partitions=2)]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_every_kind_of_column_can_be_learned_and_asked(how):
    features, data, labels = encoded()
    posterior = fitted(features, data, labels)
    found = learn(posterior, data, labels, how)
    log_p = found.log_proba(posterior, data, len(labels))
    assert_allclose(logsumexp(log_p, axis=1), 0.0, atol=1e-9)
    assert (np.exp(log_p)[np.arange(len(labels)), labels.codes]).mean() > 0.6
    assert len(found.exponents.table()) == found.exponents.learned.terms


def given(term: CellTerm, counts: np.ndarray) -> CellTerm:
    """The term after other rows, under the prior that it has."""
    if isinstance(term, PairTerm):
        return replace(term, counts=counts)
    leaves = np.zeros((len(counts), counts.shape[2], 64))
    leaves[..., ::2] = np.moveaxis(counts, 2, 1)
    return replace(term, tree=term.whole.plus(*(np.where(term.whole.open, half, 0.0) for half in splits(leaves))))


# The grid is held, as the scale of a prior is; all that is counted on it is counted again.
@pytest.mark.parametrize("unit", [True, False])
def test_all_terms_with_a_row_left_out_are_those_of_a_refit(unit):
    features, data, labels = encoded(n=60)
    if unit:
        labels = Labels.of(labels.codes)
    posterior = fitted(features, data, labels)
    spec = Exponents(pairs=4, kernel=True, partitions=3)
    found = learn(posterior, data, labels, spec).terms
    left_out, cells = terms_of(found, spec, posterior, data, labels), found.statistics.cells
    for i in range(0, 60, 7):
        others = np.delete(np.arange(60), i)
        rest, some = part_of(data, others), labels[others]
        again = posterior.given(posterior.model.statistics(rest, some, posterior.labels))
        seen = cells.statistics(posterior, rest, some)
        # The shares of pooled cells, strengths and widths are held, as the scales of priors are.
        refit = TermSet(seen)
        of_shapes = given(found.of_shapes, np.concatenate(seen.shapes.each(), axis=2))
        of_pairs = [given(term, n) for term, n in zip(found.of_pairs, seen.pairs.each(), strict=True)]
        both = zip(found.statistics.joint, seen.joint, strict=True)
        believed = tuple(JOINT.update(JOINT.resolve_prior(JOINT.prior, whole), rest) for whole, rest in both)
        vars(refit).update(of_shapes=of_shapes, of_pairs=of_pairs)
        vars(refit.joint).update(believed=believed)
        vars(refit.near).update(chosen=found.near.chosen, scales=found.near.scales)
        vars(refit).update(partitions=replace(refit.partitions, base=found.partitions.base))
        own, row = labels.codes[i], part_of(data, slice(i, i + 1))
        expected = terms_of(refit, spec, again, row, 1)[0, own]
        assert_allclose(left_out[i, own], expected, rtol=1e-9, atol=1e-9)


def test_one_exponent_for_the_model_is_a_tempered_likelihood():
    features, data, labels = encoded()
    posterior = fitted(features, data, labels)
    found = learn(posterior, data, labels, Exponents(by="model", shapes=False))
    v = found.exponents.layout.exponents(found.exponents.posterior.mode)
    (w, _), b = v[0], v[:, -1]
    joint = np.log(posterior.label.mean()) + b + w * posterior.log_predictive_features(data, 120)
    assert_allclose(
        found.log_proba(posterior, data, 120, point="mode"), joint - logsumexp(joint, axis=1, keepdims=True), atol=1e-9
    )


def two_moons(n: int = 2000):
    """Classes that no column tells apart, but two together do."""
    rng = default_rng(1)
    x = rng.normal(size=(n, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    return x, y


def log_loss(found: Dependence, posterior: Posterior, x: np.ndarray, y: np.ndarray) -> float:
    return float(-found.log_proba(posterior, {"x": x}, len(y))[np.arange(len(y)), y].mean())


def test_what_two_columns_only_say_together_is_found():
    x, y = two_moons()
    labels = Labels.of(y[:1000])
    posterior = fitted({"x": Gaussian()}, {"x": x[:1000]}, labels)
    weighted, pairwise = (learn(posterior, {"x": x[:1000]}, labels, how) for how in ("weighted", "pairwise"))
    assert log_loss(weighted, posterior, x[1000:], y[1000:]) > 0.65
    assert log_loss(pairwise, posterior, x[1000:], y[1000:]) < 0.35


def test_offsets_of_cells_mend_shares_that_other_columns_contradict():
    # The level says nothing of the class by itself, but how large x has to be for class 1.
    rng = default_rng(0)
    level = rng.integers(3, size=1000)
    middle, above = np.array([0.0, 2.0, -2.0])[level], rng.normal(size=1000)
    x, y = middle + above, (above + 0.3 * rng.normal(size=1000) > 0).astype(int)
    labels = Labels.of(y)
    data = {"x": x[:, None], "level": Coded(level[:, None], (("a", "b", "c"),))}
    posterior = fitted({"x": Gaussian(), "level": Categorical()}, data, labels)
    loss = {}
    for offsets in ("cell", "class"):
        learned = learn(posterior, data, labels, Exponents(offsets=offsets))
        loss[offsets] = -learned.log_left_out(posterior, data, labels)[np.arange(1000), y].mean()
    assert loss["cell"] < 0.8 * loss["class"]
    assert learned.exponents.layout.cells == 0


def test_named_pairs_are_the_ones_that_get_a_term():
    features, data, labels = encoded()
    posterior = fitted(features, data, labels)
    names = posterior.piece_names()
    found = learn(posterior, data, labels, Exponents(pairs=((names[0], names[3]),)))
    assert found.statistics.cells.pairs == ((0, 3),)
    with pytest.raises(ValueError, match="'nowhere'"):
        learn(posterior, data, labels, Exponents(pairs=(("nowhere", names[0]),)))


def wide(columns: int):
    """So many columns of twelve rows of two classes."""
    return {"x": Gaussian()}, {"x": default_rng(0).normal(size=(12, columns))}, Labels.of(np.resize([0, 1], 12))


def test_too_many_columns_for_all_pairs_are_refused_with_the_cure():
    features, data, labels = wide(201)
    with pytest.raises(ValueError, match=r"201 columns have 20100 pairs.*weighted"):
        learn(fitted(features, data, labels), data, labels, "pairwise")


def test_levels_that_were_never_seen_and_missing_cells_say_nothing_of_a_pair():
    features, data, labels = encoded()
    spec, posterior = Exponents(pairs=3), fitted(features, data, labels)
    found = learn(posterior, data, labels, spec)
    blank = data | {
        "reals": np.full((120, 3), np.nan),
        "levels": Coded(np.full((120, 2), -1), data["levels"].levels),
    }
    asked = terms_of(found.terms, spec, posterior, blank, 120)
    assert_allclose(asked[:, :, :5], 0.0)
    assert np.isfinite(asked).all()


def test_more_exponents_than_can_be_learned_together_are_refused_with_the_cure(monkeypatch):
    monkeypatch.setattr("bayesnb.dependence.exponents.MOST_PARAMETERS", 40)
    features, data, labels = wide(40)
    posterior = fitted(features, data, labels)
    with pytest.raises(ValueError, match=r"42 exponents and offsets .* at most 40.*tempered"):
        learn(posterior, data, labels, "weighted")
