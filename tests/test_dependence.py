"""Terms of single columns, exact with the row left out; exponents; what their posterior says."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from test_laws import CLASSES, FAMILIES, SPARSE, Table, cells, having

from bayesnb.chains import Convergence
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.multinomial import Bag, Multinomial
from bayesnb.families.sampled import Draws, StudentT
from bayesnb.model import NaiveBayes, Posterior, pieces
from bayesnb.priors import Dirichlet, FixedProbabilities, ImproperError, NormalGamma
from bayesnb.statistics.statistic import Labels


def believed(name: str, weight: np.ndarray, missing: float = 0.2, label: Dirichlet | FixedProbabilities | None = None):
    """A posterior of one feature of the law tests' list, its data and its labels."""
    t = Table.of(name, 4, weight, missing)
    model = NaiveBayes({"f": t.family}, Dirichlet() if label is None else label)
    data = {"f": t.x}
    return model.posterior(model.statistics(data, t.labels, CLASSES)), data, t.labels


def refit(posterior: Posterior, data: dict, labels: Labels, i: int) -> Posterior:
    """The posterior of all rows but one, under the priors of all of them."""
    others = np.delete(np.arange(len(labels)), i)
    rest = {name: x[others] for name, x in data.items()}
    return posterior.given(posterior.model.statistics(rest, labels[others], posterior.labels))


WEIGHTS = {"one each": np.ones(17), "weighted": np.resize([1.0, 0.3, 2.5, 4.0, 0.0], 17), "one row a class": np.ones(3)}


# The prior of these holds the row too, and is left without it: see test_multivariate.
SHARED = [name for name in FAMILIES if name.startswith("multivariate gaussian")]


# If this fails, look at `log_left_out` of the family, then at how `terms` picks a column.
@pytest.mark.parametrize(
    ("name", "weights"),
    [*product(sorted({*FAMILIES} - {*SHARED}), ["weighted", "one row a class"]), ("gaussian", "one each")],
)
def test_a_term_with_its_row_left_out_is_the_predictive_of_a_refit(name, weights):
    posterior, data, labels = believed(name, WEIGHTS[weights])
    found = pieces.left_out(posterior, data, labels)
    whole = pieces.predictive(posterior, data, len(labels))
    for i in range(0, len(labels), 3):
        own = labels.codes[i]
        row = {"f": data["f"][i : i + 1]}
        again = pieces.predictive(refit(posterior, data, labels, i), row, 1)[0]
        assert_allclose(found[i, own], again[own], rtol=1e-10, atol=1e-10)
        others = np.arange(len(CLASSES)) != own
        assert_allclose(found[i, others], whole[i, others])


@pytest.mark.parametrize("name", FAMILIES)
def test_the_terms_of_a_row_add_up_to_the_predictive_of_the_model(name):
    posterior, data, labels = believed(name, WEIGHTS["weighted"])
    n, alone = len(labels), posterior.only(())
    assert_allclose(
        pieces.predictive(posterior, data, n).sum(-1), posterior.log_predictive_features(data, n), rtol=1e-10
    )
    whole = pieces.left_out(posterior, data, labels).sum(-1) + alone.log_left_out({}, labels)
    assert_allclose(whole, posterior.log_left_out(data, labels), rtol=1e-9)
    assert_allclose(alone.log_predictive({}, 1)[0], np.log(posterior.label.mean()))


def test_a_bag_of_words_is_one_term_and_every_other_column_is_its_own():
    rng = default_rng(0)
    model = NaiveBayes({"x": Gaussian(), "text": Multinomial(), "z": Gaussian()}, columns={"x": ("a", "b")})
    data = {
        "x": rng.normal(size=(6, 2)),
        "text": Bag(rng.poisson(1.0, (6, 3)).astype(float), ("cat", "dog", "emu")),
        "z": rng.normal(size=(6, 2)),
    }
    labels = Labels.of([0, 1, 0, 1, 0, 1])
    posterior = model.posterior(model.statistics(data, labels, ["n", "y"]))
    assert posterior.piece_names() == ["a", "b", "text", ("z", 0), ("z", 1)]
    assert pieces.left_out(posterior, data, labels).shape == (6, 2, 5)


@pytest.mark.parametrize("name", SPARSE)
def test_the_terms_of_a_sparse_matrix_are_those_of_a_dense_one(name):
    posterior, data, labels = believed(name, WEIGHTS["weighted"])
    dense = {"f": having(data["f"], cells(data["f"]).toarray())}
    assert_allclose(pieces.left_out(posterior, data, labels), pieces.left_out(posterior, dense, labels), rtol=1e-10)


def test_terms_of_a_sampled_feature_come_from_weighted_draws():
    rng, labels = default_rng(4), Labels.of([0, 0, 1, 1])
    model, data = NaiveBayes({"x": StudentT(chains=2)}), {"x": rng.normal(size=(4, 2))}
    theta = {"mu": rng.normal(0, 0.1, (500, 2, 2)), "sigma": np.ones((500, 2, 2)), "nu": np.full((500, 2, 2), 4.0)}
    draws = {"x": Draws(theta, Convergence(1.0, 1.0, 500.0, 0, "mu"))}
    posterior = model.posterior(model.statistics(data, labels, [0, 1]), draws)
    found = pieces.left_out(posterior, data, labels)
    joint, sampled = posterior.left_out(data, labels)
    assert found.shape == (4, 2, 2)
    assert (sampled["x"].k < 0.7).all()
    alone = posterior.only(()).log_left_out({}, labels)
    assert_allclose(found.sum(-1) + alone, joint)


def test_an_improper_prior_that_needs_the_row_is_refused_with_the_class():
    model = NaiveBayes({"x": Gaussian(NormalGamma.reference())})
    data, labels = {"x": np.array([[1.0], [2.0], [4.0], [5.0]])}, Labels.of([0, 0, 1, 1])
    posterior = model.posterior(model.statistics(data, labels, ["ant", "bee"]))
    with pytest.raises(ImproperError, match=r"'x'.*'ant'"):
        pieces.left_out(posterior, data, labels)
