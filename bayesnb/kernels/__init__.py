"""Sums over many cells: numpy for small tables, compiled loops for large tables."""
