"""Numbers represented as the sum of two floats.

The rounding error of a sum or product of two floats is itself a float (Knuth, TAOCP 4.2.2, and Dekker 1971).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

type Array = np.ndarray


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum a + b, and its rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product a b, and its rounding error; the absolute values of a and b must be below 2^990."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + (a_high * b_low + a_low * b_high)) + a_low * b_low


def rounded_once(a: float, b: float, c: float) -> float:
    """a b + c, rounded only once (a fused multiply-add), in compiled loops."""
    raise NotImplementedError


def _halves(a: Array) -> tuple[Array, Array]:
    """Split a float into a sum of two floats with at most 26 significant bits each (Veltkamp 1968)."""
    scaled = 134_217_729.0 * a
    high = scaled - (scaled - a)
    return high, a - high


class TwoFloat(NamedTuple):
    """Arrays of numbers high + low, where high is the rounded number and low is the rounding error."""

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
        return self + -other

    def __mul__(self, other: TwoFloat) -> TwoFloat:
        product, error = two_product(self.high, other.high)
        return TwoFloat(*two_sum(product, error + (self.high * other.low + self.low * other.high)))

    def __truediv__(self, other: TwoFloat) -> TwoFloat:
        ratio = self.high / other.high
        rest = self - other * TwoFloat.of(ratio)
        return TwoFloat(*two_sum(ratio, rest.high / other.high))

    def at(self, cell: object) -> TwoFloat:
        return TwoFloat(self.high[cell], self.low[cell])

    def where(self, known: Array, other: float = 0.0) -> TwoFloat:
        return TwoFloat(np.where(known, self.high, other), np.where(known, self.low, 0.0))
