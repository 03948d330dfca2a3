"""The sums that take most of the time, each as numpy for small tables and as a compiled loop for large ones.

``reading`` turns cells to codes, ``sums`` makes the statistics of rows to learn, and ``densities`` and ``sparse_rows``
the log densities of rows to predict. The function above a loop and its numpy form chooses one by the size of the table
(see ``blocks``). Only ``compiled`` imports the compiler, when the first table is large enough.
"""
