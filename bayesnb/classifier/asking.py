"""What to ask next: which missing value of a row, and which label of rows without one.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. The formulas are in
``answers.asking``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from scipy.stats import entropy

from bayesnb.answers import asking as formulas
from bayesnb.answers.decisions import matrix_of
from bayesnb.classifier.tabular import index_of
from bayesnb.data.rows import table_of
from bayesnb.data.targets import labels_of
from bayesnb.families.support import BAG
from bayesnb.model import Data, normalize, part_of
from bayesnb.priors import Array
from bayesnb.statistics.membership import Responsibilities

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier


def ask_next(
    self: Classifier, row: Any, costs: pd.DataFrame | None = None, feature_costs: Mapping[Any, float] | None = None
) -> pd.DataFrame:
    """Which missing value of a row is worth asking for, the best first.

    Parameters
    ----------
    row : table of one row
        Columns that are missing, or that the table does not have, may be asked for; of columns with
        :class:`bayesnb.Missing` only those that it does not have.
    costs : DataFrame (class, decision), optional
        The cost of each decision if each class is the true one, as :meth:`decide` takes them.
    feature_costs : {column: cost}, optional
        What asking for each missing column costs, in the unit of ``costs``.

    Returns
    -------
    DataFrame (column, ...)
        ``information``: by how much the entropy of the class is expected to fall when the value is known, in nats, the
        mutual information of class and value given the row. With ``costs`` also ``saving``, by how much the expected
        cost of the best decision falls; ``cost`` of asking; and ``gain``, their difference: ask while the best is above
        0. ``attrs["entropy"]`` is that of the class now, ``attrs["left_out"]`` the largest probability of values that
        sums and integrals left out, and ``attrs["not_asked"]`` lists missing columns that have no one value: bags of
        words, counts whose exposure is missing, and cells that are known to be missing where that says something about
        the class (:class:`bayesnb.Missing`).

    Raises
    ------
    TypeError, ValueError
        If there is not one row, ``costs`` are not as :meth:`decide` takes them, or ``feature_costs`` have no costs to
        stand against, miss a missing column or name one that was not fitted.

    Notes
    -----
    The value has its predictive distribution given the rest of the row, Σ_c p(c | x, D) p(value | c, D), and each value
    would make the class probabilities those of the completed row: exact sums for levels, zeros and ones; for counts up
    to a tail of 1e-10; quadrature for real columns. With a ``dependence``, values are as naive Bayes expects them, and
    the class is as the exponents say of the completed row.

    It looks one question ahead: two columns that tell something only together are both worth little. Ask again after
    each answer.

    References
    ----------
    Lindley (1956), On a measure of the information provided by an experiment; Raiffa and Schlaifer (1961), Applied
    Statistical Decision Theory, chapter 4.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> costs = pd.DataFrame({"play": [10.0, 0.0], "stay": [0.0, 4.0]}, index=["no", "yes"])
    >>> price = {"outlook": 0.2, "temperature": 0.1, "humidity": 0.1}
    >>> clf.ask_next({"wind": ["strong"]}, costs, price).round(3)
                 information  saving  cost   gain
    column
    outlook            0.063   0.251   0.2  0.051
    temperature        0.010   0.000   0.1 -0.100
    humidity           0.063   0.000   0.1 -0.100
    """
    self.require_one_class_prior("what to ask next")
    table = table_of(row, self.schema)
    if table.n_rows != 1:
        raise ValueError(f"Expected a table of one row, such as X[:1]; got {table.n_rows} rows")
    cost_matrix = None if costs is None else matrix_of(costs, self.classes)
    self.posterior.warn_of_chains()
    _, data = self.schema.read(table, absent="missing")
    before = self.log_joint(data, 1)
    log_proba, before = normalize(before)[0], before[0]
    log_row, columns, not_asked, left_out = float(logsumexp(before)), {}, [], 0.0
    flags = self.schema.flags
    for name, feature in self.schema.features.items():
        if feature.indicates:
            continue
        x, family = data[name], feature.family
        if family.support is BAG:
            counts = x.counts
            if not hasattr(counts, "indptr") and np.isnan(counts).all():
                not_asked.append(name)
            continue
        cells = getattr(x, "counts", x)
        missing = x.missing() if hasattr(x, "levels") else np.isnan(cells)
        for j in np.flatnonzero(missing[0]):
            column = feature.columns[j]
            flag = flags.get(column)
            known_missing = flag is not None and data[flag[0]][0, flag[1]] == 1
            if known_missing or np.isnan(getattr(x, "exposure", np.zeros(1))[0]):
                not_asked.append(column)
                continue
            with self.statistics.about(name):
                if flag is None:
                    joint, rest = _joint_of(self, data, name, j, before)
                else:
                    joint, rest = _joint_with_missing(self, data, name, j, flag, log_row)
            left_out = max(left_out, rest)
            columns[column] = {"information": formulas.information(joint)}
            if cost_matrix is not None:
                columns[column]["saving"] = formulas.saving(joint, cost_matrix)
    found = pd.DataFrame.from_dict(columns, orient="index", columns=["information", *["saving"] * (costs is not None)])
    found = found.rename_axis("column")
    prices = _prices(self, feature_costs, costs, found.index)
    if costs is not None:
        found["cost"] = prices
        found["gain"] = found["saving"] - found["cost"]
    found = found.sort_values("information" if costs is None else "gain", ascending=False, kind="stable")
    found.attrs |= {"entropy": float(entropy(np.exp(log_proba))), "left_out": left_out, "not_asked": not_asked}
    return found


def _joint_of(self: Classifier, data: Data, name: Any, column: int, before: Array) -> tuple[Array, float]:
    """p(class, value | the rest of the row) of a missing cell, (value, class), and the probability that is left out."""
    family, believed = self.schema.features[name].family, self.posterior.features[name]
    log_joint, log_row = _log_joint_of(self, data, name, column, before), float(logsumexp(before))
    return formulas.joint_of(family, believed, data[name], column, log_joint, log_row)


def _joint_with_missing(
    self: Classifier, data: Data, name: Any, column: int, flag: tuple[Any, int], log_row: float
) -> tuple[Array, float]:
    """The same where the answer may also be that the cell is missing, which is the last of the values.

    ``flag`` is the feature, and the column of it, that says whether the cell is missing.
    """
    there, gone = (
        {**data, flag[0]: formulas.completed(data[flag[0]], flag[1], np.array([answer]))} for answer in (0.0, 1.0)
    )
    before, missing = self.log_joint(there, 1)[0], self.log_joint(gone, 1)[0]
    joint, left_out = _joint_of(self, there, name, column, before)
    present = np.exp(logsumexp(before) - log_row)
    return np.vstack([present * joint, np.exp(missing - log_row)]), float(present * left_out)


def _log_joint_of(self: Classifier, data: Data, name: Any, column: int, before: Array) -> Callable[[Array], Array]:
    """The function of values of one cell that is log p(class, row) with each of these values, (value, class)."""
    x = data[name]
    if self.dependence is None and self.plug_in is None:
        # The other features say of the class what they said before.
        family, believed = self.posterior.model.features[name], self.posterior.features[name]
        others = before - family.log_predictive(believed, x)
        return lambda values: others + family.log_predictive(believed, formulas.completed(x, column, values))

    def log_joint(values: Array) -> Array:
        rows = {**part_of(data, np.zeros(len(values), np.intp)), name: formulas.completed(x, column, values)}
        return self.log_joint(rows, len(values))

    return log_joint


def _prices(self: Classifier, feature_costs: Any, costs: Any, asked: pd.Index) -> list[float]:
    """What each of the columns costs."""
    if feature_costs is None:
        return [0.0] * len(asked)
    if costs is None:
        raise ValueError(
            "feature_costs are subtracted from what an answer saves, and without costs there is no saving: pass costs "
            "as for decide, in the same unit"
        )
    prices = dict(feature_costs)
    for name, price in prices.items():
        if name not in self.schema.names:
            raise ValueError(
                f"feature_costs: column {name!r} was not fitted; the columns are {list(self.schema.names)}"
            )
        if not isinstance(price, Real) or isinstance(price, bool) or not np.isfinite(price):
            raise ValueError(f"feature_costs, column {name!r}: Expected a finite number; got {price!r}")
    if missing := [name for name in asked if name not in prices]:
        raise ValueError(f"feature_costs: Expected the cost of each missing column; got none for {missing[0]!r}")
    return [float(prices[name]) for name in asked]


def label_next(self: Classifier, X: Any, n: int = 1, draws: int = 4000) -> pd.DataFrame:
    """Which rows without a label to label next, the best first.

    The best row is the one whose label is expected to tell most about the parameters: the mutual information of the
    label and θ, ``epistemic`` of :meth:`uncertainty` (BALD: Houlsby, Huszár, Ghahramani and Lengyel 2011). It is large
    where the model does not know yet, and small where classes overlap however many rows are learned.

    Parameters
    ----------
    X : table
        Rows without a label.
    n : int
        How many to choose. After each choice the row is learned with its *expected* label, p(c | x, D) of it in each
        class, so that rows like it have little left to tell, and a batch is not n copies of one row.
    draws : int
        Draws of the parameters, the same for all rows.

    Returns
    -------
    DataFrame (row, ...)
        In the order of choice, with the index of ``X``: ``information`` in nats when the row was chosen, ``prediction``
        and its ``probability`` by what was learned before.

    Raises
    ------
    ValueError
        If ``n`` is not between 1 and the number of rows; for more than one row if a feature is sampled.

    Notes
    -----
    The classifier stays as it is. Expected labels stand in for those that are not known yet, as in sequential design
    with hallucinated observations (Desautels, Krause and Burdick 2014). With a ``dependence``, the exponents are held.

    References
    ----------
    Houlsby, Huszár, Ghahramani and Lengyel (2011), Bayesian active learning for classification and preference learning;
    Desautels, Krause and Burdick (2014), Parallelizing exploration-exploitation tradeoffs.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.penguins()
    >>> X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)  # in random order
    >>> clf = BayesianNB(random_state=0).fit(X[:8], y[:8])
    >>> clf.label_next(X[8:108], n=2)[["prediction"]]
        prediction
    113  Chinstrap
    7    Chinstrap
    """
    data, n_rows = self.read(X)
    if not isinstance(n, Integral) or isinstance(n, bool) or not 1 <= n <= n_rows:
        raise ValueError(f"Expected n from 1 to the number of rows, {n_rows}; got {n!r}")
    if n > 1:
        self.require_one_class_prior("a batch of rows to label")
        self.posterior.model.require_exact("learning a row", "ask for one row at a time, n=1")
    log_proba = normalize(self.log_joint(data, n_rows))
    held, chosen, told = self, [], []
    for _ in range(n):
        if chosen:
            held = _with_expected_label(held, part_of(data, np.array(chosen[-1:])), np.exp(log_proba[chosen[-1:]]))
        found = held.uncertainty(X, draws=draws)["epistemic"].to_numpy(copy=True)
        found[chosen] = -np.inf
        chosen.append(int(found.argmax()))
        told.append(found[chosen[-1]])
    best = log_proba[chosen].argmax(1)
    index = pd.RangeIndex(n_rows) if index_of(X) is None else index_of(X)
    columns = {"information": told, "prediction": self.classes[best]}
    columns["probability"] = np.exp(log_proba[chosen, best])
    return pd.DataFrame(columns, index=index[chosen])


def _with_expected_label(self: Classifier, row: Any, proba: Any) -> Classifier:
    """The same with one more row, in each class with the probability of it."""
    posterior = self.posterior
    seen = posterior.model.statistics(row, Responsibilities(proba), labels_of(self.classes))
    return replace(self, posterior=posterior.given(posterior.statistics + seen)).with_estimate(self.estimate)
