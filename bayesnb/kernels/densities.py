"""Log densities of rows, (row, class), summed over columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from bayesnb.kernels import blocks
from bayesnb.kernels.blocks import Array, loop
from bayesnb.kernels.reading import Bits, fours
from bayesnb.kernels.sparse_rows import lanes, products

RUN = 32
"""Number of columns of one product: their 1 + z² multiply to a float as long as z is below 65,536."""

SHORT = 8
"""Largest number of array entries that Python adds faster than a call of numpy."""

TILE = 64
"""Number of rows that one step of a loop over columns processes together, in the processor's vector."""


def student(x: Array, location: Array, low: Array, scale: Array, power: Array, top: Array) -> Array:
    """Student-t log density: top - power ln(1 + z²), with z = (x - location - low) * scale."""
    # low: the rounding error of ``location``
    away = (x - location) - low
    with np.errstate(over="ignore", divide="ignore"):
        growth = np.log1p((away * scale) ** 2)
        # In a column with a tiny scale, the square may overflow.
        if np.isinf(growth).any():
            growth = np.where(np.isinf(growth), 2 * (np.log(np.abs(away)) + np.log(scale)), growth)
    return top - power * growth


@dataclass(frozen=True, eq=False)
class Students:
    """Sums of the Student-t log densities of many columns, as in :func:`student`."""

    location: Array
    low: Array
    scale: Array
    power: Array
    top: Array
    # Sorts the columns of each class by power, (class, column). A *run* consists of at most ``RUN`` sorted columns of
    # equal power.
    order: Array
    run: Array  # the run of each sorted column, (class, column)
    powers: Array  # the power of each run, (run, class), or 0 if the class has fewer runs
    in_order: tuple[Array, ...]  # location, low, scale and top of the sorted columns

    @classmethod
    def of(cls, location: Array, low: Array, scale: Array, power: Array, top: Array) -> Students:
        order = np.argsort(power, axis=1, kind="stable")
        ordered = np.take_along_axis(power, order, axis=1)
        new = np.diff(ordered, axis=1, prepend=np.nan) != 0
        place = np.arange(power.shape[1])
        since = place - np.maximum.accumulate(np.where(new, place, 0), axis=1)
        run = np.cumsum(since % RUN == 0, axis=1) - 1
        powers = np.zeros((run.max(initial=-1) + 1, len(power)))
        powers[run, np.arange(len(power))[:, None]] = ordered
        in_order = tuple(np.take_along_axis(v, order, axis=1) for v in (location, low, scale, top))
        return cls(location, low, scale, power, top, order, run, powers, in_order)

    def summed(self, x: Array, codes: Array | None = None) -> Array:
        """Sums of the log densities of columns, (row, class); missing cells (NaN) add nothing."""
        # If the classes ``codes`` of learned rows are given, return the leave-one-out log density of each row in its
        # class, (row,): Σ_j [top + power ln(1 - z²)], or NaN if z² ≥ 1 in any column.
        # The loop stores ∏(1 ± z²) - 1 instead of the product, which keeps every digit of small z.
        slots, sign = (len(self.location), 1.0) if codes is None else (1, -1.0)
        total, forms = np.empty((x.shape[0], slots)), (_products_of_runs, _products_of_runs_in_numpy)

        def part(cut: slice) -> Array:
            block = blocks.contiguous(x[cut], float)
            own, row, factor = None, np.arange(len(block)), self.powers[..., None]
            if codes is not None:
                # Numbers of one or two bytes are sorted without comparisons.
                row = np.argsort(codes[cut].astype(np.min_scalar_type(len(self.location))), kind="stable")
                own, factor = codes[cut][row], -self.powers[:, None, codes[cut]]
            product, lead = np.zeros((len(self.powers), slots, len(block))), np.zeros((slots, len(block)))
            curves = self.order, self.run, *self.in_order
            blocks.either(*forms, block.size * slots, block, row, own, sign, *curves, product, lead)
            far = np.empty(0, np.intp)
            if codes is not None:
                product[product <= -1] = np.nan
            # The sum is finite only if all are, and is quicker than a test of each.
            elif not np.isfinite(product.sum()):
                far = np.flatnonzero(~np.isfinite(product).all(axis=(0, 1)))
            # One logarithm per run is enough: that of the product of 1 + z² over its columns.
            np.log1p(product, out=product)
            product *= factor
            for place in range(len(self.powers)):
                lead -= product[place]
            total[cut] = lead.T
            return cut.start + far

        with np.errstate(all="ignore"):
            parts = blocks.cuts(x.shape[0], max(x.shape[1], slots * len(self.powers)))
            if len(beyond := np.concatenate(list(blocks.each(part, parts)))):
                far, curves = blocks.contiguous(x[beyond], float), (self.location, self.low, self.scale)
                total[beyond] = np.nansum(student(far[:, None], *curves, self.power, self.top), axis=-1)
        return total if codes is None else total[:, 0]


@loop
def _products_of_runs(
    x: Array, row: Array, own: Array | None, sign: float, order: Array, run: Array, location: Array, low: Array,
    scale: Array, top: Array, product: Array, lead: Array,
) -> None:  # fmt: skip
    """Set ``product`` to ∏ (1 + sign z²) - 1 per run (columns of equal power), and ``lead`` to the sum of ``top``."""
    # row: positions of rows, ordered by class; own: the class of each row, if each row is evaluated only in its class
    rows, columns = x.shape
    place = np.empty(TILE, np.uintp)
    tile, carried, summed = np.empty((columns, TILE)), np.empty(TILE), np.empty(TILE)
    start = stop = 0
    while start < rows:
        if own is None:
            stop, first, last = min(start + TILE, rows), 0, len(order)
        else:
            first, last = own[start], own[start] + 1
            while stop < min(start + TILE, rows) and own[stop] == first:
                stop += 1
        width = stop - start
        gaps = False
        for r in range(width):
            place[r] = row[start + r]
        # Wide rows are read once in the order of memory, which the processor fetches ahead.
        narrow = columns < 8
        for r in range(0 if narrow else width):
            for j in range(columns):
                gaps |= x[place[r], j] != x[place[r], j]
        for j in range(columns):
            for r in range(width):
                v = x[place[r], j]
                tile[j, r] = v
                if narrow:
                    gaps |= v != v
            tile[j, width:] = 0.0
        for c in range(first, last):
            carried[:] = 0.0
            summed[:] = 0.0
            whole = 0.0
            for k in range(columns):
                cells, m, rest, s, t = tile[order[c, k]], location[c, k], low[c, k], scale[c, k], top[c, k]
                if gaps:
                    for r in range(TILE):
                        v = cells[r]
                        known = v == v
                        z = ((v - m) - rest) * s if known else 0.0
                        carried[r] += sign * (z * z * (1.0 + carried[r]))
                        summed[r] += t if known else 0.0
                else:
                    whole += t
                    for r in range(TILE):
                        z = ((cells[r] - m) - rest) * s
                        carried[r] += sign * (z * z * (1.0 + carried[r]))
                if k + 1 == columns or run[c, k + 1] != run[c, k]:
                    for r in range(width):
                        product[run[c, k], c - first, place[r]] = carried[r]
                    carried[:] = 0.0
            for r in range(width):
                lead[c - first, place[r]] = summed[r] + whole
        start = stop


def _products_of_runs_in_numpy(
    x: Array, row: Array, own: Array | None, sign: float, order: Array, run: Array, location: Array, low: Array,
    scale: Array, top: Array, product: Array, lead: Array,
) -> None:  # fmt: skip
    ends = [*(np.flatnonzero((run[:, 1:] != run[:, :-1]).any(axis=0)) + 1).tolist(), run.shape[1]]
    for c in [slice(None)] if own is None else [slice(c, c + 1) for c in np.unique(own)]:
        rows, slot = slice(None), c
        if own is not None:
            rows, slot = row[slice(*np.searchsorted(own, [c.start, c.stop]))], slice(0, 1)
        cells, tops = x[rows][:, order[c]], top[None, c]
        z = ((cells - location[c]) - low[c]) * scale[c]
        if (missing := cells != cells).any():
            z[missing], tops = 0.0, np.where(missing, 0.0, tops)
        # A cumulative sum adds column by column, as the loop.
        lead[slot, rows] = tops.cumsum(axis=-1)[..., -1:].sum(axis=-1).T
        squares = (sign * (z * z)).transpose(2, 0, 1)
        carried, start = np.zeros(squares.shape[1:]), 0
        for end in ends:
            carried = _carried(carried, squares[start:end])
            closing = run[c, end - 1] != run[c, end] if end < run.shape[1] else run[c, end - 1] >= 0
            for k in np.flatnonzero(closing) if end else ():
                product[run[c][k, end - 1], k, rows] = carried[:, k]
                carried[:, k] = 0.0
            start = end


def _carried(carried: Array, squares: Array) -> Array:
    """Return (1 + carried) ∏_j (1 + squares[j]) - 1, (row, class); ``squares`` is (column, row, class)."""
    if carried.size <= SHORT:
        each = carried.ravel().tolist()
        for k, line in enumerate(squares.reshape(len(squares), -1).T.tolist()):
            for square in line:
                each[k] += square * (1.0 + each[k])
        return np.array(each).reshape(carried.shape)
    for square in squares:
        carried = carried + square * (1.0 + carried)
    return carried


def normal(x: Array, location: Array, low: Array, scale: Array, top: Array) -> Array:
    """Normal log density: sum of top - ((x - location - low) scale)² / 2 over the cells of a row, (row, class)."""
    cells = [blocks.contiguous(v, float) for v in (location, low, scale, top)]

    def part(cut: slice, found: Array) -> None:
        block = blocks.contiguous(x[cut], float)
        blocks.either(_squares, _squares_in_numpy, block.size * len(location), block, *cells, found)

    return blocks.written(np.empty((len(x), len(location))), part, blocks.cuts(len(x), x.shape[1]))


@loop
def _squares(x: Array, location: Array, low: Array, scale: Array, top: Array, found: Array) -> None:
    for i in range(len(x)):
        for c in range(len(location)):
            summed = 0.0
            for j in range(x.shape[1]):
                v = x[i, j]
                if v == v:
                    z = ((v - location[c, j]) - low[c, j]) * scale[c, j]
                    summed += top[c, j] - 0.5 * z * z
            found[i, c] = summed


def _squares_in_numpy(x: Array, location: Array, low: Array, scale: Array, top: Array, found: Array) -> None:
    found[:] = 0.0
    for j, cells in enumerate(x.T):
        z = ((cells[:, None] - location[:, j]) - low[:, j]) * scale[:, j]
        found += np.where(np.isnan(z), 0.0, top[:, j] - 0.5 * z * z)


# Columns of few distinct values are codes into a table of these values. Each formula is evaluated once per value, class
# and column, and the results are added at the cells of each row.


def gather(codes: Array | None, table: Array) -> Array:
    """Look up each code in ``table``, and sum over the columns of each row, (..., row, class)."""
    # codes, (row, column): -1 adds nothing; in a sparse matrix, every stored code is 1, and all other codes are 0.
    # table is (..., value, class, column), or (..., row, class, column) if ``codes`` is ``None``.
    if codes is None:
        # Column by column, in the order of the loops below; several times faster than a sum over the last axis.
        total = np.zeros(table.shape[:-1])
        for column in range(table.shape[-1]):
            total += table[..., column]
        return total
    if sparse.issparse(codes):
        return _gather_stored(codes, table)
    *lead, n_values, n_classes, columns = table.shape
    read, parts = blocks.contiguous, blocks.cuts(len(codes), columns * n_classes)
    if codes.dtype == np.uint8 and n_values == 2:
        # Four columns of 0 and 1 are one column of 16 values.
        padded = np.concatenate([table, np.zeros((*table.shape[:-1], -columns % 4))], axis=-1)
        table = sum(padded[..., np.arange(16) >> k & 1, :, k::4] for k in range(4))
        if isinstance(codes, Bits):
            codes = codes.fours
        else:
            read = fours
    if blocks.worthwhile(codes.size * n_classes * int(np.prod(lead))):
        starts, wide = _side_by_side(table, codes)
        found = np.empty((len(wide), len(codes), n_classes))
        form = _gather_two if n_classes == 2 else _gather
        list(blocks.each(lambda cut: form(read(codes[cut]), starts, wide, cut.start, found), parts))
        return found.reshape(*lead, len(codes), n_classes)
    total, codes = np.zeros((*lead, len(codes), n_classes)), read(codes)
    for column in range(table.shape[-1]):
        # -1, the code of a missing value, reads the last line, of zeros.
        own = np.concatenate([table[..., column], np.zeros((*lead, 1, n_classes))], axis=-2)
        total += own[..., codes[:, column], :]
    return total


def gather_own(codes: Array, table: Array, labels: Array) -> Array:
    """For each row, the sum over columns of the table entries for its codes in its own class, (row,)."""
    total = np.zeros(codes.shape[0])
    if sparse.issparse(codes):
        for c in np.unique(labels):
            rows = np.flatnonzero(labels == c)
            total[rows] = _gather_stored(codes[rows], table[:, [c]])[:, 0]
        return total
    if blocks.worthwhile(codes.size):
        starts, wide = _side_by_side(table, codes)
        return blocks.written(
            total,
            lambda cut, found: _gather_own(blocks.contiguous(codes[cut]), labels[cut], starts, wide[0], found),
            blocks.cuts(len(codes), table[0].size),
        )
    for column in range(table.shape[2]):
        code = codes[:, column]
        total += np.where(code >= 0, table[code, labels, column], 0.0)
    return total


def _side_by_side(table: Array, codes: Array) -> tuple[Array, Array]:
    """The position of a line of zeros (for missing values) before each column's table, and all tables concatenated."""
    n_values, n, columns = table.shape[-3:]
    each = table.reshape(-1, n_values, n, columns)
    # A large table without missing values needs no zeros and is not copied.
    if table.size > codes.size and codes.min(initial=0) >= 0:
        return np.arange(columns) * n_values - 1, np.moveaxis(each, -1, 1).reshape(len(each), -1, n)
    wide = np.zeros((len(each), columns, n_values + 1, n))
    wide[:, :, 1:] = np.moveaxis(each, -1, 1)
    return np.arange(columns) * (n_values + 1), wide.reshape(len(each), -1, n)


@loop
def _gather(codes: Array, starts: Array, tables: Array, start: int, found: Array) -> None:
    # The sums of two rows do not wait for each other. Unsigned numbers never count from the end of an array.
    for table, total in zip(tables, found[:, start : start + len(codes)]):  # noqa: B905
        for i in range(0, len(codes), 2):
            k = min(i + 1, len(codes) - 1)
            for c in range(0, total.shape[1], 4):
                p, q, r, s = lanes(c, total.shape[1] - 1)
                a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
                for j in range(codes.shape[1]):
                    a, b = np.uintp(starts[j] + codes[i, j] + 1), np.uintp(starts[j] + codes[k, j] + 1)
                    a0, b0 = a0 + table[a, p], b0 + table[b, p]
                    a1, b1 = a1 + table[a, q], b1 + table[b, q]
                    a2, b2 = a2 + table[a, r], b2 + table[b, r]
                    a3, b3 = a3 + table[a, s], b3 + table[b, s]
                total[i, p], total[i, q], total[i, r], total[i, s] = a0, a1, a2, a3
                total[k, p], total[k, q], total[k, r], total[k, s] = b0, b1, b2, b3


@loop
def _gather_two(codes: Array, starts: Array, tables: Array, start: int, found: Array) -> None:
    # The same as :func:`_gather` for two classes, with sums of four rows that do not wait for each other.
    last = len(codes) - 1
    for table, total in zip(tables, found[:, start : start + len(codes)]):  # noqa: B905
        for i in range(0, len(codes), 4):
            k, m, n = min(i + 1, last), min(i + 2, last), min(i + 3, last)
            a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = 0.0
            for j in range(codes.shape[1]):
                a, b = np.uintp(starts[j] + codes[i, j] + 1), np.uintp(starts[j] + codes[k, j] + 1)
                c, d = np.uintp(starts[j] + codes[m, j] + 1), np.uintp(starts[j] + codes[n, j] + 1)
                a0, a1 = a0 + table[a, 0], a1 + table[a, 1]
                b0, b1 = b0 + table[b, 0], b1 + table[b, 1]
                c0, c1 = c0 + table[c, 0], c1 + table[c, 1]
                d0, d1 = d0 + table[d, 0], d1 + table[d, 1]
            total[i, 0], total[i, 1], total[k, 0], total[k, 1] = a0, a1, b0, b1
            total[m, 0], total[m, 1], total[n, 0], total[n, 1] = c0, c1, d0, d1


@loop
def _gather_own(codes: Array, labels: Array, starts: Array, table: Array, found: Array) -> None:
    for i in range(len(codes)):
        for j in range(codes.shape[1]):
            found[i] += table[starts[j] + codes[i, j] + 1, labels[i]]


def _gather_stored(codes: sparse.csr_array, table: Array) -> Array:
    """Apply :func:`gather` to sparse 0/1 cells: sum an all-zero row, then add a difference per stored 1."""
    zero, one = table[..., 0, :, :], table[..., 1, :, :]
    finite = np.isfinite(zero) & np.isfinite(one)
    total = products(codes, np.where(finite, one - zero, 0.0)) + np.where(finite, zero, 0.0).sum(-1)[..., None, :]
    for infinite in (-np.inf, np.inf):
        by_zero, by_one = zero == infinite, one == infinite
        if by_zero.any() or by_one.any():
            # If only one of the two values is infinite, the finite one has not been added yet.
            times = by_zero.sum(-1)[..., None, :] + products(codes, by_one.astype(float) - by_zero)
            rest = products(codes, np.where(by_zero & ~by_one, one, 0.0) - np.where(by_one & ~by_zero, zero, 0.0))
            rest = rest + np.where(by_one & ~by_zero, zero, 0.0).sum(-1)[..., None, :]
            total = np.where(times > 0, infinite, total + rest)
    return total
