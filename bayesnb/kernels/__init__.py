"""The few sums that all time goes into, each as numpy for small tables and as a compiled loop for large ones.

Start with ``sums`` (what is learned of rows), ``densities`` (what is answered of them) and ``reading`` (cells to
codes): each verb there decides by the size of the table which form answers, and both give the same. ``compiled`` is
the only place that knows the compiler, and is not imported before a table is large enough; ``blocks`` says when it is.
"""
