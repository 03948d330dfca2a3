"""The slow sums: numpy for small tables, compiled loops for large ones.

``reading`` codes cells, ``sums`` makes statistics of rows to learn, and ``densities`` and ``sparse_rows`` compute log
densities of rows to predict.
"""
