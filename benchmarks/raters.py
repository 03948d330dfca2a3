"""Labels without a gold standard, in simulation: raters of unknown quality, and positives among unlabelled rows.

    python -m benchmarks.raters

*Raters*: 300 items of two classes and five raters, a fifth of whose votes is missing. The shares of right votes of a
rater, one for each class, are drawn from Beta(4, 1), the prior of the model. No item has a gold label. How many classes
are right by the model and by the majority of votes; and how many of the intervals hold the true share.

*Positives*: 1,000 rows of four numbers, 30 % positive, of which 40 % are labelled. The share of positives is given.
"""

import warnings

import numpy as np
import pandas as pd

import bayesnb as nb

TABLES, ITEMS, RATERS = 24, 300, 5
VOTE = {"n": nb.Dirichlet({"n": 4.0, "p": 1.0}), "p": nb.Dirichlet({"n": 1.0, "p": 4.0})}


def votes(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """The votes, the true classes, and the true share of right votes, (rater, class)."""
    truth, right = rng.integers(2, size=ITEMS), rng.beta(4, 1, (RATERS, 2))
    said = np.where(rng.random((ITEMS, RATERS)) < right.T[truth], truth[:, None], 1 - truth[:, None])
    table = pd.DataFrame(np.where(said, "p", "n").astype(object), columns=[f"rater{k}" for k in range(RATERS)])
    return table.mask(rng.random(table.shape) < 0.2), truth, right


def raters() -> None:
    """Print what was right, and what the intervals held."""
    found = []
    for seed in range(TABLES):
        X, truth, right = votes(np.random.default_rng(seed))
        unknown = np.full(ITEMS, None, object)
        features = {name: nb.Categorical(VOTE) for name in X}
        clf = nb.BayesianNB(features, random_state=seed).fit(X, unknown)
        by_model = (clf.predict(X) == "p") == truth
        by_votes = ((X == "p").sum(axis=1) > (X == "n").sum(axis=1)) == truth
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            drawn = clf.sample_posterior(300, 8, sampler="gibbs", X=X, y=unknown, thin=2)["posterior"]
        inside = []
        for k, name in enumerate(X):
            theta = drawn[f"theta_{name}"].to_numpy().reshape(-1, 2, 2)
            ends = np.quantile(theta[:, [0, 1], [0, 1]], [0.055, 0.945], axis=0)
            inside.append((ends[0] <= right[k]) & (right[k] <= ends[1]))
        found.append([by_model.mean(), by_votes.mean(), np.mean(inside)])
    each = np.array(found)
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each))
    for what, mean, sd in zip(
        ("right by the model", "by majority", "intervals of 89 %"), each.mean(0), error, strict=True
    ):
        print(f"{what}: {mean:.3f} (standard error {sd:.3f})")


def positives() -> None:
    """Print the share of right classes, where the unlabelled are left so, and where they are called negative."""
    found = []
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        truth = rng.random(1000) < 0.3
        X = pd.DataFrame(rng.normal(truth[:, None], 1.0, (1000, 4))).add_prefix("x")
        known = truth & (rng.random(1000) < 0.4)
        clf = nb.BayesianNB(class_prior={"neg": 0.7, "pos": 0.3}).fit(X, np.where(known, "pos", None))
        naive = nb.BayesianNB().fit(X, np.where(known, "pos", "neg"))
        found.append([((model.predict(X) == "pos") == truth)[~known].mean() for model in (clf, naive)])
    print("positives and unlabelled, right among the unlabelled:", np.mean(found, axis=0).round(3))


if __name__ == "__main__":
    positives()
    raters()
