"""Rows so far from all that was learned that squared distances are no floats, and the error that says so."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from bayesnb.model import ImpossibleRowError
from bayesnb.priors import Array


class FarRowError(ValueError):
    """A row lies so far from all that was learned that squared distances are beyond all floats.

    Its predictive probability is known, because that needs logarithms of distances only. A Normal density at drawn
    parameters is not: its logarithm is a squared distance in standard deviations, beyond 1e308 from 1e154 on.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import BayesianNB, odds
    >>> clf = BayesianNB().fit({"size": np.arange(6) * 1e-100}, [0, 0, 0, 1, 1, 1])
    >>> clf.predict_proba({"size": [1e60]}).round(1)
    array([[0.5, 0.5]])
    >>> odds.log_odds(clf, {"size": [1e60]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bayesnb.inference.far_rows.FarRowError: row 0 lies more than 1e150 standard deviations from ...
    """

    def __init__(self, rows: Array) -> None:
        more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
        super().__init__(
            f"row {rows[0]}{more} lies more than 1e150 standard deviations from everything that was learned in one of "
            "its columns, so the square of the distance is beyond all floats. Look at this cell and its unit; "
            "predict_proba answers such rows"
        )


def of_near_rows[**P, R](verb: Callable[P, R]) -> Callable[P, R]:
    """The verb, which now calls a row far instead of impossible if its predictive probability is above 0."""

    @functools.wraps(verb)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except ImpossibleRowError as error:
            self, X = args[0], args[1] if len(args) > 1 else kwargs["X"]
            far = error.rows[np.isfinite(self.believed.log_predictive(*self.read(X))[error.rows]).any(axis=1)]
            if len(far):
                raise FarRowError(far) from error
            raise

    return told
