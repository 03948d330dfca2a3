"""The sums that take most of the time, each as numpy for small tables and as a compiled loop for large ones.

Start with ``reading`` (cells to codes), ``sums`` (statistics of rows to learn), and ``densities`` and ``sparse_rows``
(log densities of rows to predict). The loop and the numpy code for the same sums stand side by side; the function above
them chooses one by the size of the table. ``blocks`` says when a loop is compiled. Only ``compiled`` imports the
compiler, and it is imported when the first table is large enough.
"""
