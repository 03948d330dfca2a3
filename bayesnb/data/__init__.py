"""Any table to encoded columns, and a large table to sums: pandas, polars, Arrow, arrays, files, streams and engines.

Start with ``tables`` and ``schema``. Each file imports only from earlier files in this list:

* ``columns``, ``arrow``, ``tables``, ``targets``, ``text``, ``specifications``: the content of a table, its class
  labels, and how its columns may be specified;
* ``decoding``, ``csv_reader``, ``readers``: files and streams as tables of bounded size; ``writers``: tables to files;
* ``encoders``, ``inferring``, ``schema``: columns to the arrays that families read, with validation;
* ``warned``: warnings about tables; ``choice``: families chosen from the rows; ``rows``, ``summary``: statistics of a
  table, in memory or in parts;
* ``engines``: statistics of tables of any size.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["engines"])
