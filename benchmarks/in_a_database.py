"""A model as SQL in DuckDB, beside predict_proba: a million rows of five numbers and five columns of text.

``python -m benchmarks.in_a_database``
"""

from time import perf_counter

import duckdb
import numba
import numpy as np
import pandas as pd

import bayesnb as nb

ROWS, LEARNED = 1_000_000, 100_000


def main() -> None:
    """Print the seconds of three runs of each, in turn, with one thread and with two."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=ROWS)
    numbers = {f"x{j}": rng.normal(y, 1.0) for j in range(5)}
    X = pd.DataFrame(numbers | {f"t{j}": rng.choice(list("abcdefghij"), ROWS) for j in range(5)})
    X = X.mask(rng.random(X.shape) < 0.02)
    clf = nb.BayesianNB().fit(X[:LEARNED], np.array(["u", "v", "w"])[y[:LEARNED]])
    database = duckdb.connect()
    database.register("frame", X)
    database.execute("CREATE TABLE new_rows AS SELECT * FROM frame")
    for threads in (1, 2):
        database.execute(f"SET threads = {threads}")
        numba.set_num_threads(threads)
        for _ in range(3):
            start = perf_counter()
            database.execute("CREATE OR REPLACE TABLE answers AS " + nb.deploy.to_sql(clf))
            middle = perf_counter()
            clf.predict_proba(X)
            print(f"threads {threads}: DuckDB {middle - start:.2f} s, predict_proba {perf_counter() - middle:.2f} s")


if __name__ == "__main__":
    main()
