"""Convert any table to encoded columns, and a large table to sufficient statistics.

Each file imports only from earlier files in this list:

* ``columns``, ``arrow``, ``tables``, ``targets``, ``text``, ``specifications``: tables and labels in memory;
* ``decoding``, ``csv_reader``, ``readers``, ``writers``: files and streams;
* ``encoders``, ``inferring``, ``schema``: the arrays that families read;
* ``warned``: warnings; ``choice``: families chosen from the rows; ``rows``, ``summary``: statistics;
* ``engines``: statistics of tables of any size.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["engines"])
