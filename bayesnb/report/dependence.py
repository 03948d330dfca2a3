"""The section of the page about dependence between columns: advice, a map of the pairs, and the strongest of them."""

from __future__ import annotations

from bayesnb import plots
from bayesnb.dependence.audit import Independence
from bayesnb.report.parts import Grid, Part, Picture, Section

TITLE = "Dependence between columns"

MOST_PAIRS = 10
"""Pairs whose numbers are shown."""


def dependence(found: Independence, share: float) -> Section:
    """Which columns depend on each other given the class, and what to do about it."""
    parts: list[Part] = [str(found)]
    if len(found.pairs):
        parts.append(
            "Naive Bayes takes the columns as independent given the class. log_bayes_factor weighs dependence against "
            "that, exactly, in nats. information is the mutual information of the two columns given the class, in "
            f"nats, adjusted for what chance gives, with its {share:.0%} interval. gain is by how many nats a row the "
            "leave-one-out log loss of the class falls when the pair is modelled, and se its standard error. score is "
            'by how many standard errors the labels speak for the pair on top of dependence="weighted".'
        )
        best = found.pairs.iloc[0]
        says = (
            f"Mutual information of {len(found.pairs)} pairs of {len(found.columns)} columns given the class. The most "
            f"dependent: {best['first']!r} and {best['second']!r}, {best['information']:.2f} nats."
        )
        parts.append(Picture(plots.independence(found), "Mutual information given the class", says))
        top = found.pairs.head(MOST_PAIRS).set_index(["first", "second"])
        shown = f"the first {MOST_PAIRS} of {len(found.pairs)} pairs" if len(found.pairs) > MOST_PAIRS else "all pairs"
        parts.append(Grid(top, f"Dependence of pairs of columns: {shown}", folded=True))
    return Section(TITLE, parts, finding=str(found) if len(found.pairs) else "")
