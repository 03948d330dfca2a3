"""Whether the densities of dependence="forests" should be normalized for columns of real numbers.

    python -m benchmarks.forests

The factor of the forests is a copula on quantile cells, and each column has the density of its own family. The integral
of the product is the mean of the factor over rows of naive Bayes, here over 1,500 drawn rows per class.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import log_softmax, logsumexp
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold

import bayesnb as nb

ROWS = 1_500


def log_integrals(clf: nb.BayesianNB, naive: nb.BayesianNB, names: pd.Index) -> np.ndarray:
    """The logarithm of the integral of the density of each class, (class,)."""
    terms, found = clf.classifier_.dependence.terms, []
    for c, label in enumerate(clf.classes_):
        drawn = nb.draws.sample(naive, ROWS, label=label)[list(names)]
        data, n = clf.classifier_.read(drawn)
        found.append(logsumexp(terms.beside(clf.classifier_.posterior, data, n)[:, c, -1]) - np.log(n))
    return np.array(found)


def main() -> None:
    """Print the log loss with and without the integrals."""
    tables = {"penguins": nb.datasets.penguins()}
    for name in ("iris", "wine", "breast_cancer"):
        tables[name] = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    for name, (x, y) in tables.items():
        y, losses, ranges = np.asarray(y), [], []
        for learned, asked in StratifiedKFold(5, shuffle=True, random_state=0).split(x, y):
            clf = nb.BayesianNB(dependence="forests").fit(x.iloc[learned], y[learned])
            off = log_integrals(clf, nb.BayesianNB().fit(x.iloc[learned], y[learned]), x.columns)
            log_p, own = clf.predict_log_proba(x.iloc[asked]), np.searchsorted(clf.classes_, y[asked])
            each = [-p[np.arange(len(own)), own] for p in (log_p, log_softmax(log_p - off, axis=1))]
            losses.append(np.stack(each, axis=1))
            ranges.append(np.ptp(off))
        losses = np.concatenate(losses)
        change = losses[:, 1] - losses[:, 0]
        print(
            f"{name:14s} log loss {losses[:, 0].mean():.3f}, normalized {change.mean():+.3f} "
            f"± {change.std() / np.sqrt(len(change)):.3f}; log integrals differ by up to {max(ranges):.1f}"
        )


if __name__ == "__main__":
    main()
