"""Sufficient statistics: sums over rows, which can be added and subtracted.

Start with :class:`~bayesnb.statistics.statistic.Statistic`.
"""
