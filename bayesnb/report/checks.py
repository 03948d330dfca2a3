"""The section of the page about predictive checks: whether tables of the model look like the one that was learned."""

from __future__ import annotations

from typing import Any

from bayesnb import plots
from bayesnb.data.tables import Table
from bayesnb.estimator import BayesianNB
from bayesnb.report.parts import Grid, Part, Picture, Section

FIT = "Does the model fit"

MOST_CHECKS = 10
"""Checks whose numbers are shown."""


def fit(clf: BayesianNB, table: Table, y: Any, share: float) -> Section:
    """Whether tables that the model makes look like the one that it has learned."""
    found = clf.predictive_checks(table, y, prob=share)
    said = str(found)
    parts: list[Part] = [said]
    if found.table.empty:
        return Section(FIT, parts)
    parts.append(
        f"The model has made {found.draws} tables of the same classes and the same missing values, each with its own "
        "draw of the parameters. A check is a number of a column, or of two columns, within a class. expected, lower "
        f"and upper are its mean and {share:.0%} interval in these tables; distance is how many of their standard "
        "deviations the observed value is away. p_adjusted is the share of these tables in which any check is as far "
        "away. The parameters were learned from the same rows, so that p-values are rather too large than too small."
    )
    worst = found.table.iloc[0]
    says = f"The checks that are farthest away, first the {worst['statistic']} of {worst['first']!r}."
    parts.append(Picture(plots.predictive_checks(found), "Predictive checks", says))
    top = found.table.head(MOST_CHECKS).fillna({"second": ""}).set_index(["statistic", "first", "second", "class"])
    shown = f"the first {MOST_CHECKS} of {len(found.table)}" if len(found.table) > MOST_CHECKS else "all"
    parts.append(Grid(top, f"Predictive checks: {shown}", folded=True))
    return Section(FIT, parts, finding=said)
