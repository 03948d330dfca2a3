"""The few sums that all time goes into, each as numpy for small tables and as a loop that is compiled for large ones.

Start with ``reading`` (cells to codes), ``sums`` (what is learned of rows), and ``densities`` and ``sparse_rows`` (what
is answered of them). The loop and the lines of numpy that give the same sums stand side by side, and the verb above
them decides by the size of the table which of them answers. ``blocks`` says when a loop is compiled; ``compiled`` is
the only place that knows the compiler, and is not imported before a table is large enough.
"""
