"""The loop that averages class probabilities over draws."""

from __future__ import annotations

from math import exp, log

import numpy as np

from bayesnb.kernels.blocks import Array
from bayesnb.kernels.compiled import compiled_sum


@compiled_sum
def class_probabilities(terms: Array, offset: Array, cells: Array, v: Array, found: Array) -> None:
    """Write ln of the mean over draws of p(c | row, draw) ∝ exp(o_c + Σ_t v_ct s_ct + Σ_k b_ck + b_c).

    The draws of one row lie side by side, so that each term of it is one step of vector instructions, and nothing that
    has a number for each row and draw is ever in memory.

    Parameters
    ----------
    terms : array (row, class, term)
    offset : array (row, class)
    cells : int array (row, column)
        Which of the b_ck are added; -1 adds none.
    v : array (class, term + cell + 1, draw)
        The exponents v_ct, behind them b_ck, and last b_c.
    found : array (row, class)
    """
    rows, classes, n = terms.shape
    draws = v.shape[2]
    joint, total = np.empty((classes, draws)), np.empty(classes)
    for r in range(rows):
        for c in range(classes):
            own, last = joint[c], v[c, -1]
            for d in range(draws):
                own[d] = offset[r, c] + last[d]
            for t in range(n):
                s, power = terms[r, c, t], v[c, t]
                for d in range(draws):
                    own[d] += s * power[d]
            for k in range(cells.shape[1]):
                if cells[r, k] >= 0:
                    added = v[c, n + cells[r, k]]
                    for d in range(draws):
                        own[d] += added[d]
            total[c] = 0.0
        for d in range(draws):
            top = joint[0, d]
            for c in range(1, classes):
                top = max(top, joint[c, d])
            size = 0.0
            for c in range(classes):
                joint[c, d] = exp(joint[c, d] - top)
                size += joint[c, d]
            for c in range(classes):
                total[c] += joint[c, d] / size
        for c in range(classes):
            found[r, c] = log(total[c] / draws)
