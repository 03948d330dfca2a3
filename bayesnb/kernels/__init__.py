"""The sums that take most of the time, as numpy for small tables and compiled loops for large ones.

``reading`` turns cells to codes, ``sums`` makes statistics of rows to learn, and ``densities`` and ``sparse_rows`` log
densities of rows to predict. Only ``compiled`` imports the compiler.
"""
