"""Sufficient statistics: sums over rows, which can be added and subtracted."""
