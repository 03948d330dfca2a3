"""Each row of a table left out of what the posterior says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesnb.model.statistics import Data
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels

if TYPE_CHECKING:
    from bayesnb.model.naive_bayes import Posterior


def leave_out(posterior: Posterior, total: Array, data: Data, labels: Labels, point: str | None = None) -> None:
    """Take each row out of what ``log_predictive_features`` says of it, (row, class), which is changed in place.

    A row changes the factors of its own class only, unless a prior that all classes share holds the row. Where a
    ``point`` is plugged in, such a prior keeps the row.
    """
    own, codes = np.zeros(len(labels)), (np.arange(len(labels)), labels.codes)
    for name, family in posterior.model.features.items():
        believed, x, s = posterior.features[name], data[name], posterior.statistics.features[name]
        with posterior.statistics.about(name):
            whole = None if point else family.shared_left_out(believed, s, x, labels)
            if whole is None:
                own += family.log_left_out(believed, x, labels, point)
            else:
                total += whole - family.log_predictive(believed, x)
                own += whole[codes]
    total[codes] = own
