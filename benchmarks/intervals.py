"""Do intervals of p(class | row, θ) cover the true probability, and is the saddlepoint formula right and quick?

    uv run python -m benchmarks.intervals

θ is drawn from the prior and rows from the model; the interval of a new row is then asked whether it holds the
probability that the true θ gives it. Errors of the distribution function are those beside a million exact draws; speed
is measured beside 4000 draws, in one run.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import pandas as pd

from bayesnb import BayesianNB, datasets
from bayesnb.answers import scoring, uncertainty
from bayesnb.answers.log_odds import LogOdds
from bayesnb.answers.uncertainty import PosteriorDraws
from bayesnb.model import NaiveBayes, normalize
from bayesnb.priors import Dirichlet
from benchmarks import sbc


def coverage(
    n_classes: int, n_rows: int, simulations: int, prob: float = 0.89, seed: int = 0, apart: bool = True
) -> float:
    """Share of simulations in which the interval of the least probable class holds the truth.

    The posterior of θ given the learned rows is what the interval is of. A new row of the same θ would say something
    about θ as well, which it leaves out; so the asked row is drawn ``apart``, from another draw of that posterior.
    """
    rng, held = np.random.default_rng(seed), np.empty((3, simulations))
    model = NaiveBayes(sbc.MODEL.features, Dirichlet(np.full(n_classes, 2.0)))
    labels = tuple("abcdef"[:n_classes])
    before = sbc.nothing(model, labels)
    tail = (1 - prob) / 2
    for k in range(simulations):
        theta = before.draw(rng)
        posterior = sbc.believed(model, *sbc.rows(before, theta, n_rows, rng), labels)
        new, _ = sbc.rows(before, posterior.draw(rng) if apart else theta, 1, rng)
        drawn = None if n_classes == 2 else PosteriorDraws(posterior, 4000, [seed, k])
        # A probability close to 1 has no digits left to be compared by; the least one has them all.
        c = posterior.log_predictive(new, 1)[0].argmin()
        held[:2, k] = (drawn or uncertainty.Saddlepoint(posterior)).intervals(new, 1, [tail, 1 - tail])[0][0, c]
        held[2, k] = np.exp(normalize(theta.log_joint(new, 1)))[0, c]
    return scoring.coverage(*held)


def largest_error(clf: BayesianNB, X: pd.DataFrame, draws: int, seed: int = 0) -> float:
    """Largest error of the saddlepoint distribution function at quantiles of exact draws, over all rows."""
    data, n = clf.classifier_.read(X)
    rng, parts = np.random.default_rng(seed), []
    for _ in range(max(1, draws // 20_000)):
        joint = clf.posterior_.draw(rng, (20_000,)).log_joint(data, n)
        parts.append(joint[..., 0] - joint[..., 1])
    drawn, exact = np.concatenate(parts), LogOdds.of(clf.posterior_, data, n)
    shares = np.linspace(0.005, 0.995, 41)
    return max(float(np.abs(exact.cdf(np.quantile(drawn, q, axis=0)) - q).max()) for q in shares)


def random_table(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Categorical, real, yes/no and count columns with missing values; two classes."""
    y = np.resize([0, 1], n)
    X = pd.DataFrame(
        {
            "c": rng.choice(list("abc"), n),
            "d": rng.choice(list("uvwxyz"), n),
            "g": rng.normal(y, 1.0),
            "h": rng.normal(2 * y, 1.0 + y),
            "b": rng.random(n) < 0.3 + 0.3 * y,
            "k": rng.poisson(2.0 + y).astype(float),
        }
    )
    for name in ("c", "g", "k"):
        X[name] = X[name].mask(rng.random(n) < 0.15)
    return X, y


def speed(kind: str, n_rows: int, n_columns: int = 20, seed: int = 0) -> dict[str, object]:
    """Seconds of an interval for every row by the formula, and by 4000 draws for a fiftieth of them, times fifty."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 300 + n_rows)
    if kind == "gaussian":
        X = pd.DataFrame({f"x{j}": rng.normal(0.3 * y, 1) for j in range(n_columns)})
    else:
        codes = [np.minimum(rng.integers(0, 5, len(y)) + (rng.random(len(y)) < 0.1 * y), 4) for _ in range(n_columns)]
        X = pd.DataFrame({f"x{j}": pd.Categorical.from_codes(code, list("abcde")) for j, code in enumerate(codes)})
    clf = BayesianNB(random_state=seed).fit(X[:300], y[:300])
    new, few = X[300:], X[300 : 300 + n_rows // 50]
    begin = time.perf_counter()
    clf.predict_interval(new)
    formula = time.perf_counter() - begin
    begin = time.perf_counter()
    clf.predict_interval(few, method="draws")
    drawn = 50 * (time.perf_counter() - begin)
    return {
        "columns": f"{n_columns} {kind}", "rows": n_rows, "saddlepoint, s": round(formula, 1),
        "4000 draws, s": round(drawn, 1), "ratio": round(drawn / formula, 1),
    }  # fmt: skip


def main(args: list[str] | None = None) -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=100_000)
    chosen = parser.parse_args(args)
    covered = [
        {"classes": c, "rows": n, "interval": 0.89}
        | {
            name: coverage(c, n, chosen.simulations, seed=c * n, apart=apart)
            for name, apart in (("coverage", True), ("of a row of the same θ", False))
        }
        for c in (2, 3)
        for n in (10, 200)
    ]
    sys.stdout.write(pd.DataFrame(covered).to_string(index=False) + "\n\n")
    errors, rng = [], np.random.default_rng(0)
    for name in ("play-tennis", "buys-computer", "posts", "heights"):
        X, y = datasets.load(name)
        errors.append((name, len(X), largest_error(BayesianNB().fit(X, y), X[:20], chosen.draws)))
    for k, n in enumerate(np.resize([6, 10, 19, 20, 50, 200], 20)):
        X, y = random_table(int(n), rng)
        errors.append((f"random {k}", n, largest_error(BayesianNB().fit(X, y), X[:20], chosen.draws)))
    sys.stdout.write(pd.DataFrame(errors, columns=["table", "rows", "largest error"]).to_string(index=False) + "\n\n")
    times = [speed(kind, chosen.rows) for kind in ("gaussian", "categorical")]
    sys.stdout.write(pd.DataFrame(times).to_string(index=False) + "\n")


if __name__ == "__main__":
    main()
