"""Tables of the parameters of a fitted model, and the classifier as softmax regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data.encoders import Feature
from bayesnb.data.schema import CLASS, EXPONENTS
from bayesnb.dependence.learned import weighed
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.questions import Shown, question
from bayesnb.inference.scorecard import percent
from bayesnb.model import Parameters, about
from bayesnb.priors import Array, Theta


def _table(feature: Feature, theta: Theta, label: pd.Index) -> pd.DataFrame:
    known = feature.family.exact or feature.levels is not None
    values = feature.family.readable(theta) if known else dict(theta)
    if feature.family.support.kind == "bag":
        return pd.DataFrame(values["probability"], index=label, columns=list(feature.columns))
    parts = {}
    for k, column in enumerate(feature.columns):
        cells = {what: value[:, k] for what, value in values.items()}
        if feature.family.whole_rows:
            cells = _beside_others(cells, feature.columns)
        if feature.levels is not None:
            parts[column] = pd.DataFrame(
                cells["probability"][:, : len(feature.levels[k])], index=label, columns=list(feature.levels[k])
            )
        elif feature.family.support.kind == "zero_one":
            parts[column] = pd.DataFrame(cells["probability"], index=label, columns=[0, 1])
        else:
            parts[column] = pd.DataFrame(_one_by_one(cells), index=label)
    if len(parts) == 1:
        return next(iter(parts.values()))
    return pd.concat(parts, names=["column", "class"]).swaplevel()


def _beside_others(cells: Mapping[str, Array], columns: Sequence[Any]) -> dict[str, Array]:
    """The parameters of one column of a multivariate feature, by name, such as a row of the covariance matrix."""
    # Elements of matrices are named "… with <other column>".
    found = {}
    for what, value in cells.items():
        names = [what] if value.ndim == 1 else [f"{what} with {other}" for other in columns]
        found |= dict(zip(names, value.reshape(len(value), -1).T, strict=True))
    return found


def _one_by_one(cells: Mapping[str, Array]) -> dict[str, Array]:
    found = {}
    for what, value in cells.items():
        for place in np.ndindex(value.shape[1:]):
            found[f"{what}[{', '.join(map(str, place))}]" if place else what] = value[:, *place]
    return found


def _to_powers(feature: Feature, theta: Theta, exponents: Array) -> tuple[Array, Array]:
    if feature.family.whole_rows:
        each = [feature.family.linear(theta)]
    else:
        columns = range(len(feature.columns))
        each = [feature.family.linear({what: v[:, [k]] for what, v in theta.items()}) for k in columns]
    powers = exponents.T
    beta = [weighed(power[:, None], beta) for power, (beta, _) in zip(powers, each, strict=True)]
    return np.concatenate(beta, axis=1), sum(power * offset for power, (_, offset) in zip(powers, each, strict=True))


def _products(feature: Feature, curvature: Array) -> Mapping[tuple[Any, Any], Array]:
    """The nonzero coefficients of squares of columns and of products of two columns, (class,) each."""
    columns, squared = feature.columns, feature.family.argument and f"{feature.family.argument}²"
    return {
        (column, squared or columns[j]): curvature[:, i, j] * (1 + (i < j))
        for i, column in enumerate(columns)
        for j in range(i, len(columns))
        if curvature[:, i, j].any()
    }


def _terms(feature: Feature, beta: Array) -> Mapping[tuple[Any, Any], Array]:
    if feature.text is not None:
        return {(feature.source[0], word): beta[:, k] for k, word in enumerate(feature.columns)}
    if feature.levels is None:
        return {(column, feature.family.argument): beta[:, k] for k, column in enumerate(feature.columns)}
    widest = beta.shape[1] // len(feature.columns)
    return {
        (column, level): beta[:, k * widest + i]
        for k, column in enumerate(feature.columns)
        for i, level in enumerate(feature.levels[k])
    }


def _upright(found: Mapping[Any, pd.DataFrame]) -> dict[Any, pd.DataFrame]:
    return {
        name: frame.T.rename_axis("level") if frame.shape[1] > 8 and frame.index.nlevels == 1 else frame
        for name, frame in found.items()
    }


def _notes(found: Mapping[Any, pd.DataFrame]) -> str:
    said = (
        "(exponents): 1 is naive Bayes, 0 leaves a column out. In an average of models, mean, sd and interval are over "
        "all models, and a model without a term has the exponent 0 for it. log Bayes factor: of a learned exponent "
        "against 1 (columns) or 0 (further terms)."
    )
    return said if EXPONENTS in found else ""


@question(
    "the parameters as tables", "why", shown=Shown("Parameters", lines=_upright, notes=_notes, top=40, finding=False)
)
def tables(classifier: Classifier) -> dict[Any, pd.DataFrame]:
    """The parameters of each feature as a table, and the class probabilities under "(class)".

    Levels have probabilities, real numbers have a "mean" and "sd", and counts have a "rate". The tables hold the values
    of the chosen estimate, or the posterior means for "predictive". With a ``dependence``, the entry "(exponents)"
    holds ``exponents_``.

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
    classifier.posterior.warn_of_chains()
    shown, label, features = _point(classifier), pd.Index(classifier.classes, name="class"), classifier.schema.features
    found = {CLASS: pd.DataFrame({"probability": np.exp(shown.log_pi)}, index=label)}
    found |= {name: _table(feature, shown.features[name], label) for name, feature in features.items()}
    return found if not hasattr(classifier, "exponents_") else found | {EXPONENTS: classifier.exponents_}


@question("the weights of the same model as softmax regression", "why", "odds")
def linear_form(classifier: Classifier, quadratic: bool = False) -> tuple[pd.DataFrame, pd.Series]:
    """The classifier as softmax regression: p(c | x) ∝ exp(γ_c + β_c · φ(x)).

    Parameters
    ----------
    quadratic : bool
        Whether squares and products of columns may be terms, as in quadratic discriminant analysis.

    Returns
    -------
    weights : DataFrame (term, class)
        The weights β of the terms φ(x). For a categorical feature, the term (column, level) is 1 if the row has this
        level, and 0 otherwise. For text, the term (column, word) is the count of the word. For a column of numbers, the
        term is (column, ""), or (column, "ln") for a ``LogNormal``. With ``quadratic``, the term (column, other column)
        is a product, and (column, "ln²") is a squared logarithm.
    intercept : Series (class,)
        The intercepts γ.

    Raises
    ------
    ValueError
        If the log-odds are not linear. Class-specific Gaussian variances need ``quadratic=True``. With
        ``estimate="predictive"``, only categorical and 0/1 columns have a linear form; for other columns, use
        ``estimate="mean"``.

    References
    ----------
    Murphy, PML1, 9.3.4; Mitchell (2017), Generative and discriminative classifiers.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, odds
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> weights, intercept = odds.linear_form(clf)
    >>> weights.loc["wind"].round(2)
              no   yes
    level
    strong -0.56 -1.01
    weak   -0.85 -0.45
    """
    # In an exponential family ln p(x | θ_c) = η_c · φ(x) - A(η_c) + ln h(x). The base measure h is the same for all
    # classes, so η_c are the weights, and ln π_c - A(η_c), summed over the columns, is the intercept. An exponent w of
    # a column multiplies both by w. A part of φ with the same weights in all classes cancels too.
    classifier.posterior.warn_of_chains()
    shown, exponents = _point(classifier), classifier.believed.linear_exponents()
    intercept, weights, term = shown.log_pi + (0.0 if exponents is None else exponents[:, -1]), {}, 0
    for name, feature in classifier.schema.features.items():
        with about(f"feature {name!r} has no linear form"):
            if classifier.believed.point is None and feature.family.support.kind not in ("levels", "zero_one"):
                raise ValueError('its predictive is not a plug-in; use estimate="mean", "map" or "mle"')
            width, theta = 1 if feature.family.whole_rows else len(feature.columns), shown.features[name]
            powers = np.ones((len(intercept), width)) if exponents is None else exponents[:, term : term + width]
            term += width
            form = feature.family.quadratic(theta) if quadratic else None
            if form is not None and not np.allclose(form[0], form[0][:1], rtol=1e-9, atol=0):
                curvature, beta, offset = (power * part for power, part in zip(
                    (powers[..., None], powers, powers), form, strict=True))  # fmt: skip
                weights |= _products(feature, curvature)
                offset = offset.sum(-1)
            elif exponents is None:
                beta, offset = feature.family.linear(theta)
            else:
                beta, offset = _to_powers(feature, theta, powers)
        intercept = intercept + offset
        weights |= _terms(feature, beta)
    columns = pd.Index(classifier.classes)
    frame = pd.DataFrame(np.array(list(weights.values())).reshape(len(weights), -1), columns=columns)
    frame.index = pd.MultiIndex.from_tuples(list(weights), names=["column", "level"])
    return frame, pd.Series(intercept, index=columns, name="intercept")


def _point(classifier: Classifier) -> Parameters:
    classifier.require_one_class_prior("a table of the parameters")
    return classifier.posterior.point("mean") if classifier.believed.plug_in is None else classifier.believed.plug_in


def _telling(found: pd.DataFrame) -> pd.DataFrame:
    telling = {"columns": found["columns"] != 1, "chosen": found["chosen"].str.contains(" ")}
    found = found.assign(missing=found["missing"].map(percent))
    return found.drop(columns=[name for name, rows in telling.items() if not rows.any()])


@question(
    "to know which family reads which column", "why",
    shown=Shown("How each column was read", lines=_telling, top=40, finding=False),
)  # fmt: skip
def describe(classifier: Classifier) -> pd.DataFrame:
    """How each feature is modelled, such as its family, prior, levels and share of missing values.

    There is one row per feature. Column ``prior`` also shows settings that are known instead of learned, such as the r
    of a negative binomial. Column ``chosen`` gives the reason for the choice of the family. ``attrs["rows"]`` is the
    weight of all learned rows, and ``attrs["effective_rows"]`` is (Σ w)² / Σ w² (Kish 1965). If ``effective_rows``
    is much smaller than ``rows``, and the weights are not counts, see :func:`bayesnb.model.reliability_weights`.

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
    statistics = classifier.statistics
    found = classifier.schema.describe(statistics, classifier.posterior.model.features)
    found.attrs |= {"rows": float(statistics.rows.sum()), "effective_rows": statistics.effective_rows}
    return found
