"""The trajectory of one NUTS step, with the compiled log density of a model called at each leapfrog."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import exp, inf, isnan, log, log1p
from typing import Any

import numpy as np
from numba import types
from numba.typed import List
from numpy.random import Generator

from bayesnb.kernels.blocks import Array
from bayesnb.kernels.compiled import compiled

VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")
ANSWER = types.Tuple((types.Array(types.float64, 0, "C"), VECTOR))


def density_signature(n_data: int) -> Any:
    """What PyTensor compiles a log density and its gradient to: a function of a tuple, the point and its data."""
    return ANSWER(types.UniTuple(VECTOR, 1 + n_data))


def _passed_on(density: Callable) -> List:
    densities = List()
    densities.append(density)
    return densities


@cache
def passed_on(n_data: int) -> Callable:
    """What makes a list of one density. To look up its address takes longer than a leapfrog, so it is done once."""
    density = types.FunctionType(density_signature(n_data))
    return compiled(_passed_on, signature=types.ListType(density)(density))


# What a tree keeps of its ends and its momenta, as rows of a matrix.
LEFT_P, LEFT_V, RIGHT_P, RIGHT_V, P_SUM, Q, GRADIENT = range(7)
# What it keeps besides, as numbers: of its proposal, and the logarithm of its weight.
ENERGY, LOGP, PLACE, LOG_SIZE = range(4)


@compiled
def velocity(variance: Array, covariance: Array, p: Array) -> Array:
    """The covariance times a momentum; the covariance is diagonal where no matrix is given."""
    if len(covariance) == 0:
        return variance * p
    return np.dot(covariance, p)


@compiled
def moved(x: Array, step: float, along: Array) -> Array:
    """x + step × along."""
    found = np.empty(len(x))
    for i in range(len(x)):
        found[i] = x[i] + step * along[i]
    return found


@compiled
def plant(tree: Array, q: Array, p: Array, v: Array, gradient: Array) -> None:
    """Make a tree of one state."""
    for i in range(len(q)):
        tree[LEFT_P, i] = tree[RIGHT_P, i] = tree[P_SUM, i] = p[i]
        tree[LEFT_V, i] = tree[RIGHT_V, i] = v[i]
        tree[Q, i] = q[i]
        tree[GRADIENT, i] = gradient[i]


@compiled
def copy_rows(tree: Array, first: int, stop: int, other: Array) -> None:
    """Give a tree some rows of another."""
    for row in range(first, stop):
        for i in range(tree.shape[1]):
            tree[row, i] = other[row, i]


@compiled
def log_sum(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    if a == b:
        return a + log(2.0)
    return max(a, b) + log1p(exp(-abs(a - b)))


@compiled
def turns(p_sum: Array, first: Array, last: Array) -> bool:
    """Whether a piece of a trajectory begins to come back: its momenta add up against one of its end velocities."""
    return np.dot(p_sum, first) <= 0 or np.dot(p_sum, last) <= 0


@compiled
def turns_at_seam(first: Array, second: Array) -> bool:
    """Whether a tree together with the nearest state of the tree after it turns, or the other way about."""
    return turns(first[P_SUM] + second[LEFT_P], first[LEFT_V], second[LEFT_V]) or turns(
        first[RIGHT_P] + second[P_SUM], first[RIGHT_V], second[RIGHT_V]
    )


@compiled
def merge(first: Array, own: Array, second: Array, other: Array, depth: int, rng: Generator) -> bool:
    """Append to a tree of this depth the next one, of the same depth; whether what they become turns."""
    p_sum = first[P_SUM] + second[P_SUM]
    turning = turns(p_sum, first[LEFT_V], second[RIGHT_V]) or (depth > 0 and turns_at_seam(first, second))
    log_size = log_sum(own[LOG_SIZE], other[LOG_SIZE])
    if log(rng.random()) < other[LOG_SIZE] - log_size:
        copy_rows(first, Q, GRADIENT + 1, second)
        own[:] = other
    copy_rows(first, RIGHT_P, P_SUM, second)
    first[P_SUM], own[LOG_SIZE] = p_sum, log_size
    return turning


@compiled
def double(tree: Array, own: Array, new: Array, other: Array, forward: bool, rng: Generator) -> bool:
    """Join a tree with one of the same depth that goes on forward or backward in time; whether the whole turns.

    The proposal of the new half is preferred to that of the old one (Betancourt 2017, A.3.2), unlike in :func:`merge`.
    """
    log_size = log_sum(own[LOG_SIZE], other[LOG_SIZE])
    if log(rng.random()) < other[LOG_SIZE] - own[LOG_SIZE]:
        copy_rows(tree, Q, GRADIENT + 1, new)
        own[:] = other
    own[LOG_SIZE] = log_size
    if not forward:
        # Its states were visited from the right to the left.
        for row in range(RIGHT_P):
            for i in range(new.shape[1]):
                new[row, i], new[RIGHT_P + row, i] = new[RIGHT_P + row, i], new[row, i]
    first, second = (tree, new) if forward else (new, tree)
    p_sum = first[P_SUM] + second[P_SUM]
    turning = turns(p_sum, first[LEFT_V], second[RIGHT_V]) or turns_at_seam(first, second)
    copy_rows(tree, RIGHT_P if forward else LEFT_P, P_SUM if forward else RIGHT_P, new)
    tree[P_SUM] = p_sum
    return turning


def _trajectory(
    densities: List,
    data: tuple[Array, ...],
    variance: Array,
    covariance: Array,
    start: Array,
    energy: float,
    logp: float,
    step_size: float,
    limit: float,
    max_depth: int,
    rng: Generator,
) -> tuple[Array, Array, Array]:
    """One step of NUTS, with multinomial sampling along the trajectory (Hoffman and Gelman 2014; Betancourt 2017).

    It doubles a trajectory, forward or backward in time, until it turns, diverges, or has doubled ``max_depth`` times.
    Subtrees are merged as digits carry over when one counts in binary numbers, so that no function calls itself. Random
    numbers are drawn in the order of PyMC's own ``NUTS``, whose draws it repeats up to rounding.

    Parameters
    ----------
    densities : list
        One function, as :func:`passed_on` makes it: of the point and, where there are ``data``, of them.
    data : tuple of arrays
    variance, covariance : array (parameter,), array (parameter, parameter)
        Of the parameters, as the sampler believes them; one of the two is empty.
    start : array (4, parameter)
        Point, momentum, velocity, and gradient of the log density.
    energy, logp : float
        At the start.
    step_size, limit : float
        ``limit`` is the rise in energy at which a trajectory diverges.
    max_depth : int
    rng : Generator

    Returns
    -------
    q, gradient : array (parameter,)
        The next point.
    numbers : array (9,)
        Of the next point, energy, log density and place in the trajectory; the depth of the tree, its number of
        leapfrogs, the logarithm of their added acceptances, the energy change that is largest in absolute value, how it
        ended (0 at the largest depth, 1 by turning, 2 by a divergence), and the last energy change.
    """
    density = densities[0]
    q, p, v, gradient = start[0], start[1], start[2], start[3]
    n = len(q)
    tree, number = np.empty((7, n)), np.array([energy, logp, 0.0, 0.0])
    plant(tree, q, p, v, gradient)
    # The outermost states, backward and forward in time, and their places in the trajectory.
    ends, places = np.empty((2, 7, n)), np.zeros(2)
    plant(ends[0], q, p, v, gradient)
    plant(ends[1], q, p, v, gradient)
    stack, numbers, depths = np.empty((max_depth + 1, 7, n)), np.empty((max_depth + 1, 4)), np.zeros(max_depth + 1)
    log_accept, largest, change, leapfrogs, depth, ended = -inf, 0.0, 0.0, 0, 0, 0
    while depth < max_depth and ended == 0:
        side = 1 if rng.random() < 0.5 else 0
        dt = step_size if side == 1 else -step_size
        height = 0
        for _ in range(2**depth):
            end = ends[side]
            half = moved(end[LEFT_P], 0.5 * dt, end[GRADIENT])
            at_q = moved(end[Q], dt, velocity(variance, covariance, half))
            found, slope = density((at_q,) + data)  # noqa: RUF005 the compiler cannot unpack here
            at_p = moved(half, 0.5 * dt, slope)
            at_v = velocity(variance, covariance, at_p)
            at_energy = 0.5 * np.dot(at_p, at_v) - found[()]
            plant(end, at_q, at_p, at_v, slope)
            places[side] += 1.0 if side == 1 else -1.0
            leapfrogs += 1
            change = at_energy - energy
            if isnan(change):
                change = inf
            log_accept = log_sum(log_accept, -change if change > 0 else 0.0)
            if abs(change) > abs(largest):
                largest = change
            if not change < limit:
                ended = 2
                break
            plant(stack[height], at_q, at_p, at_v, slope)
            own = numbers[height]
            own[ENERGY], own[LOGP], own[PLACE], own[LOG_SIZE] = at_energy, found[()], places[side], -change
            depths[height] = 0
            height += 1
            while ended == 0 and height > 1 and depths[height - 1] == depths[height - 2]:
                a, b = height - 2, height - 1
                if merge(stack[a], numbers[a], stack[b], numbers[b], depths[b], rng):
                    ended = 1
                depths[a] += 1
                height -= 1
            if ended != 0:
                break
        depth += 1
        if ended != 0:
            break
        ended = 1 if double(tree, number, stack[0], numbers[0], side == 1, rng) else 0
    return tree[Q], tree[GRADIENT], np.array(
        [number[ENERGY], number[LOGP], number[PLACE], depth, leapfrogs, log_accept, largest, ended, change]
    )  # fmt: skip


@cache
def trajectory(n_data: int) -> Callable:
    """:func:`_trajectory` in machine code, for densities of a point and so many vectors of data.

    The density is passed by its address, so that this code is compiled once and serves every model.
    """
    number, whole = types.float64, types.int64
    data = types.UniTuple(VECTOR, n_data) if n_data else types.Tuple(())
    of = (types.ListType(types.FunctionType(density_signature(n_data))), data, VECTOR, MATRIX, MATRIX)
    found = types.Tuple((VECTOR, VECTOR, VECTOR))
    return compiled(_trajectory, signature=found(*of, number, number, number, number, whole, types.npy_rng))
