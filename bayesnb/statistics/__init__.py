"""What the data say, as sums over rows that add and subtract.

Start with :class:`~bayesnb.statistics.statistic.Statistic`.
"""
