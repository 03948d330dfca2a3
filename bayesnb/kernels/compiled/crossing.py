"""The loop that counts pairs of cells."""

from __future__ import annotations

from bayesnb.kernels.blocks import Array
from bayesnb.kernels.compiled import compiled


@compiled
def count(codes: Array, labels: Array, weight: Array, pairs: Array, sizes: Array, starts: Array, found: Array) -> None:
    """Add the weight of each row to its cells, ``found`` (cell, class); a code of -1 counts nowhere."""
    for k in range(len(pairs)):
        first, second, start = codes[pairs[k, 0]], codes[pairs[k, 1]], starts[k]
        width = sizes[pairs[k, 1]]
        for i in range(len(labels)):
            a, b = first[i], second[i]
            if a >= 0 and b >= 0:
                found[start + a * width + b, labels[i]] += weight[i]
