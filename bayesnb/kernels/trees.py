"""Loops over classification trees."""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np

from bayesnb.kernels.blocks import Array, loop

MOST_DEPTH = 64
"""Largest number of nodes on a path."""


@loop
def mixed(key: np.uint64) -> np.uint64:
    """Hash a number of 64 bits by the finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@loop
def grow(
    codes: Array, real: Array, sizes: Array, rows: Array, y: Array, weight: Array, keys: Array, of_columns: Array,
    classes: int, salt: np.uint64, tried: int, least: float, column: Array, cell: Array, left: Array,
) -> int:  # fmt: skip
    """Grow one classification tree from ``rows``, which are reordered in place; return the number of nodes."""
    # Each node tries ``tried`` columns and makes the cut with the largest decrease of Gini impurity. Hashes of columns
    # and rows decide which columns a node tries, and break ties between cuts, so the tree does not depend on names of
    # levels or on signs of columns. codes, (row, column); keys, (row,): the key (a hash) of each row times its weight,
    # which may depend on labels; of_columns, (column,): a hash per column; salt: a number per tree, so that the
    # hashes of different trees differ; least: nodes with less total weight are not split; column, cell, left, (node,):
    # output.
    n_columns = codes.shape[1]
    nothing = np.zeros(len(column), np.int64)
    first, last, depth = nothing.copy(), nothing.copy(), nothing.copy()
    last[0], nodes, at, widest = len(rows), 1, 0, 0
    for size in sizes:
        widest = max(widest, size)
    counts, total, below = np.zeros((widest, classes)), np.zeros(classes), np.zeros(classes)
    own, hashes = np.zeros(widest), np.empty(n_columns, np.uint64)
    of_cells, best_tie, best_above, best_even = np.zeros(widest, np.uint64), np.uint64(0), False, False
    while at < nodes:
        column[at] = -1
        begin, end = first[at], last[at]
        key = salt
        total[:] = 0.0
        for r in range(begin, end):
            key += keys[rows[r]]
            total[y[rows[r]]] += weight[rows[r]]
        mass, top = 0.0, 0.0
        for c in range(classes):
            mass, top = mass + total[c], max(top, total[c])
        if mass < least or top >= mass or depth[at] + 2 > MOST_DEPTH or nodes + 2 > len(column):
            at += 1
            continue
        for j in range(n_columns):
            hashes[j] = mixed(mixed(key) ^ of_columns[j])
        seen, best, best_column, best_low, best_high = 0, 1e-9, -1, 0, 0
        for _ in range(n_columns):
            j = 0
            for k in range(1, n_columns):
                if hashes[k] > hashes[j]:
                    j = k
            hashes[j] = 0
            size = sizes[j]
            counts[:size], own[:size], of_cells[:size] = 0.0, 0.0, np.uint64(0)
            for r in range(begin, end):
                i = rows[r]
                k = codes[i, j]
                if k >= 0:
                    counts[k, y[i]] += weight[i]
                    own[k] += weight[i]
                    of_cells[k] += keys[i]
            all_keys, keys_below = np.uint64(0), np.uint64(0)
            for k in range(size):
                all_keys += of_cells[k]
            known, cells, whole = 0.0, 0, 0.0
            for k in range(size):
                known += own[k]
                cells += own[k] > 0
            if cells < 2:
                continue
            total[:] = 0.0
            for k in range(size):
                for c in range(classes):
                    total[c] += counts[k, c]
            for c in range(classes):
                whole += total[c] * total[c]
            here = 0.0
            below[:] = 0.0
            before, twin = (best, best_column, best_low, best_high, best_tie, best_above, best_even), False
            for k in range(size):
                # A cut at k of a real column has the cells before k on its left; a cut at a level has all other levels
                # there.
                if real[j]:
                    if k:
                        for c in range(classes):
                            below[c] += counts[k - 1, c]
                        here += own[k - 1]
                        keys_below += of_cells[k - 1]
                    inside = here
                else:
                    for c in range(classes):
                        below[c] = total[c] - counts[k, c]
                    inside = known - own[k]
                    keys_below = all_keys - of_cells[k]
                if 0 < inside < known:
                    one, other = 0.0, 0.0
                    for c in range(classes):
                        one += below[c] * below[c]
                        other += (total[c] - below[c]) * (total[c] - below[c])
                    gain = one / inside + other / (known - inside) - whole / known
                    if gain < best * (1 - 1e-9) or (gain <= best * (1 + 1e-9) and j != best_column):
                        continue
                    if real[j] and j == best_column and own[k - 1] == 0 and best_high == k - 1:
                        best_high = k
                        continue
                    tie = mixed(all_keys - keys_below)
                    if real[j]:
                        tie = mixed(tie + mixed(keys_below))
                    if gain > best * (1 + 1e-9) or tie > best_tie:
                        best, best_column, best_low, best_high, best_tie, twin = gain, j, k, k, tie, False
                        best_above = mixed(keys_below) > mixed(all_keys - keys_below)
                        best_even = keys_below == all_keys - keys_below
                    elif tie == best_tie:
                        twin = real[j] or size > 2  # of two levels, either cut is the other
            # Renaming levels or negating the column can swap tied cuts. If hashes do not break the tie, a choice would
            # depend on names or signs, so the column is skipped.
            if best_column == j and (twin or (best_even and best_low + best_high == size and size % 2)):
                best, best_column, best_low, best_high, best_tie, best_above, best_even = before
            seen += 1
            if seen >= tried and best_column >= 0:
                break
        if best_column < 0:
            at += 1
            continue
        # Of adjacent cuts that divide the rows in the same way, the middle cut is made: of two, the cut closer to the
        # column's centre, otherwise by hashes.
        cut = (best_low + best_high) // 2
        if (best_low + best_high) % 2:
            here, next_one = abs(2 * cut - sizes[best_column]), abs(2 * (cut + 1) - sizes[best_column])
            cut += next_one < here or (next_one == here and best_above)
        column[at], cell[at], left[at] = best_column, cut, nodes
        # The rows of the left child, of the right child, and those that stop here.
        j, r, high = best_column, begin, end
        while r < high:
            k = codes[rows[r], j]
            if k < 0:
                high -= 1
                rows[r], rows[high] = rows[high], rows[r]
            else:
                r += 1
        r, low = begin, high
        while r < low:
            k = codes[rows[r], j]
            if (k >= cut) if real[j] else (k == cut):
                low -= 1
                rows[r], rows[low] = rows[low], rows[r]
            else:
                r += 1
        first[nodes], last[nodes], depth[nodes] = begin, low, depth[at] + 1
        first[nodes + 1], last[nodes + 1], depth[nodes + 1] = low, high, depth[at] + 1
        nodes += 2
        at += 1
    return nodes


@loop
def stops(codes: Array, real: Array, column: Array, cell: Array, left: Array, found: Array) -> None:
    """The node in which each row stops, int32 (row, tree)."""
    for i in range(len(codes)):
        for t in range(len(column)):
            node = 0
            while column[t, node] >= 0:
                j = column[t, node]
                k = codes[i, j]
                if k < 0:
                    break
                node = left[t, node] + ((k >= cell[t, node]) if real[j] else (k == cell[t, node]))
            found[i, t] = node


@loop
def _log_evidence(counts: Array, alpha: Array, strength: float) -> float:
    found, n = 0.0, 0.0
    for c in range(len(counts)):
        n += counts[c]
        if counts[c] > 0:
            found += lgamma(counts[c] + alpha[c]) - lgamma(alpha[c])
    return found - (lgamma(n + strength) - lgamma(strength))


@loop
def weigh(
    column: Array, left: Array, alpha: Array, strength: float, counts: Array, of_node: Array, of_known: Array,
    below: Array,
) -> None:  # fmt: skip
    """Sum the counts of each tree from leaves to root, and average its marginal likelihood over all prunings."""
    # Before the call, ``counts`` (tree, node, class) holds the weight of the rows that stop in a node; after the call,
    # of the rows that reach a node. Three arrays (tree, node) are filled with log marginal likelihoods: ``of_node`` of
    # the rows that reach a node, ``of_known`` of the rows that reach its children, and ``below`` averaged over all
    # prunings of the subtree below the node.
    known = np.empty(len(alpha))
    for t in range(len(column)):
        for node in range(column.shape[1] - 1, -1, -1):
            if column[t, node] >= 0:
                child = left[t, node]
                for c in range(len(alpha)):
                    known[c] = counts[t, child, c] + counts[t, child + 1, c]
                    counts[t, node, c] += known[c]
            of_node[t, node] = _log_evidence(counts[t, node], alpha, strength)
            below[t, node] = of_node[t, node]
            if column[t, node] >= 0:
                child = left[t, node]
                leaf, split = _log_evidence(known, alpha, strength), below[t, child] + below[t, child + 1]
                top = max(leaf, split)
                both = top + log(0.5 * exp(leaf - top) + 0.5 * exp(split - top))
                of_known[t, node] = leaf
                below[t, node] += both - leaf


@loop
def _log_last(counts: Array, own: int, alpha: float, strength: float, weight: float) -> float:
    """The decrease in the log evidence of class counts if ``weight`` is removed from class ``own``."""
    n, of_class = 0.0, counts[own]
    for c in range(len(counts)):
        n += counts[c]
    if weight == 1.0:
        return log((of_class - 1.0 + alpha) / (n - 1.0 + strength))
    rest = max(of_class - weight, 0.0)
    of_class = lgamma(of_class + alpha) - lgamma(rest + alpha)
    return of_class - lgamma(n + strength) + lgamma(max(n - weight, 0.0) + strength)


@loop
def answer(
    codes: Array, real: Array, column: Array, cell: Array, left: Array, alpha: Array, strength: float, counts: Array,
    of_node: Array, of_known: Array, below: Array, y: Array, weight: Array, inside: Array, found: Array,
) -> None:  # fmt: skip
    """p(class | row), (row, class), averaged over all prunings of each tree and over all trees."""
    # The prediction for a learned row does not use this row: ``weight`` is subtracted from the counts along the row's
    # path, and the trees that were grown on the row (``inside``, (row, tree)) are skipped. A row with a missing cell at
    # a split goes to both children, in proportion to their counts. codes, (row, column); y, (row,): the class of a
    # learned row, -1 for a new row; found, (row, class): the result; other arrays are as in weigh().
    classes = len(alpha)
    known = np.empty(classes)
    path, stays = np.empty(MOST_DEPTH, np.int64), np.empty(MOST_DEPTH)
    at, share = np.empty(2 * MOST_DEPTH, np.int64), np.empty(2 * MOST_DEPTH)
    for i in range(len(codes)):
        answers, own, w = 0, y[i], weight[i]
        for c in range(classes):
            found[i, c] = 0.0
        for t in range(len(column)):
            if own >= 0 and inside[i, t]:
                continue
            answers += 1
            steps, node = 0, 0
            if own >= 0:
                while True:
                    path[steps] = node
                    steps += 1
                    if column[t, node] < 0 or codes[i, column[t, node]] < 0:
                        break
                    k = codes[i, column[t, node]]
                    node = left[t, node] + ((k >= cell[t, node]) if real[column[t, node]] else (k == cell[t, node]))
                lower = 0.0
                for s in range(steps - 1, -1, -1):
                    node = path[s]
                    less = _log_last(counts[t, node], own, alpha[own], strength, w)
                    total = of_node[t, node] - less
                    stays[s] = 1.0
                    if column[t, node] >= 0:
                        child, leaf = left[t, node], of_known[t, node]
                        split = below[t, child] + below[t, child + 1]
                        if s < steps - 1:
                            on = path[s + 1]
                            split += lower - below[t, on]
                            for c in range(classes):
                                known[c] = counts[t, child, c] + counts[t, child + 1, c]
                            leaf -= _log_last(known, own, alpha[own], strength, w)
                        stays[s] = 1.0 / (1.0 + exp(split - leaf))
                        top = max(leaf, split)
                        total += top + log(0.5 * exp(leaf - top) + 0.5 * exp(split - top)) - leaf
                    lower = total
            # Nodes to visit, and the mass of each.
            at[0], share[0], waiting, deep = 0, 1.0, 1, 0
            while waiting:
                waiting -= 1
                node, mass = at[waiting], share[waiting]
                on_path = deep < steps and path[deep] == node
                off = w if on_path else 0.0
                n = -off
                for c in range(classes):
                    n += counts[t, node, c]
                n = max(n, 0.0) + strength
                j = column[t, node]
                stay = 1.0
                if j >= 0:
                    if on_path:
                        stay = stays[deep]
                    else:
                        child = left[t, node]
                        stay = 1.0 / (1.0 + exp(below[t, child] + below[t, child + 1] - of_known[t, node]))
                for c in range(classes):
                    seen = counts[t, node, c]
                    if c == own and on_path:
                        seen = max(seen - w, 0.0)
                    found[i, c] += mass * stay * (seen + alpha[c]) / n
                if on_path:
                    deep += 1
                if j < 0 or stay >= 1.0:
                    continue
                child, k = left[t, node], codes[i, j]
                if k >= 0:
                    at[waiting] = child + ((k >= cell[t, node]) if real[j] else (k == cell[t, node]))
                    share[waiting] = mass * (1.0 - stay)
                    waiting += 1
                else:
                    right, every = 0.0, 0.0
                    for c in range(classes):
                        right = right + counts[t, child + 1, c]
                        every = every + (counts[t, child, c] + counts[t, child + 1, c])
                    right = right / every if every > 0 else 0.5
                    for side in range(2):
                        at[waiting] = child + side
                        share[waiting] = mass * (1.0 - stay) * (right if side else 1.0 - right)
                        waiting += 1
        for c in range(classes):
            found[i, c] = found[i, c] / answers if answers else alpha[c] / strength


@loop
def log_ratios(counts: Array, base: Array, strength: float, less: float, found: Array) -> None:
    """Fill ``found`` (partition, node, class) with ln p(node | c) - ln p(node)."""
    # counts, (class, partition, node): total weight of the rows of a class that stop in a node; base: of the rows of
    # all classes. To leave out a row, its weight ``less`` is subtracted from the counts of its class. Nodes whose count
    # is smaller than ``less`` have the value 0.
    classes, n, nodes = counts.shape
    inside, every = np.empty((classes, nodes)), np.empty(nodes)
    for k in range(n):
        for node in range(nodes):
            every[node] = base[k, node]
            for c in range(classes):
                inside[c, node] = counts[c, k, node]
        for node in range(nodes // 2 - 1, 0, -1):
            every[node] += every[2 * node] + every[2 * node + 1]
            for c in range(classes):
                inside[c, node] += inside[c, 2 * node] + inside[c, 2 * node + 1]
        for node in range(2, nodes):
            share = every[node] / (every[node] + every[node ^ 1]) if every[node] > 0 else 1.0
            for c in range(classes):
                if inside[c, node] >= less:
                    found[k, node, c] = found[k, node >> 1, c]
                    both = inside[c, node] + inside[c, node ^ 1]
                    if both > 0:
                        ratio = (inside[c, node] - less + strength * share) / ((both - less + strength) * share)
                        found[k, node, c] += log(ratio)
