"""Sums over many cells: numpy for small tables, compiled loops for large tables.

``reading`` encodes cells, and ``sums`` computes sums over rows by class. ``densities`` and ``sparse_rows`` compute log
densities of rows to predict.
"""
