"""Class probabilities averaged over draws of exponents."""

from __future__ import annotations

import numpy as np

from bayesnb.kernels import blocks
from bayesnb.kernels.blocks import Array


def class_probabilities(terms: Array, offset: Array, cells: Array | None, v: Array) -> Array:
    """ln of the mean over draws of p(c | row, draw), (row, class).

    A probability below about 1e-308 is given as 0, whose logarithm is -inf.

    Parameters
    ----------
    terms : array (row, class, term)
    offset : array (row, class)
    cells : int array (row, column), optional
    v : array (draw, class, term + cell + 1)
    """
    from bayesnb.kernels.compiled import averages as loops

    cells = np.empty((len(terms), 0), np.intp) if cells is None else cells
    found, draws_last = np.empty(offset.shape), blocks.contiguous(np.moveaxis(v, 0, -1))

    def part(cut: slice) -> None:
        own = (terms[cut], offset[cut], cells[cut])
        loops.class_probabilities(*map(blocks.contiguous, own), draws_last, found[cut])

    list(blocks.each(part, blocks.cuts(len(terms), v[0].size)))
    return found
