"""The sums that take most of the time, as numpy for small tables and compiled loops for large ones.

``reading`` turns cells to codes, ``sums`` makes the statistics of rows to learn, and ``densities`` and ``sparse_rows``
the log densities of rows to predict. Table size decides between loop and numpy (see ``blocks``). Only ``compiled``
imports the compiler, when the first table is large enough.
"""
