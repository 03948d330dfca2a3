"""The PyMC model has the density, the mode and the names of the model in closed form.

The families and their random columns are those of the law tests, so a new family is tested here too.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray
from conftest import shown
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor import tensor as pt
from pytensor.compile.mode import Mode
from test_laws import CHOOSING, CLASSES, DENSE, FAMILIES, MIXED, Table

from bayesnb import BayesianNB
from bayesnb.families.columns import dense_cells
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian, GaussianKnownVariance
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.rates import Exponential, Poisson
from bayesnb.families.trials import Bernoulli, Categorical, Coded
from bayesnb.model import Data, NaiveBayes, Parameters, Posterior
from bayesnb.priors import Beta, Dirichlet, FixedProbabilities, Gamma, ImproperError, Normal, NormalGamma, OneOf
from bayesnb.sampling import draws, layout, pymc_model, trees
from bayesnb.statistics.statistic import Labels

IN_PYTHON = Mode(linker="py", optimizer=None)
"""PyTensor evaluates a graph as it is written: nothing is rewritten or compiled, which would take longer."""

WRITTEN = [name for name in FAMILIES if name not in CHOOSING]
"""Families whose PyMC block has all of their parameters; in that of the others, a choice is summed out."""

ONES = np.ones(25)

SKEWED = Dirichlet({"ant": 1.5, "bee": 4.0, "cow": 2.5})
"""An asymmetric prior of the classes, in whichever order they are named."""


class Written:
    """A model of some features, its rows, and its density as PyMC has it."""

    def __init__(
        self,
        features: Mapping[str, Family],
        data: Data,
        labels: Labels,
        class_prior: Dirichlet | FixedProbabilities = SKEWED,
        apart: bool = True,
    ) -> None:
        model = NaiveBayes(features, class_prior)
        self.data, self.labels = data, labels
        self.posterior = model.posterior(model.statistics(data, labels, CLASSES))
        self.apart = apart
        self.layout = layout.blocks(self.posterior, apart)

    @classmethod
    def of(cls, names: Iterable[str], weight: np.ndarray = ONES, missing: float = 0.2, **arguments: Any) -> Written:
        tables = {name: Table.of(name, 3, weight, missing) for name in names}
        labels = Labels(default_rng(3).integers(len(CLASSES), size=len(weight)), weight, len(CLASSES))
        return cls({k: t.family for k, t in tables.items()}, {k: t.x for k, t in tables.items()}, labels, **arguments)

    def build(self, likelihood: str) -> pm.Model:
        rows = (None, None) if likelihood == "sufficient" else (self.data, self.labels.codes)
        return pymc_model.build(self.posterior, *rows, likelihood, apart=self.apart)

    def points(self, n: int = 2, of: Posterior | None = None) -> list[Parameters]:
        """Random points, drawn from the prior if none is given; the densities must agree at all points."""
        drawn = (of or self.posterior.before()).draw(default_rng(8), (n,))
        return [drawn.at(i) for i in range(n)]

    def density(self, likelihood: str, points: list[Parameters]) -> np.ndarray:
        """The log density of the model in PyMC, without the Jacobian of its transforms."""
        model = remove_value_transforms(self.build(likelihood))
        logp = model.compile_logp(jacobian=False, mode=IN_PYTHON)
        variables = [layout.variables(point, self.layout) for point in points]
        return np.array([logp({v.name: point[v.name] for v in model.value_vars}) for point in variables])

    def own(self, points: list[Parameters]) -> np.ndarray:
        """The log prior plus log likelihood in closed form."""
        rows = np.arange(len(self.labels)), self.labels.codes
        found = []
        for theta in points:
            log_prior = np.sum(self.posterior.label_prior.log_prob_of_each({"log_theta": theta.log_pi}))
            for name, prior in self.posterior.prior.items():
                log_prior += sum(each.sum() for each in prior.log_prob_of_each(theta.features[name]))
            log_likelihood = theta.log_joint(self.data, len(self.labels))[rows]
            found.append(log_prior + (self.labels.weight * log_likelihood).sum())
        return np.array(found)


# The density


@pytest.mark.parametrize(
    "likelihood", ["sufficient", *(pytest.param(how, marks=pytest.mark.slow) for how in ("rows", "joint"))]
)
@pytest.mark.parametrize("name", WRITTEN)
def test_the_pymc_model_has_the_log_density_of_the_closed_form(name, likelihood):
    # Statistics may be those of weighted rows.
    weight = default_rng(5).choice([0.5, 1.0, 3.0], 25) if likelihood == "sufficient" else ONES
    written = Written.of([name], weight)
    points = written.points() + written.points(of=written.posterior)
    own = written.own(points)
    assert np.isfinite(own).all()
    assert np.ptp(own) > 1
    assert_allclose(written.density(likelihood, points), own, rtol=1e-9)


@pytest.mark.parametrize(("third", "likelihood"), [(0, "sufficient"), (1, "sufficient"), (2, "rows"), (0, "joint")])
def test_a_pymc_model_with_many_families_has_the_log_density_of_the_closed_form(third, likelihood):
    # Features of one kind share a variable here, though each has its own prior, columns and holes. Python, in which the
    # density is evaluated to save compiling it, adds up to 32 terms at once: about those of a third of the families.
    written = Written.of(sorted(WRITTEN)[third::3], apart=False)
    points = written.points(of=written.posterior)
    assert_allclose(written.density(likelihood, points), written.own(points), rtol=1e-9)


def test_rounded_columns_with_different_numbers_of_values_share_variables():
    written = Written.of(["rounded"], apart=False)
    assert len({len(values) for values in written.posterior.statistics.features["rounded"].levels}) == 2
    points = written.points()
    assert_allclose(written.density("sufficient", points), written.own(points), rtol=1e-9)


class OneByOne:
    """A mixture of families beside its PyMC block, each choice by itself."""

    def __init__(self, name: str, weight: np.ndarray) -> None:
        table = Table.of(name, 3, weight, 0.2)
        self.written = Written({"f": table.family}, {"f": table.x}, table.labels)
        self.theta = self.written.points(1)[0]
        self.family, self.prior = table.family, self.written.posterior.prior["f"]
        self.key = next(key for key in self.theta.features["f"] if key.startswith("log_choice"))

    def log_likelihoods(self) -> np.ndarray:
        """log p(column | θ, choice) as (choice, class, column)."""
        theta, labels = self.theta.features["f"], self.written.labels
        x, shape = self.written.data["f"], theta[self.key].shape
        found = np.zeros((shape[-1], *shape[:-1]))
        for z, k in np.ndindex(shape[-1], shape[1]):
            chosen = np.broadcast_to(np.log(np.eye(shape[-1]) + 1e-300)[z], shape)
            only = np.where(np.arange(shape[1]) == k, x, np.nan)
            each = self.family.log_likelihood(dict(theta) | {self.key: chosen}, only)
            own = each[np.arange(len(labels)), labels.codes] * labels.weight
            found[z, :, k] = np.bincount(labels.codes, own, minlength=shape[0])
        return found

    def log_priors(self) -> np.ndarray:
        """log p(choice, θ) as (choice, class, column)."""
        choice = next(belief for belief in (self.prior, *self.prior.parts) if isinstance(belief, OneOf))
        return np.moveaxis(choice.log_weight, -1, 0) + sum(self.prior.log_prob_of_each(self.theta.features["f"]))


@pytest.mark.parametrize("likelihood", ["sufficient", "rows"])
@pytest.mark.parametrize("name", sorted(CHOOSING))
def test_the_pymc_density_of_a_mixture_of_families_is_the_sum_over_its_choices(name, likelihood):
    weight = default_rng(5).choice([0.5, 1.0, 3.0], 9) if likelihood == "sufficient" else np.ones(9)
    one = OneByOne(name, weight)
    own = np.logaddexp.reduce(one.log_priors() + one.log_likelihoods()).sum()
    rows = one.written.labels.weights() @ one.theta.log_pi
    own += one.written.posterior.label_prior.log_prob(np.exp(one.theta.log_pi)) + rows
    assert_allclose(one.written.density(likelihood, [one.theta]), own, rtol=1e-10)


@pytest.mark.parametrize("name", sorted(CHOOSING))
def test_the_choice_that_pymc_sums_out_is_found_again_from_the_other_parameters(name):
    one = OneByOne(name, np.ones(9))
    posterior, blocks = one.written.posterior, one.written.layout
    found = layout.from_variables(layout.variables(one.theta, blocks), blocks, posterior).features["f"]
    assert set(found) == set(one.theta.features["f"])
    weights = one.log_priors() + one.log_likelihoods()
    expected = np.moveaxis(weights - np.logaddexp.reduce(weights), 0, -1)
    assert (np.exp(expected).max(-1) < 0.999).any()
    assert_allclose(found[one.key], expected, rtol=1e-9, atol=1e-9)


LEFT_EMPTY = [name for name in DENSE if name in WRITTEN]


@pytest.mark.parametrize(
    ("name", "likelihood"), [*zip(LEFT_EMPTY, cycle(["sufficient", "rows", "joint"]), strict=False)]
)
def test_a_column_without_values_and_a_class_without_rows_keep_their_prior(name, likelihood):
    table = Table.of(name, 6, np.ones(12), 1.0)
    labels = Labels.of([0, 1] * 6, len(CLASSES))
    written = Written({"f": table.family}, {"f": table.x}, labels)
    points = written.points(2)
    assert_allclose(written.density(likelihood, points), written.own(points), rtol=1e-9)


@pytest.mark.parametrize(
    ("prior", "likelihood"),
    [(None, "sufficient"), ("uniform", "rows"), ({"bee": 0.5, "ant": 0.2, "cow": 0.3}, "joint")],
)
def test_known_class_probabilities_are_constants_in_the_density(prior, likelihood):
    written = Written.of(["bernoulli", "gaussian"], class_prior=FixedProbabilities(prior))
    model = written.build(likelihood)
    assert "pi" not in {variable.name for variable in model.free_RVs}
    assert_allclose(model["pi"].eval(mode=IN_PYTHON), written.posterior.label.p)
    points = written.points()
    assert_allclose(written.density(likelihood, points), written.own(points), rtol=1e-9)


@pytest.mark.parametrize("likelihood", ["sufficient", "rows", "joint"])
def test_columns_with_one_level_have_no_variable_and_do_not_change_the_density(likelihood):
    rng = default_rng(2)
    labels = Labels.of(rng.integers(3, size=20), 3)
    codes = np.column_stack([np.zeros(20, int), rng.integers(3, size=20), rng.integers(2, size=20)])
    levels = (("always",), ("a", "b", "c"), ("x", "y"))

    def of(columns: list[int]) -> Written:
        coded = Coded(codes[:, columns], tuple(levels[k] for k in columns))
        return Written({"f": Categorical()}, {"f": coded}, labels)

    whole, part, one = of([0, 1, 2]), of([1, 2]), of([0])
    assert {variable.name for variable in whole.build(likelihood).free_RVs} == {"pi", "theta_f_1", "theta_f_2"}
    assert {variable.name for variable in one.build(likelihood).free_RVs} == {"pi"}
    points = whole.points()
    values = whole.density(likelihood, points)
    assert_allclose(values, whole.own(points), rtol=1e-9)
    assert_allclose(one.density(likelihood, one.points()), one.own(one.points()), rtol=1e-9)
    parts = [
        Parameters(part.posterior.model, p.log_pi, {"f": {"log_theta": p.features["f"]["log_theta"][:, 1:]}})
        for p in points
    ]
    assert_allclose(part.density(likelihood, parts), values, rtol=1e-9)


@pytest.mark.parametrize("name", WRITTEN)
def test_the_variables_of_pymc_give_the_likelihood_of_each_row_and_lead_back_to_theta(name):
    written = Written.of([name])
    family, x = written.posterior.model.features[name], written.data[name]
    theta = written.points(1)[0].features[name]
    variables, expected = family.variables(theta), family.log_likelihood(theta, x)
    tensors = {key: pt.as_tensor_variable(value) for key, value in variables.items()}
    found = family.pymc_log_likelihood(tensors, x).eval(mode=IN_PYTHON)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    back = family.theta(variables)
    assert set(back) == set(theta)
    assert_allclose(family.log_likelihood(back, x), expected, rtol=1e-9, atol=1e-12)


# What is observed, and how it is shown


WHOLE = [name for name in DENSE if name in WRITTEN and "hurdle" not in name]
"""Families whose cells are one variable of PyMC."""


@pytest.mark.parametrize("name", WHOLE)
def test_the_rows_model_observes_the_cells_of_the_table(name):
    written = Written.of([name])
    model, cells = written.build("rows"), dense_cells(written.data[name])
    names = [block.variable("x") for block in written.layout]
    assert {v.name for v in model.observed_RVs} == {"y", *names}
    for own, variable in zip([cells] if written.layout[0].whole else cells.T, names, strict=True):
        known = ~np.isnan(own.reshape(len(own), -1)).all(axis=1)
        assert_array_equal(model.rvs_to_values[model[variable]].data, own[known])


DRAWN = [name for name in WHOLE if not name.startswith("multinomial") and "exposed" not in name]


# A family with another prior or other columns is drawn by the code of the family.
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * ("," in name)) for name in DRAWN])
def test_the_rows_model_draws_cells_in_the_unit_of_the_table(name):
    n = 600
    written = Written.of([name], ONES[:6], 0.0)
    theta, codes = written.points(1, of=written.posterior)[0], written.labels.codes
    model = pm.do(written.build("rows"), layout.variables(theta, written.layout))
    of_rows = {key: np.repeat(value[codes][None], n, axis=0) for key, value in theta.features[name].items()}
    s = written.posterior.statistics.features[name]
    expected = written.posterior.model.features[name].sample(of_rows, default_rng(1), s)
    variables = [model[block.variable("x")] for block in written.layout]
    found = pm.draw(variables, n, random_seed=2, mode=IN_PYTHON)
    found = found[0] if written.layout[0].whole else np.stack(found, -1)
    assert found.shape == expected.shape
    # The share of draws up to a value, at three values.
    for at in np.quantile(np.concatenate([found, expected]), [0.2, 0.5, 0.8], axis=0):
        a, b = ((drawn <= at).mean(0) for drawn in (found, expected))
        p = (a + b) / 2
        assert (np.abs(a - b) <= 5 * np.sqrt(2 * p * (1 - p) / n)).all()


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("hurdle", {"x_v is 0", "x_v if not 0"}),
        ("hurdle of counts", {"x_v is 0", "x_v - 1 if not 0"}),
        ("hurdle of a mixture", {"x_v is 0", "log p(x_v if not 0)"}),
        ("mixture, weighted", {"log p(x_v)"}),
    ],
)
def test_a_variable_that_does_not_hold_the_cells_has_a_name_that_says_what_it_holds(name, names):
    table = Table.of(name, 3, ONES, 0.2)
    written = Written({"v": table.family.gathered([(table.family, 0)])}, {"v": table.x[:, :1]}, table.labels)
    model = written.build("rows")
    assert {v.name for v in (*model.observed_RVs, *model.potentials) if "stopping" not in v.name} == {"y", *names}


class Weibull(Exponential):
    """Waits whose squares are exponential."""

    def read(self, x):
        return x**2, np.nan_to_num(np.log(2 * x))

    def statistic(self, x, members):
        return super().statistic(self.read(x)[0], members)


def test_a_transformation_that_pymc_does_not_know_is_in_the_name_and_in_the_density():
    table = Table.of("exponential", 3, ONES, 0.2)
    written = Written({"v": Weibull(Gamma(2.0))}, {"v": table.x[:, :1]}, table.labels)
    model = written.build("rows")
    assert {v.name for v in model.observed_RVs} == {"y", "x_v, transformed"}
    assert shown(model)
    points = written.points()
    assert_allclose(written.density("rows", points), written.own(points), rtol=1e-9)


# Every two of the likelihood, the arrangement of columns and the share of missing cells meet.
@pytest.mark.parametrize(
    ("likelihood", "apart", "missing"),
    [
        ("sufficient", True, 0.2), ("rows", False, 0.2), ("joint", False, 1.0),
        *(pytest.param(*each, marks=pytest.mark.slow)
          for each in (("sufficient", False, 1.0), ("rows", True, 1.0), ("joint", True, 0.2))),
    ],
)  # fmt: skip
def test_the_pymc_model_of_every_family_can_be_shown(likelihood, apart, missing):
    names = DENSE if missing == 1 else list(FAMILIES)
    names = [name for name in names if likelihood != "joint" or name not in CHOOSING]
    assert shown(Written.of(names, ONES[:8], missing, apart=apart).build(likelihood))


# The mode


MODAL = [name for name in FAMILIES if name not in MIXED]
"""Families whose posterior has a mode in closed form."""


# A search that can gain no further digit ends as abnormal; where it ended is compared below.
@pytest.mark.filterwarnings("ignore:The optimizer did not converge")
@pytest.mark.nuts
@pytest.mark.parametrize("third", [0, 1, 2])
def test_the_maximum_that_pymc_finds_is_the_mode_of_the_closed_form(third):
    # Enough rows for every mode to lie inside; its density is that of the constrained variables, without Jacobian.
    # In thirds, because PyTensor's Python mode adds at most 32 terms.
    written = Written.of([name for name in DENSE if name in MODAL][third::3], np.ones(150), apart=False)
    model = written.build("sufficient")
    mode = layout.variables(written.posterior.point("mode"), written.layout)
    start = layout.variables(written.posterior.before().point("mean"), written.layout)
    logging.getLogger("pymc").setLevel(logging.ERROR)
    found = pm.find_MAP(
        model=model,
        initvals={name: start[name] for name in mode},
        jitter=False,
        progressbar=False,
        return_inferencedata=True,
        compile_kwargs={"mode": "FAST_COMPILE"},
        options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-14, "gtol": 1e-8},
    )["posterior"]
    assert set(mode) == set(found.data_vars)
    for variable, value in mode.items():
        way = np.abs(np.asarray(start[variable]) - value)
        assert way.max() > 1e-3
        # A search ends where it can gain no further digit of the density: within a thousandth of its way.
        left = np.abs(found[variable].to_numpy()[0, 0] - value)
        assert (left <= 1e-5 + 1e-4 * np.abs(value) + 1e-3 * way).all(), variable


# Names and coordinates

AWKWARD = (
    "label", "pi", "mu", "tau", "class_label", "theta_pi", "a/b", "draw", "chain", "y", "x_y", "rows", "a b", "1",
    "level", "name", "path", "width", "class", "posterior", "class_counts", "", "é ∕ ü", "a'b",
)  # fmt: skip


def awkward(names: Sequence[str] = AWKWARD, n: int = 24) -> tuple[BayesianNB, pd.DataFrame, list[str]]:
    """A table whose columns, levels and labels have names that the model itself uses."""
    rng = default_rng(9)
    makers = [
        lambda: rng.choice(["pi", "draw", "a/b"], n),
        lambda: rng.normal(size=n),
        lambda: rng.random(n) < 0.5,
        lambda: rng.choice(["chain", "/"], n),
    ]
    X = pd.DataFrame({name: makers[i % 4]() for i, name in enumerate(names)})
    y = rng.choice(["class_label", "pi", "a/b"], n).tolist()
    return BayesianNB().fit(X, y), X, y


@pytest.mark.parametrize("likelihood", ["sufficient", "rows", "joint"])
def test_no_feature_name_collides_with_a_variable_name(likelihood):
    clf, X, y = awkward()
    model = clf.to_pymc(X, y, likelihood)
    # π, a variable for each column, and a second one for each of the six columns of numbers.
    assert len({v.name for v in model.free_RVs}) == 1 + len(AWKWARD) + 6
    if likelihood == "rows":
        assert len({v.name for v in model.observed_RVs}) == len(AWKWARD) + 1
        assert not any("/" in v.name for v in model.observed_RVs)


def test_unusual_feature_names_are_kept_in_a_file_of_draws(tmp_path):
    clf, X, y = awkward(["a/b", "pi", "draw", "posterior", "", "é ∕ ü", "y", "rows"])
    tree = clf.sample_posterior(5, 2, random_seed=1, X=X, y=y, include=["log_likelihood", "posterior_predictive"])
    path = tmp_path / "draws.nc"
    tree.to_netcdf(path, engine="h5netcdf")
    with xarray.open_datatree(path, engine="h5netcdf") as back:
        assert set(back.children) == set(tree.children)
        for group in tree.children:
            assert back[group].dataset.identical(tree[group].dataset)
        data, n = clf.classifier_.read(X)
        read, drawn = (draws.parameters(t, clf.posterior_).log_joint(data, n) for t in (back, tree))
        assert_allclose(read, drawn)


def test_labels_with_the_same_text_get_different_coordinates():
    model = NaiveBayes({"x": Gaussian()})
    posterior = model.posterior(model.statistics({"x": np.arange(4.0)[:, None]}, Labels.of([0, 1, 0, 1]), (1, "1")))
    assert pymc_model.build(posterior).coords["class_label"] == ("1", "1 (2)")
    groups = draws.exact(posterior, default_rng(0), (1, 2))
    assert list(trees.build(groups, posterior)["posterior"]["class_label"].to_numpy()) == ["1", "1 (2)"]


def test_coordinates_are_those_of_classes_columns_and_levels():
    X = pd.DataFrame(
        {
            "outlook": ["sunny", "rain", "overcast", "rain"],
            "sky": ["sunny", "rain", "overcast", "overcast"],
            "wind": ["weak", "strong", "weak", None],
            "height": [1.0, 2.0, np.nan, 4.0],
            "weight": [1.0, 2.0, 3.0, 9.0],
            "cat": [1, 0, 2, 3],
            "dog": [0, 5, 1, 1],
        }
    )
    clf = BayesianNB({"words": (Multinomial(), ["cat", "dog"])}).fit(X, ["no", "yes", "no", "yes"])
    model = clf.to_pymc()
    assert {key: tuple(map(str, names)) for key, names in model.coords.items()} == {
        "class_label": ("no", "yes"),
        "outlook_category": ("overcast", "rain", "sunny"),
        "sky_category": ("overcast", "rain", "sunny"),
        "wind_category": ("strong", "weak"),
        "words_category": ("cat", "dog"),
    }
    assert model.named_vars_to_dims == {
        "pi": ("class_label",),
        "theta_outlook": ("class_label", "outlook_category"),
        "theta_sky": ("class_label", "sky_category"),
        "theta_wind": ("class_label", "wind_category"),
        "theta_words": ("class_label", "words_category"),
        "mu_height": ("class_label",),
        "tau_height": ("class_label",),
        "mu_weight": ("class_label",),
        "tau_weight": ("class_label",),
    }


def test_the_columns_of_a_larger_table_share_variables_and_are_coordinates():
    X = pd.DataFrame(default_rng(0).normal(size=(6, layout.APART + 1)), columns=[f"x{k}" for k in range(25)])
    X["outlook"], X["wind"] = ["sunny", "rain", "overcast"] * 2, ["weak", "strong"] * 3
    model = BayesianNB().fit(X, [0, 1, 1] * 2).to_pymc()
    assert model.coords["gaussian_feature"] == tuple(X.columns[:25])
    assert model.named_vars_to_dims == {
        "pi": ("class_label",),
        "mu_gaussian": ("class_label", "gaussian_feature"),
        "tau_gaussian": ("class_label", "gaussian_feature"),
        "theta_categorical_3": ("class_label", "categorical_3_feature", "categorical_3_category"),
        "theta_categorical_2": ("class_label", "categorical_2_feature", "categorical_2_category"),
    }


# What has no sampled road

CODES, LEVELS = [1.0, 0.0, 1.0, 0.0], ["a", "b", "a", "a"]
UNSAMPLED = {
    "Gaussian, flat": (Gaussian(NormalGamma.flat()), CODES, "feature 'odd', class 'u'"),
    "Gaussian, reference": (Gaussian(NormalGamma.reference()), CODES, "feature 'odd', class 'u'"),
    "known variance, flat": (GaussianKnownVariance(Normal.flat()), CODES, "feature 'odd', class 'u'"),
    "Poisson, flat": (Poisson(Gamma.flat()), CODES, "feature 'odd', class 'u'"),
    "Poisson, Jeffreys": (Poisson(Gamma.jeffreys()), CODES, "feature 'odd', class 'u'"),
    "Poisson, flat in one class": (Poisson({"u": Gamma(1.0, 1.0), "v": Gamma.flat()}), CODES, "'odd', class 'v'"),
    "Bernoulli, Haldane": (Bernoulli(Beta(0.0, 0.0)), CODES, "feature 'odd', class 'u'"),
    "Categorical, zero": (Categorical(Dirichlet(0.0)), LEVELS, "feature 'odd', class 'u'"),
    "a structural zero": (
        Categorical({"u": Dirichlet(1.0), "v": Dirichlet({"a": 1.0, "b": 0.0})}), LEVELS, "feature 'odd'",
    ),
    "classes, zero": (Dirichlet(0.0), CODES, "class prior"),
    "classes, one zero": (Dirichlet({"u": 1.0, "v": 0.0}), CODES, "class prior"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNSAMPLED)
def test_an_improper_prior_is_refused_with_its_place_because_it_cannot_be_sampled(case):
    given, column, place = UNSAMPLED[case]
    X = pd.DataFrame({"fine": [0.5, 1.5, 2.5, 9.0], "odd": column})
    told = {"class_prior": given} if isinstance(given, Dirichlet) else {"features": {"odd": given}}
    clf = BayesianNB(**told).fit(X, ["u", "u", "v", "v"])
    for ask in (clf.to_pymc, lambda: clf.sample_posterior(sampler="nuts")):
        with pytest.raises(ImproperError, match=f"{place}.*no sampled road"):
            ask()
    # The other road is open where the posterior is proper.
    if case != "a structural zero":
        assert np.isfinite(clf.sample_posterior(5, 2)["posterior"]["pi"]).all()


# What is refused


def small() -> tuple[BayesianNB, pd.DataFrame, list[str]]:
    X, y = pd.DataFrame({"x": [1.0, 2.0, 4.0, 3.0]}), ["u", "u", "v", "v"]
    return BayesianNB().fit(X, y), X, y


FEWER = r"rows \{u: 2, v: 1\} were given, and rows \{u: 2, v: 2\} were learned"
REFUSED = {
    "an unknown likelihood": (
        4,
        "uuvv",
        "row",
        "Expected likelihood to be one of 'joint', 'rows' or 'sufficient'; got 'row'; did you mean 'rows'?",
    ),
    "no rows": (0, None, "rows", "pass the rows"),
    "no labels": (4, None, "rows", "y is None"),
    "fewer rows": (3, "uuv", "rows", FEWER),
    "other labels": (4, "uuuv", None, r"rows \{u: 3, v: 1\} were given"),
    "a label that was never learned": (4, "uuvw", "rows", "class 'w' was never learned"),
}


@pytest.mark.parametrize(("n", "y", "likelihood", "said"), REFUSED.values(), ids=REFUSED)
def test_rows_that_are_not_those_learned_are_refused(n, y, likelihood, said):
    clf, X, _ = small()
    with pytest.raises(ValueError, match=said):
        clf.to_pymc(X.iloc[:n] if n else None, y and list(y), likelihood)


def observed_by(model: pm.Model) -> dict[str, np.ndarray]:
    return {v.name: model.rvs_to_values[v].data for v in model.observed_RVs}


def test_a_model_observes_the_rows_that_it_is_given_without_their_missing_cells_and_the_estimator_stays():
    X = pd.DataFrame({"x": [1.0, np.nan, 4.0], "c": ["a", "b", None], "b": [True, None, False]})
    y = ["u", "v", "u"]
    clf = BayesianNB({"b": Bernoulli()}).fit(X, y)
    before, names = clf.predict_proba(X), set(vars(clf))
    assert observed_by(clf.to_pymc()) == observed_by(clf.to_pymc(X, y, "sufficient")) == {}
    joint = clf.to_pymc(X, y)
    assert {name: value.tolist() for name, value in observed_by(joint).items()} == {"y": [0, 1, 0]}
    assert joint.named_vars_to_dims["y"] == ("row",)
    assert {name: value.tolist() for name, value in observed_by(clf.to_pymc(X, y, "rows")).items()} == {
        "y": [0, 1, 0], "x_x": [1.0, 4.0], "x_c": [0, 1], "x_b": [1, 0]
    }  # fmt: skip
    assert set(vars(clf)) == names
    assert_allclose(clf.predict_proba(X), before, rtol=0)


def test_pymc_computes_from_the_rows_what_the_tree_has():
    X = pd.DataFrame({"x": [1.0, np.nan, 4.0, 3.0, 2.0], "c": ["a", "b", None, "a", "b"], "n": [1, 2, 3, 4, 5]})
    y = ["u", "v", "u", "v", "v"]
    clf = BayesianNB({"n": Poisson()}, random_state=0).fit(X, y)
    tree = clf.sample_posterior(300, 2, X=X, y=y)
    drawn = xarray.DataTree.from_dict({"posterior": tree["posterior"].dataset})
    quick = {"progressbar": False, "compile_kwargs": {"mode": "FAST_COMPILE"}}
    with clf.to_pymc(X, y):
        found = pm.compute_log_likelihood(drawn, extend_inferencedata=False, **quick)
        again = pm.sample_posterior_predictive(drawn, random_seed=1, **quick)["posterior_predictive"]
    assert_allclose(found["y"], tree["joint/log_likelihood"]["y"], rtol=1e-9)
    assert found["y"].dims == again["y"].dims == tree["posterior_predictive"]["y"].dims
    data, n = clf.classifier_.read(X)
    joint = draws.parameters(tree, clf.posterior_).log_joint(data, n)
    p = np.exp(joint - np.logaddexp.reduce(joint, axis=-1, keepdims=True))[..., 1]
    z = (again["y"].to_numpy() - p).sum((0, 1)) / np.sqrt((p * (1 - p)).sum((0, 1)))
    assert np.abs(z).max() < 4.5


# Sampling, where the exact road is closed or the model is unusual


@pytest.mark.nuts
def test_nuts_samples_a_model_whose_class_probabilities_are_known():
    X = pd.DataFrame({"x": [1.0, 2.0, 4.0, 3.0, 2.5, 3.5]})
    clf = BayesianNB(Gaussian(NormalGamma(2.0, 1.0, 2.0, 2.0)), class_prior={"u": 0.25, "v": 0.75})
    clf.fit(X, ["u", "u", "v", "v", "u", "v"])
    tree = clf.sample_posterior(500, 4, "nuts", random_seed=0)
    assert_allclose(tree["posterior"]["pi"], np.broadcast_to([0.25, 0.75], (4, 500, 2)))
    error = tree["posterior"]["mu_x"].mean(("chain", "draw")).to_numpy() - clf.posterior_.features["x"].m[:, 0]
    assert (np.abs(error) < 0.1).all()
