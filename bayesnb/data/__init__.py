"""Any table to encoded columns, and a large one to sums: pandas, polars, Arrow, arrays, files, streams and engines.

Start with ``tables`` (a user's table as the package sees it) and ``schema`` (which family reads which column). The
files, each of which imports only from the lines before it:

* ``columns``, ``tables``, ``targets``, ``binning``: what a table holds, its class labels, bins;
* ``encoders``, ``schema``: columns to the arrays that families read, with invalid cells refused by name;
* ``rows``: a table in memory with its labels and weights, validated together;
* ``arrow``, ``decoding``, ``cells``, ``csv_reader``, ``readers``: files and streams as tables of bounded size;
  ``writers``: tables to files;
* ``summary``, ``engines``, ``progress``: a table in parts, wherever they are, to the sum of their statistics.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["engines"])
