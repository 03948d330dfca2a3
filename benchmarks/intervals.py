"""Do intervals of p(class | row, θ) cover the true probability, and is the saddlepoint formula right and quick?

    uv run --group dev python -m benchmarks.intervals

θ is drawn from the prior and rows from the model; the interval of a new row is then asked whether it holds the
probability that the true θ gives it, given the row and given the data alone. Errors of the distribution function are
those beside a million exact draws; speed is measured beside 4000 draws, in one run.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import pandas as pd

from bayesnb import BayesianNB, datasets
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.trials import Categorical, Coded
from bayesnb.inference.believed import Believed
from bayesnb.inference.draws import PosteriorDraws
from bayesnb.inference.intervals import intervals_of
from bayesnb.inference.saddlepoint import LogOdds, close
from bayesnb.model import NaiveBayes, Posterior, normalize
from bayesnb.priors import Dirichlet, NormalGamma
from bayesnb.statistics.statistic import Labels

COLUMNS = {"categorical": (1, 3, 10), "Gaussian": (1, 10)}
"""How many columns the tables have whose intervals are counted."""


def coverage(
    kind: str, n_columns: int, n_rows: int, simulations: int, given: str = "row", n_classes: int = 2, seed: int = 0
) -> float:
    """Share of simulations in which the 89 % interval of a new row of the same θ holds the truth.

    θ is drawn from the prior, rows and the new row from the model, and the interval is that which a classifier gives.
    """
    rng, held = np.random.default_rng(seed), np.empty((3, simulations))
    labels = tuple("abcdef"[:n_classes])
    if kind == "categorical":
        family = Categorical(Dirichlet(1.0))
    else:
        family = Gaussian(NormalGamma(m=0.0, kappa=1.0, a=1.0, b=1.0))

    def encoded(x: np.ndarray) -> dict:
        return {"x": Coded(x.astype(int), (tuple("uvw"),) * n_columns) if kind == "categorical" else x}

    model = NaiveBayes({"x": family}, Dirichlet(1.0))

    def believed(x: np.ndarray, y: np.ndarray) -> Posterior:
        return model.posterior(model.statistics(encoded(x), Labels.of(y, n_classes), labels))

    before = believed(np.zeros((0, n_columns)), np.zeros(0, int))
    tail = (1 - 0.89) / 2
    for k in range(simulations):
        theta = before.draw(rng)
        y = rng.choice(n_classes, size=n_rows + 1, p=np.exp(theta.log_pi))
        own = {key: value[y] for key, value in theta.features["x"].items()}
        x = family.sample(own, rng, before.statistics.features["x"])
        posterior, new = believed(x[1:], y[1:]), encoded(x[:1])
        answers = PosteriorDraws(Believed(posterior).when_given(given), 4000, [seed, k])
        by_formula = n_classes == 2 and close(posterior)
        # A probability close to 1 has no digits left to be compared by; the least one has them all.
        c = posterior.log_predictive(new, 1)[0].argmin()
        held[:2, k] = intervals_of(answers, by_formula, new, 1, [tail, 1 - tail])[0][0, c]
        held[2, k] = np.exp(normalize(theta.log_joint(new, 1)))[0, c]
    low, high, truth = held
    return float(((low <= truth) & (truth <= high)).mean())


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


def hard_cases(draws: int, seed: int = 0) -> pd.DataFrame:
    """The 89 % interval of one row in three ways, where a class has a row or two or concentrations are tiny."""
    rng, found = np.random.default_rng(seed), []
    for first, second in ((1, 1), (2, 2), (19, 1), (30, 2)):
        y = np.repeat(["a", "b"], [first, second])
        real, level = rng.normal(size=(len(y), 1)) + (y == "b")[:, None], rng.choice(list("uvw"), (len(y), 1))
        cases = {"Gaussian, default": (Gaussian(), real), "levels, α = 0.01": (Categorical(Dirichlet(0.01)), level)}
        if second > 1:
            cases["Gaussian, reference"] = (Gaussian(NormalGamma.reference()), real)
        for name, (family, X) in cases.items():
            clf = BayesianNB(family, random_state=seed).fit(X, y)
            asked, line = X[-1:], {"rows": f"{first} + {second}", "column": name}
            line["p(b)"] = clf.predict_proba(asked)[0, 1].round(3)
            for title, told in {
                "saddlepoint": {"method": "saddlepoint"},
                "draws": {"method": "draws"},
                "given the data": {"method": "draws", "given": "data"},
            }.items():
                low, _, high = clf.predict_interval(asked, draws=draws, **told)["b"].to_numpy()[0]
                line[title] = f"{low:.3f} to {high:.3f}"
            found.append(line)
    return pd.DataFrame(found)


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
    """Print the four tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=100_000)
    chosen = parser.parse_args(args)
    covered = [
        {"kind": kind, "columns": columns, "rows": n}
        | {
            f"given the {given}": coverage(kind, columns, n, chosen.simulations, given, seed=100 * columns + n)
            for given in ("row", "data")
        }
        for kind, each in COLUMNS.items()
        for columns in each
        for n in (6, 8, 20, 50)
    ]
    sys.stdout.write(pd.DataFrame(covered).to_string(index=False) + "\n\n")
    sys.stdout.write(hard_cases(100_000).to_string(index=False) + "\n\n")
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
