"""What to observe next: which missing value of a row to measure, and which row to label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import entr, logsumexp, xlogy

from bayesnb.data.readings import Bounded
from bayesnb.families.columns import Coded
from bayesnb.families.family import Family
from bayesnb.families.rates import Exposed
from bayesnb.inference.classifier import Classifier, index_of
from bayesnb.inference.decide import matrix_of
from bayesnb.inference.questions import Shown, question
from bayesnb.model import Data, normalize, part_of
from bayesnb.priors import Array, Belief
from bayesnb.progress import counted
from bayesnb.wording import Message, Spelled, require_whole, shown_value, some

TAIL = 1e-10
"""Largest probability that a sum over counts leaves out."""


MOST_COUNTS = 2**20
"""Largest number of counts to sum over."""


DRAWS = 1024
"""Draws that place the quadrature nodes of a real column."""


NODES = 8
"""Gauss-Legendre nodes per panel."""


MOST_ROUNDED = 2**8
"""Largest number of rounded values to sum over."""


MOST_TOGETHER, NEVER = 2**21, 1e-13
"""Largest number of values of a cell that becomes several feature columns, and the probability of omitted values."""


def completed(x: Any, column: int, values: Array) -> Any:
    """Copies of an encoded row, each with one of ``values`` in ``column``."""
    rows = x[np.zeros(len(values), np.intp)]
    match rows:
        case Coded():
            return replace(rows, codes=_put(rows.codes, column, values))
        case Exposed():
            return replace(rows, counts=_put(rows.counts, column, values))
        case _:
            return _put(rows, column, values)


def _put(cells: Array, column: int, values: Array) -> Array:
    cells = np.array(cells)
    cells[:, column] = values
    return cells


def joint_of(
    family: Family, believed: Belief, x: Any, column: int, log_joint: Callable[[Array], Array], log_row: float
) -> tuple[Array, Array, float]:
    """Joint distribution of a missing cell and the class: values, p(value, class), and the omitted probability."""
    # log_joint(values): log p(class, row), (value, class), if the cell has these values; log_row: log p(other cells)

    # Counts are summed until the other counts have a probability of at most ``TAIL``. Real columns are integrated by
    # Gauss-Legendre quadrature on panels between the quantiles of each class, with wider and wider panels beyond.
    # Rounded numbers are summed, unless the unit of rounding is small.
    def found(values: Array, log_weight: Array | float = 0.0) -> Array:
        return np.exp(log_joint(values) - log_row + np.reshape(log_weight, (-1, 1)))

    if family.support.kind in ("levels", "zero_one"):
        values = np.arange(len(x.levels[column])) if family.support.kind == "levels" else np.array([0.0, 1.0])
        joint = found(values)
    elif family.support.kind == "counts":
        joint, size = found(np.arange(64.0)), 64
        while joint.sum() < 1 - TAIL:
            if size >= MOST_COUNTS:
                raise ValueError(f"the counts below {size:,} hold a probability of only {joint.sum():.3g}")
            joint, size = np.concatenate([joint, found(np.arange(size, 2.0 * size))]), 2 * size
        values = np.arange(float(size))
    elif len(values := _rounded(family, believed, column)):
        joint = found(values)
    else:
        nodes, log_weight = _nodes(_drawn(family, believed, column), family.support.kind in ("positive", "nonnegative"))
        atoms = np.array(family.atoms)
        values = np.append(nodes, atoms)
        joint = found(values, np.append(log_weight, 0.0 * atoms))
    total = joint.sum()
    return values, joint / total, float(abs(1 - total))


def _rounded(family: Family, believed: Belief, column: int) -> Array:
    """The possible values of a column of rounded numbers; empty if there are more than ``MOST_ROUNDED``."""
    unit = family.unit_of(column)
    if unit is None:
        return np.empty(0)
    steps = np.rint(_drawn(family, believed, column) / unit)
    low, high = steps.min(), steps.max()
    if (away := (high - low) // 2 + 1) > MOST_ROUNDED // 4:
        return np.empty(0)
    return np.round(unit * np.arange(low - away, high + away + 1), 12 - int(np.floor(np.log10(unit))))


def are_summed(family: Family, column: int, values: Array) -> bool:
    """Whether the possible ``values`` of a cell are discrete, not nodes of numerical integration."""
    unit = family.unit_of(column)
    rounded = unit is not None and bool((np.abs(values / unit - np.rint(values / unit)) < 1e-6).all())
    return family.support.kind in ("levels", "zero_one", "counts") or rounded


def _drawn(family: Family, believed: Belief, column: int) -> Array:
    """Draws of the cell from each class's predictive distribution, (draw, class)."""
    # Atoms, values of positive probability, become NaN.
    rng = np.random.default_rng(0)
    theta = family.draw(believed, rng, (DRAWS,))
    n_classes = next(iter(theta.values())).shape[1]
    each = [
        family.sample({name: value[:, c] for name, value in theta.items()}, rng, None)[:, column]
        for c in range(n_classes)
    ]
    drawn = np.stack(each, axis=1)
    return np.where(np.isin(drawn, family.atoms), np.nan, drawn)


def _nodes(drawn: Array, positive: bool) -> tuple[Array, Array]:
    drawn = drawn[:, ~np.isnan(drawn).all(0)]
    edges = np.nanquantile(drawn, np.linspace(0, 1, 17), axis=0)
    width = np.maximum(edges[-1] - edges[0], np.finfo(float).eps * np.abs(edges).max(0))
    away = width * (2.0 ** np.arange(1, 40) - 1)[:, None]
    cuts = np.unique(np.concatenate([edges, edges[0] - away, edges[-1] + away]))
    if positive:
        cuts = np.concatenate([[0.0], cuts[cuts > 0]])
    at, step = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(cuts)[:, None] / 2
    nodes = cuts[:-1, None] + half * (at + 1)
    with np.errstate(divide="ignore"):
        weight = np.log(half * step)
    inside = nodes.ravel() > 0 if positive else np.isfinite(nodes.ravel())
    return nodes.ravel()[inside], weight.ravel()[inside]


def information(joint: Array) -> float:
    """Mutual information of class and value, in nats."""
    of_class, of_value = joint.sum(0), joint.sum(1)
    found = xlogy(joint, joint).sum() - xlogy(of_class, of_class).sum() - xlogy(of_value, of_value).sum()
    return max(0.0, float(found))


def saving(joint: Array, cost_matrix: Array) -> float:
    """Expected decrease in the cost of the best decision if the value is observed (Raiffa and Schlaifer 1961)."""
    each = joint @ cost_matrix
    return max(0.0, float(each.sum(0).min() - each.min(1).sum()))


@question(
    "to know which missing value to ask for",
    "what to do",
    "design",
    columns={
        "information": "expected decrease in the entropy of the class, in nats; outliers and wrong families can make "
        "the number far too large: column-gains measures the gain on the learned rows",
        "saving": "expected decrease in the cost of the best decision",
        "cost": "cost of observing the column",
        "gain": "saving minus cost",
    },
)
def ask_next(
    classifier: Classifier,
    row: Any,
    costs: pd.DataFrame | None = None,
    feature_costs: Mapping[Any, float] | None = None,
) -> pd.DataFrame:
    """Rank the missing values of a row by the benefit of observing them, the best first.

    Parameters
    ----------
    row : table of one row
        The candidates are the missing cells, including fitted columns that the table lacks.
    costs : DataFrame (class, decision), optional
        The cost of each decision for each true class, as in :meth:`decide`.
    feature_costs : {column: cost}, optional
        The cost of observing each missing column, in the unit of ``costs``.

    Returns
    -------
    DataFrame (column, ...)
        ``information`` is the expected decrease in the entropy of the class, in nats. Outliers and wrong families can
        make ``information`` far too large. To measure the gain of each column on the learned rows, use
        ``column_gains(clf, X, y)``. A column that is encoded as several columns, such as a date, has one row in the
        result. Possible observations include bounds such as "<5" (``Bounded``) and missing values (``Missing``).

        With ``costs``, ``saving`` is the expected decrease in the cost of the best decision. ``cost`` is the cost of
        observing the column. ``gain`` is ``saving`` minus ``cost``. Keep observing as long as the largest gain is above
        0.

        ``attrs["entropy"]`` is the entropy of the class before the observation. ``attrs["left_out"]`` is the largest
        probability omitted by a truncated sum or integral. ``attrs["not_asked"]`` lists the missing columns that cannot
        be ranked, such as bags of words.

    Raises
    ------
    TypeError, ValueError
        If there is not exactly one row, or ``costs`` are invalid. If ``feature_costs`` are given without ``costs``,
        lack a ranked column, or name an unknown column.

    Notes
    -----
    Missing values are predicted by naive Bayes, even with a ``dependence``. Columns that are informative only together
    are ranked low, because the ranking considers one observation at a time.

    References
    ----------
    Lindley (1956), On a measure of the information provided by an experiment; Raiffa and Schlaifer (1961), Applied
    Statistical Decision Theory, chapter 4.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesnb import BayesianNB, datasets, design
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> costs = pd.DataFrame({"play": [10.0, 0.0], "stay": [0.0, 4.0]}, index=["no", "yes"])
    >>> paid = {"outlook": 0.2, "temperature": 0.1, "humidity": 0.1}
    >>> design.ask_next(clf, {"wind": ["strong"]}, costs, paid).round(3)
                 information  saving  cost   gain
    column
    outlook            0.063   0.251   0.2  0.051
    temperature        0.010   0.000   0.1 -0.100
    humidity           0.063   0.000   0.1 -0.100
    """
    classifier.require_one_class_prior("what to ask next")
    table = classifier.schema.table_of(row)
    if table.n_rows != 1:
        raise ValueError(f"Expected a table of one row, such as X[:1]; got {table.n_rows} rows")
    cost_matrix = None if costs is None else matrix_of(costs, classifier.classes)
    classifier.posterior.warn_of_chains()
    _, data = classifier.schema.read(table, absent="missing")
    before = classifier.believed.log_joint(data, 1)
    log_proba, before = normalize(before)[0], before[0]
    columns, not_asked, left_out, cells = {}, [], 0.0, dict[Any, list[tuple[Any, int]]]()
    schema = classifier.schema
    owner, flags, missing = schema.owner, schema.flags, schema.missing(data, table)
    for name, feature in schema.features.items():
        if feature.indicates:
            continue
        x, bag = data[name], feature.family.support.kind == "bag"
        if bag:
            not_asked += [name] * bool(x.missing().all())
            continue
        for j in np.flatnonzero(missing[name][0]).tolist():
            column = feature.columns[j]
            flag, own = flags.get(column), owner.get(column, column)
            known_missing = flag is not None and data[flag[0]][0, flag[1]] == 1
            if known_missing or np.isnan(getattr(x, "exposure", np.zeros(1))[0]):
                not_asked.append(own)
            elif own not in not_asked:
                cells.setdefault(own, []).append((name, j))
    for column, parts in counted("ranking columns", [*cells.items()], "columns"):
        joint, rest = _joint_of_column(classifier, data, column, parts, before)
        left_out = max(left_out, rest)
        columns[column] = {"information": information(joint)}
        if cost_matrix is not None:
            columns[column]["saving"] = saving(joint, cost_matrix)
    # The name of a column may be a tuple.
    index = pd.Index([*columns], tupleize_cols=False, name="column")
    found = pd.DataFrame([*columns.values()], index, ["information", *["saving"] * (costs is not None)])
    paid = _checked_feature_costs(classifier, feature_costs, costs, found.index)
    if costs is not None:
        found["cost"] = paid
        found["gain"] = found["saving"] - found["cost"]
    found = found.sort_values("information" if costs is None else "gain", ascending=False, kind="stable")
    found.attrs |= {"entropy": float(entr(np.exp(log_proba)).sum()), "left_out": left_out}
    found.attrs["not_asked"] = [*dict.fromkeys(not_asked)]
    return found


def _joint_of_column(
    classifier: Classifier, data: Data, column: Any, parts: list[tuple[Any, int]], before: Array
) -> tuple[Array, float]:
    """Joint distribution, (value, class), of a table column and the class; also the omitted probability."""
    # parts: the encoded columns, (feature, position), that are made from the table column
    schema = classifier.schema
    named = [schema.features[name].columns[j] for name, j in parts]
    flag = next((schema.flags[each] for each in named if each in schema.flags), None)
    if flag is not None:
        both = ({**data, flag[0]: completed(data[flag[0]], flag[1], np.array([v]))} for v in (0.0, 1.0))
        there, gone = ((case, classifier.believed.log_joint(case, 1)[0]) for case in both)
        data, log_row = there[0], float(logsumexp(before))
        before, present = there[1], np.exp(logsumexp(there[1]) - log_row)
    each, rest = [], 0.0
    for name, j in parts:
        with classifier.statistics.about(name):
            _, joint, omitted = joint_of_cell(classifier, data, name, j, before)
        each.append(joint)
        rest += omitted
    if len(each) == 2 and isinstance(schema.readings.get(column), Bounded):  # Only the kind "number" has a number.
        name, j = parts[0]
        numbers = np.array([level == "number" for level in data[name].levels[j]])
        joint = np.vstack([each[0][~numbers], _together([each[0][numbers], each[1]])])
    else:
        joint = _together(sorted(each, key=information, reverse=True))
    if flag is None:
        return joint, rest
    # A column of the model indicates missing cells, so the last value is "missing".
    return np.vstack([present * joint, np.exp(gone[1] - log_row)]), float(present * rest)


def _together(joints: list[Array]) -> Array:
    """Joint distribution, (value, class), of the class and several variables that are independent given the class."""
    joint, *others = joints
    for other in others:
        known = other[other.sum(1) > NEVER]
        # Leave out the last variables if there are too many values.
        if len(joint) * len(known) > MOST_TOGETHER:
            break
        total = other.sum(0)
        given_class = np.divide(known, total, out=np.zeros_like(known), where=total > 0)
        joint = (joint[:, None] * given_class).reshape(-1, joint.shape[1])
    return joint


def joint_of_cell(
    classifier: Classifier, data: Data, name: Any, column: int, before: Array
) -> tuple[Array, Array, float]:
    """Joint distribution of a row's missing cell and the class: values, p(value, class), and omitted probability."""
    # before, (class,): log p(class, other cells)
    family, believed = classifier.schema.features[name].family, classifier.posterior.features[name]
    log_joint, log_row = _log_joint_of(classifier, data, name, column, before), float(logsumexp(before))
    return joint_of(family, believed, data[name], column, log_joint, log_row)


def _log_joint_of(
    classifier: Classifier, data: Data, name: Any, column: int, before: Array
) -> Callable[[Array], Array]:
    """Return a function that computes log p(class, row), (value, class), from values of one cell of the row."""
    x = data[name]
    if classifier.believed.naive and classifier.believed.plug_in is None:
        # The terms of the other features do not change.
        family, believed = classifier.posterior.model.features[name], classifier.posterior.features[name]
        others = before - family.log_predictive(believed, x)
        return lambda values: others + family.log_predictive(believed, completed(x, column, values))

    def log_joint(values: Array) -> Array:
        rows = {**part_of(data, np.zeros(len(values), np.intp)), name: completed(x, column, values)}
        return classifier.believed.log_joint(rows, len(values))

    return log_joint


def _checked_feature_costs(classifier: Classifier, feature_costs: Any, costs: Any, asked: pd.Index) -> list[float]:
    if feature_costs is None:
        return [0.0] * len(asked)
    if costs is None:
        raise ValueError(
            "feature_costs are subtracted from what an answer saves, and without costs there is no saving: pass costs "
            "as for decide, in the same unit"
        )
    given = dict(feature_costs)
    for name, cost in given.items():
        if name not in classifier.schema.raw:
            raise ValueError(
                f"feature_costs: column {name!r} was not fitted; the columns are {some(classifier.schema.raw)}"
            )
        if not isinstance(cost, Real) or isinstance(cost, bool) or not np.isfinite(float(cost)):
            raise ValueError(f"feature_costs, column {name!r}: Expected a finite number; got {cost!r}")
    if missing := [name for name in asked if name not in given]:
        raise ValueError(f"feature_costs: Expected the cost of each missing column; got none for {missing[0]!r}")
    return [float(given[name]) for name in asked]


TEN = Spelled("n=10", "-n 10")


@question(
    "to know which row to label", "what to do", "design",
    Shown("", notes=lambda found: Message("{n} chooses ten rows.", n=TEN) if len(found) == 1 else "", finding=False),
    columns={
        "information": "mutual information of the label and the parameters, in nats",
        "prediction": "the most probable class",
        "probability": "probability of the predicted class",
    },
)  # fmt: skip
def label_next(classifier: Classifier, X: Any, n: int = 1, draws: int = 4000) -> pd.DataFrame:
    """Choose which unlabelled rows to label next, the best first.

    Rows are ranked by the mutual information of label and parameters (BALD, Houlsby et al. 2011).

    Parameters
    ----------
    X : table
        Rows without a label.
    n : int
        Number of rows to choose. Before the next choice, each chosen row is learned with its predicted class
        probabilities as a soft label (Desautels et al. 2014).
    draws : int
        Number of draws of the parameters.

    Returns
    -------
    DataFrame (row, ...)
        The chosen rows in the order of choice, with the index of ``X``. ``information`` is the mutual information, in
        nats, when the row was chosen. ``prediction`` is the class predicted by the fitted model, and ``probability`` is
        the probability of that class.

    Raises
    ------
    ValueError
        If ``n`` is not between 1 and the number of rows, or if ``n`` is above 1 and a feature is sampled by MCMC.

    References
    ----------
    Houlsby, Huszár, Ghahramani and Lengyel (2011), Bayesian active learning for classification and preference learning;
    Desautels, Krause and Burdick (2014), Parallelizing exploration-exploitation tradeoffs.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, design
    >>> X, y = datasets.penguins()
    >>> X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)  # in random order
    >>> clf = BayesianNB(random_state=0).fit(X[:8], y[:8])
    >>> design.label_next(clf, X[8:108], n=2)[["prediction"]]
        prediction
    113  Chinstrap
    7    Chinstrap
    """
    data, n_rows = classifier.read(X)
    if not isinstance(n, Integral) or isinstance(n, bool) or not 1 <= n <= n_rows:
        raise ValueError(f"Expected n from 1 to the number of rows, {n_rows}; got {shown_value(n)}")
    require_whole(1, draws=draws)
    if n > 1:
        classifier.require_one_class_prior("a batch of rows to label")
        classifier.posterior.require_exact("learning a row", "ask for one row at a time, n=1")
    log_proba = normalize(classifier.believed.log_joint(data, n_rows))
    held, chosen, told = classifier, [], []
    for _ in counted("choosing rows", range(n), "rows"):
        if chosen:
            held = _with_expected_label(held, part_of(data, np.array(chosen[-1:])), np.exp(log_proba[chosen[-1:]]))
        found = held.uncertainty(X, draws=draws)["epistemic"].to_numpy(copy=True)
        found[chosen] = -np.inf
        chosen.append(int(found.argmax()))
        told.append(found[chosen[-1]])
    best = log_proba[chosen].argmax(1)
    index = index_of(X)
    index = pd.RangeIndex(n_rows) if index is None else index
    columns = {"information": told, "prediction": classifier.classes[best]}
    columns["probability"] = np.exp(log_proba[chosen, best])
    return pd.DataFrame(columns, index=index[chosen])


def _with_expected_label(classifier: Classifier, row: Any, proba: Any) -> Classifier:
    posterior = classifier.posterior
    seen = posterior.model.expected_statistics(row, proba, classifier.classes.tolist())
    believed = replace(classifier.believed, posterior=posterior.given(posterior.statistics + seen))
    return replace(classifier, believed=believed.with_estimate(classifier.estimate))
