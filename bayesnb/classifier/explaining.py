"""Why a prediction is what it is, and what was learned: contributions, parameters, evidence.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. The formulas are in ``explain``
and ``model``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.answers import explain as formulas
from bayesnb.answers import parameters, weighted
from bayesnb.answers.uncertainty import probability_of_interval
from bayesnb.classifier.certainty import answering, require_two_classes
from bayesnb.classifier.exponents import point
from bayesnb.classifier.far_rows import FarRowError
from bayesnb.classifier.tabular import index_of
from bayesnb.data.choice import FamilyChoice
from bayesnb.data.rows import table_of
from bayesnb.data.targets import codes_of
from bayesnb.data.unseen import cells_of, unseen_levels
from bayesnb.dependence import terms
from bayesnb.model import Evidence, Parameters, normalize
from bayesnb.priors import Array

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier


def explain(
    self: Classifier, X: Any, label: Any = None, against: Any = None, unit: str = "nats", prob: float | None = None
) -> pd.DataFrame:
    """The contributions of each row: what each of its values adds to the log-odds of two classes.

    Parameters
    ----------
    X : table
    label, against : optional
        The two classes. By default, the most probable class and the second most probable. If only one is given, the
        other is the most probable of the rest.
    unit : {"nats", "bits", "decibans"}
        A deciban is a tenth of a factor of ten.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.

    Returns
    -------
    DataFrame ((row, entry), ...)
        ``label``, ``against``, ``value``, ``log_odds``, ``lower``, ``upper``, ``missing``. The first entry is
        "(prior)", then comes one entry a column (one a word, for bags of words), and last "(total)", the sum of the
        others: the log-odds by the chosen estimate. The interval is equal-tailed, of the entry's log-odds under the
        posterior of the parameters given the learned rows alone, by the saddlepoint approximation, or by draws if a
        feature is sampled. A level that was never seen is ``missing`` too, and stands under ``value``.

    Notes
    -----
    With a dependence, an entry is what the column says times its exponent, plus the offset of its cell, and the
    interval is of 1000 draws of the parameters and the exponents. Further entries are "(offset)", of the class, the
    shapes, pairs and joint columns, and, by the "predictive" estimate, "(averaging)": what it adds to average class
    probabilities over the exponents instead of taking their mean.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.explain(X[:1])[["value", "log_odds"]].round(2).droplevel("row")
                 value  log_odds
    entry
    (prior)       None     -0.51
    outlook      sunny      0.69
    temperature    hot      0.41
    humidity      high      0.68
    wind          weak     -0.40
    (total)       None      0.87
    """
    if unit not in formulas.UNITS:
        raise ValueError(f"Expected unit to be one of {list(formulas.UNITS)}; got {unit!r}")
    table = table_of(X, self.schema)
    self.require_offset_of(table)
    self.posterior.warn_of_chains()
    data, n = self.encoded_table(table), table.n_rows
    if not n:
        raise ValueError("there are no rows to explain")
    tail = (1 - probability_of_interval(prob)) / 2
    log_joint = self.log_joint(data, n)
    pairs, shares = _contrast(self, log_joint, label, against), (tail, 1 - tail)
    if self.dependence is None:
        drawn = None if self.posterior.model.exact else answering(self, "draws", 4000, "data")
        contributions = formulas.contributions(
            self.schema, self.posterior, self.plug_in, data, pairs, shares, drawn, self.offset
        )
    else:
        believed = self.posterior, self.dependence, self.plug_in, point(self)
        seed = 0 if self.seed is None else copy.deepcopy(self.seed)
        contributions = weighted.contributions(
            self.schema, *believed, data, log_joint, pairs, shares, seed, self.offset
        )
    unknown = np.isfinite(contributions["log_odds"]) & contributions[["lower", "upper"]].isna().any(axis=1)
    if unknown.any():
        raise FarRowError(np.unique(contributions.index.get_level_values("row")[unknown]))
    for name in unseen_levels(self.schema, table):
        # A level that was never seen adds nothing, as a missing value; but it is shown.
        here = contributions.index.get_level_values("entry") == name
        kept, cells = contributions.loc[here, "value"].tolist(), cells_of(table, self.schema, name)
        contributions["value"] = contributions["value"].astype(object)
        contributions.loc[here, "value"] = [cell if old is None else old for old, cell in zip(kept, cells, strict=True)]
    contributions[["log_odds", "lower", "upper"]] *= formulas.UNITS[unit]
    contributions.attrs["unit"] = unit
    return contributions if index_of(X) is None else formulas.by_index(contributions, index_of(X))


def _contrast(self: Classifier, log_joint: Array, label: Any, against: Any) -> Array:
    """The two classes that each row compares, as codes (row, 2)."""
    require_two_classes(self)
    normalize(log_joint)
    given = [None if c is None else int(codes_of(self.classes, np.asarray([c]))[0]) for c in (label, against)]
    if None not in given and given[0] == given[1]:
        raise ValueError(f"Expected two different classes; got {label!r} twice")
    pairs, rest, row = np.empty((len(log_joint), 2), np.intp), log_joint.copy(), np.arange(len(log_joint))
    for place, code in enumerate(given):
        if code is not None:
            pairs[:, place], rest[:, code] = code, np.nan
    for place, code in enumerate(given):
        if code is None:
            pairs[:, place] = np.nanargmax(rest, axis=1)
            rest[row, pairs[:, place]] = np.nan
    return pairs


def tables(self: Classifier) -> dict[Any, pd.DataFrame]:
    """The parameters of each feature as a table, and the class probabilities under "(class)".

    They are the parameters of the chosen estimate (the posterior mean for "predictive"): the probabilities of levels,
    "mean" and "sd" of real numbers, "rate" of counts. There is one row for each class (and column). With a dependence,
    ``exponents_`` stands under "(exponents)".

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.tables()["wind"].round(2)
           strong  weak
    class
    no       0.57  0.43
    yes      0.36  0.64
    """
    self.posterior.warn_of_chains()
    shown = _point(self)
    found = parameters.parameter_tables(self.schema, shown, self.classes)
    return found if self.dependence is None else found | {"(exponents)": self.exponents_}


def linear_form(self: Classifier) -> tuple[pd.DataFrame, pd.Series]:
    """The classifier as softmax regression: p(c | x) ∝ exp(γ_c + β_c · φ(x)).

    Returns
    -------
    weights : DataFrame (term, class)
        β. A term is (column, level) for a categorical feature, where φ is 1 at the level the row has,
        and (column, "") for a number, where φ is its value.
    intercept : Series (class,)
        γ.

    Raises
    ------
    ValueError
        If the log-odds are not linear. The error names the feature: a Gaussian whose variance differs between classes,
        or a predictive that is not a plug-in (use ``estimate="mean"``). With a dependence, weights are multiplied by
        the exponents, and anything but exponents of features is refused.

    References
    ----------
    Murphy, PML1, 9.3.4; Mitchell (2017), Generative and discriminative classifiers.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> weights, intercept = clf.linear_form()
    >>> weights.loc["wind"].round(2)
              no   yes
    level
    strong -0.56 -1.01
    weak   -0.85 -0.45
    """
    self.posterior.warn_of_chains()
    shown = _point(self)
    return parameters.linear_form(self.schema, shown, self.classes, self.estimate, _linear_exponents(self))


def _linear_exponents(self: Classifier) -> Array | None:
    """The exponents by which the columns of a linear form are multiplied, (class, column + 1); ``None`` without any."""
    if self.dependence is None:
        return None
    if point(self) is None:
        raise ValueError(
            "class probabilities are averaged over the exponents, and an average of softmax regressions is none; use "
            'estimate="mean" or "map"'
        )
    spec, exponents = self.dependence.spec, self.dependence.exponents
    if spec.by == "class" or exponents.layout.cells or not self.dependence.statistics.cells.empty:
        raise ValueError(
            "shapes, pairs, joint columns, offsets of cells and exponents by class are not linear in the columns; use "
            'dependence="tempered" or Exponents(shapes=False, offsets="class")'
        )
    v = exponents.layout.exponents(exponents.at(point(self)).points[0])
    columns = terms.names(self.posterior)
    return v if spec.by == "feature" else np.column_stack([np.repeat(v[:, :1], len(columns), axis=1), v[:, -1]])


def _point(self: Classifier) -> Parameters:
    """The parameters to show: those that the estimate plugs in, or the posterior mean."""
    self.require_one_class_prior("a table of the parameters")
    return self.posterior.mean() if self.plug_in is None else self.plug_in


def describe(self: Classifier) -> pd.DataFrame:
    """One row a feature: its family, prior, columns, levels and share of missing values, and why it has this family.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.describe()[["family", "prior", "levels"]]
                      family                 prior                 levels
    feature
    outlook      Categorical  Dirichlet(alpha=1.0)  overcast, rain, sunny
    temperature  Categorical  Dirichlet(alpha=1.0)        cool, hot, mild
    humidity     Categorical  Dirichlet(alpha=1.0)           high, normal
    wind         Categorical  Dirichlet(alpha=1.0)           strong, weak
    """
    return self.schema.describe(self.statistics)


def log_evidence(self: Classifier) -> Evidence:
    """Log marginal likelihood of what was learned: ``.joint`` is log p(X, y), ``.conditional`` log p(X | y).

    Raises
    ------
    ValueError
        If it does not exist: under an improper prior, of a sampled feature, after a fit with unlabelled rows.
    """
    self.require_one_class_prior("the evidence")
    self.require_counted("rows that were counted have a marginal likelihood")
    return self.posterior.log_evidence()


def log_evidence_(self: Classifier) -> Evidence:
    """Log marginal likelihood of what was learned: ``.joint`` is log p(X, y), ``.conditional`` log p(X | y).

    With a ``dependence`` it is that of naive Bayes, the same as without: exponents make no density of the columns, so
    they have no evidence. It does not say which dependence is better; ``evaluate`` with ``cv=5`` does.

    Raises
    ------
    AttributeError
        If it does not exist: under an improper prior, of a sampled feature, after a fit with unlabelled rows.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> round(clf.log_evidence_.joint, 2), round(clf.log_evidence_.features["outlook"], 2)
    (-65.36, -16.49)
    """
    try:
        return self.log_evidence()
    except ValueError as error:
        # Python and scikit-learn ask for every attribute, to list and to show them: a property may only be absent.
        raise AttributeError(f"log_evidence_ does not exist: {error}") from error


def choice_(self: Classifier) -> FamilyChoice:
    """The families that the first rows chose, and what was tried; absent unless families were chosen.

    Examples
    --------
    >>> from bayesnb import BayesianNB, BestFamily, Gaussian, LogNormal, datasets
    >>> X, y = datasets.heights()
    >>> BayesianNB(BestFamily([Gaussian(), LogNormal()])).fit(X, y).choice_.table[["log_score", "chosen"]].round(2)
                         log_score  chosen
    column    family
    height_cm Gaussian      -18.42    True
              LogNormal     -18.47   False
    weight_kg Gaussian      -18.45   False
              LogNormal     -18.42    True
    """
    each = {name: (f.family, f.tried) for name, f in self.schema.features.items() if f.tried}
    if not each:
        raise AttributeError('choice_ does not exist: no column has chosen its family; fit with features="best"')
    return FamilyChoice.of(each)
