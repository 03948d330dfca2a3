"""Any table to encoded columns, and a large one to sums: pandas, polars, Arrow, arrays, files, streams and engines.

Start with ``tables`` (what the package sees of a table) and ``schema`` (which family reads which column). From below:

* ``tables``, ``targets``, ``binning``: columns, class labels, bins;
* ``encoders``, ``schema``: columns to the arrays that families read, with invalid cells refused by name;
* ``rows``: a table in memory with its labels and weights, checked together;
* ``arrow``, ``csv_reader``, ``readers``: files and streams as tables of bounded size; ``writers``: tables to files;
* ``summary``, ``engines``, ``progress``: a table in parts, wherever they are, to one sum.
"""
