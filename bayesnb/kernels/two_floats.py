"""Numbers represented as the sum of two floats: the rounded number and its rounding error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

type Array = np.ndarray


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum a + b, and its rounding error."""
    # The rounding error is itself a float (Knuth, TAOCP 4.2.2, and Dekker 1971).
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product a b, and its rounding error; the absolute values of a and b must be below 2^990."""
    product = a * b
    # Each float is split into two floats with at most 26 significant bits (Veltkamp 1968).
    scaled_a, scaled_b = 134_217_729.0 * a, 134_217_729.0 * b
    a_high, b_high = scaled_a - (scaled_a - a), scaled_b - (scaled_b - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + (a_high * b_low + a_low * b_high)) + a_low * b_low


def rounded_once(a: float, b: float, c: float) -> float:
    """Compute a b + c with a single rounding (a fused multiply-add), in compiled loops."""
    raise NotImplementedError


class TwoFloat(NamedTuple):
    """Arrays of numbers that are stored as high + low: the rounded number and its rounding error."""

    high: Array
    low: Array

    @classmethod
    def of(cls, value: Array) -> TwoFloat:
        return cls(value, np.zeros_like(value))

    def __add__(self, other: TwoFloat) -> TwoFloat:
        total, error = two_sum(self.high, other.high)
        return TwoFloat(*two_sum(total, error + (self.low + other.low)))

    def __neg__(self) -> TwoFloat:
        return TwoFloat(-self.high, -self.low)

    def __sub__(self, other: TwoFloat) -> TwoFloat:
        total, error = two_sum(self.high, -other.high)
        return TwoFloat(*two_sum(total, error + (self.low - other.low)))

    def __mul__(self, other: TwoFloat) -> TwoFloat:
        product, error = two_product(self.high, other.high)
        return TwoFloat(*two_sum(product, error + (self.high * other.low + self.low * other.high)))

    def __truediv__(self, other: TwoFloat) -> TwoFloat:
        ratio = self.high / other.high
        product, error = two_product(ratio, other.high)
        rest = (self.high - product) - error + (self.low - ratio * other.low)
        return TwoFloat(*two_sum(ratio, rest / other.high))

    def sum(self, axis: int) -> TwoFloat:
        """The sum along ``axis``, added in order; the low-order part collects all rounding errors."""
        total, before = np.cumsum(self.high, axis), np.zeros_like(self.high)
        rows = (slice(None),) * (axis % self.high.ndim)
        before[*rows, 1:] = total[*rows, :-1]
        _, errors = two_sum(before, self.high)
        return TwoFloat(total.take(-1, axis), np.cumsum(errors + self.low, axis).take(-1, axis))

    def at(self, cell: object) -> TwoFloat:
        return TwoFloat(self.high[cell], self.low[cell])

    def where(self, known: Array, other: float = 0.0) -> TwoFloat:
        return TwoFloat(np.where(known, self.high, other), np.where(known, self.low, 0.0))
