"""Any table to encoded columns, and a large one to sums: pandas, polars, Arrow, arrays, files, streams and engines.

Start with ``tables`` (a user's table as the package sees it) and ``schema`` (which family reads which column). The
files, each of which imports only from those before it:

* ``columns``, ``arrow``, ``tables``, ``targets``, ``text``, ``specifications``: what a table holds, its class labels,
  and what may be said of its columns;
* ``decoding``, ``csv_reader``, ``readers``: files and streams as tables of bounded size; ``writers``: tables to files;
* ``encoders``, ``inferring``, ``schema``: columns to the arrays that families read; invalid cells are refused;
* ``warned``: what is warned of; ``choice``: families that the rows choose; ``rows``, ``summary``: a table with its
  labels and weights, in memory or in parts, to the sum of its statistics;
* ``engines``: the same for tables of any size, wherever they are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["engines"])
