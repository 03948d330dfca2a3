"""Six tables as a stranger brings them: what the default command and the command that `inspect` prints are worth.

``python benchmarks/first_day.py`` writes each table as CSV, 70 % of its rows to learn from and 30 % to score, runs the
commands on the files, and prints the test log loss in nats, beside the class shares, logistic regression and a random
forest of scikit-learn with usual encoders. Penguins is a real table; the others are made, with dependence built in.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayesnb import cli, datasets


def drawn(rng: np.random.Generator, log_odds: np.ndarray, names: tuple[str, str]) -> np.ndarray:
    """A class for each row, the second with these log-odds."""
    return np.where(rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds)), names[1], names[0])


def passengers(rng: np.random.Generator, n: int = 890) -> tuple[pd.DataFrame, str]:
    """A passenger list: class and fare depend on each other, and women of all classes survive more often."""
    kind = rng.choice([1, 2, 3], n, p=[0.24, 0.21, 0.55])
    sex = rng.choice(["male", "female"], n, p=[0.65, 0.35])
    age = np.clip(rng.normal(45 - 6 * kind, 13), 1, 80).round()
    siblings, parents = rng.poisson(0.5, n), rng.poisson(0.4, n)
    fare = np.exp(rng.normal(5.2 - 0.95 * kind + 0.25 * (siblings + parents), 0.4)).round(2)
    woman = sex == "female"
    survived = drawn(rng, 1.6 - 1.0 * kind + 2.6 * woman - 0.03 * (age - 30) - 0.4 * siblings, ("0", "1"))
    found = pd.DataFrame({"id": np.arange(1, n + 1), "class": kind, "sex": sex, "age": age, "siblings": siblings})
    found = found.assign(parents=parents, fare=fare, port=rng.choice(list("SCQ"), n, p=[0.7, 0.2, 0.1]))
    found["age"] = found["age"].mask(rng.random(n) < 0.2)
    return found.assign(survived=survived), "survived"


def penguins(rng: np.random.Generator) -> tuple[pd.DataFrame, str]:
    """The penguins of Palmer station."""
    X, y = datasets.penguins()
    return X.assign(**{str(y.name): y}), str(y.name)


def survey(rng: np.random.Generator, n: int = 640) -> tuple[pd.DataFrame, str]:
    """Answers of employees: one mood behind six Likert items, a few of them 99 for no answer."""
    mood = rng.normal(size=n)
    scale = np.array(["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"])
    found = pd.DataFrame({"respondent": [f"R{k:05d}" for k in rng.permutation(n)]})
    for k in range(1, 7):
        level = np.digitize(0.9 * mood + rng.normal(0, 0.8, n), [-1.3, -0.4, 0.3, 1.2])
        found[f"Q{k}"] = scale[level] if k <= 4 else np.where(rng.random(n) < 0.04, 99, level + 1)
    tenure = rng.gamma(1.5, 4, n).round(1)
    found = found.assign(tenure=tenure, team=rng.choice(["sales", "support", "research", "works"], n))
    return found.assign(leaves=drawn(rng, -0.7 - 1.3 * mood - 0.06 * tenure, ("no", "yes"))), "leaves"


def customers(rng: np.random.Generator, n: int = 420) -> tuple[pd.DataFrame, str]:
    """An export of a German program: semicolons, decimal commas, a number of each customer, skewed amounts."""
    months, tariff = rng.integers(1, 72, n), rng.choice(["Basis", "Komfort", "Premium"], n)
    level = rng.normal(size=n)
    sales = np.where(rng.random(n) < 0.15, 0.0, np.exp(4 + 0.8 * level + 0.3 * (tariff == "Premium"))).round(2)
    calls = rng.poisson(np.exp(0.5 - 0.4 * level))
    found = pd.DataFrame({"Kundennr.": rng.permutation(n) + 100_000, "Tarif": tariff, "Monate": months})
    found = found.assign(Umsatz=sales, Anrufe=calls, Rabatt=rng.choice([0, 5, 10], n))
    left = drawn(rng, -0.8 + 0.35 * calls - 0.03 * months - 0.9 * level, ("aktiv", "gekündigt"))
    return found.assign(Status=left), "Status"


def census(rng: np.random.Generator, n: int = 6000) -> tuple[pd.DataFrame, str]:
    """A census: education twice, gains that are mostly 0, occupations that depend on education, ? for no answer."""
    years = np.clip(rng.normal(10, 2.6, n).round(), 1, 16).astype(int)
    names = np.array(["school", "some college", "bachelor", "master"])
    trade = np.where(rng.random(n) < years / 20, "office", rng.choice(["craft", "service", "farm"], n))
    age, married = rng.integers(17, 80, n), rng.random(n) < 0.5
    relation = np.where(married, "spouse", rng.choice(["single", "child", "other"], n))
    gain = np.where(rng.random(n) < 0.92, 0, np.exp(rng.normal(8 + 0.1 * years, 1, n))).round()
    hours = np.clip(rng.normal(40, 11, n), 1, 99).round()
    rich = -4.5 + 0.33 * (years - 10) + 2.2 * married + 0.03 * (np.minimum(age, 55) - 38) + 0.03 * (hours - 40)
    found = pd.DataFrame({"age": age, "education": names[np.digitize(years, [9, 12, 14])], "years": years})
    found = found.assign(trade=np.where(rng.random(n) < 0.05, "?", trade), relation=relation)
    found = found.assign(married=np.where(married, "yes", "no"), gain=gain, hours=hours)
    return found.assign(income=drawn(rng, rich + 2.5 * (gain > 6000) + 2, ("<=50K", ">50K"))), "income"


def tickets(rng: np.random.Generator, n: int = 3000) -> tuple[pd.DataFrame, str]:
    """Tickets of a help desk with a line of text, whose words tell most."""
    own = {
        "billing": "invoice payment charged refund card amount twice receipt",
        "network": "vpn connection slow wifi drops router offline outage",
        "account": "password login locked reset email user access expired",
    }
    filler = "please help the my since yesterday again urgent cannot is not working we need with a to and for this"
    topic = rng.choice(list(own), n, p=[0.45, 0.3, 0.25])
    subjects = [
        " ".join(
            rng.choice((own[other] if rng.random() < 0.22 else filler).split())
            for other in rng.choice([label, *own], rng.integers(6, 14))
        )
        for label in topic
    ]
    hours = rng.gamma(2, np.where(topic == "network", 3, 5)).round(1)
    found = pd.DataFrame({"ticket": [f"T-{k:06d}" for k in rng.permutation(n)], "subject": subjects, "hours": hours})
    return found.assign(channel=rng.choice(["mail", "phone", "chat"], n), topic=topic), "topic"


TABLES: dict[str, Callable[..., tuple[pd.DataFrame, str]]] = {
    "passengers": passengers, "penguins": penguins, "survey": survey, "German export": customers, "census": census,
    "tickets": tickets,
}  # fmt: skip


def run(*words: str) -> str:
    """What a command prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.suppress(SystemExit):
        cli.main(list(words))
    return out.getvalue() or err.getvalue()


def rivals(train: pd.DataFrame, test: pd.DataFrame, target: str) -> dict[str, float]:
    """The log loss of logistic regression and of a forest, with identifiers left out and text as words."""
    X, y = train.drop(columns=target), train[target].astype(str)
    numbers = [name for name in X.select_dtypes("number") if X[name].nunique() < len(X)]
    texts = [name for name in X.columns if name not in numbers and X[name].nunique() > 50]
    words = [name for name in texts if X[name].astype(str).str.contains(" ").mean() > 0.9]
    levels = [name for name in X.columns if X[name].nunique() <= 50 and name not in numbers]
    found = {}
    for name, model, bag in (
        ("logistic", LogisticRegression(max_iter=2000), TfidfVectorizer()),
        ("forest", RandomForestClassifier(500, min_samples_leaf=3, random_state=0, n_jobs=2), CountVectorizer()),
    ):
        encoder = make_column_transformer(
            (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), levels),
            *((bag, word) for word in words),
        )
        fitted = make_pipeline(encoder, model).fit(X, y)
        found[name] = log_loss(test[target].astype(str), fitted.predict_proba(test), labels=fitted.classes_)
    return found


def losses(name: str, seed: int = 0) -> dict[str, Any]:
    """The log losses of one table, and the command that `inspect` prints for it."""
    table, target = TABLES[name](np.random.default_rng(seed))
    held_out = np.random.default_rng(seed + 1).random(len(table)) < 0.3
    german = {"sep": ";", "decimal": ","} if name == "German export" else {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        table[~held_out].to_csv("train.csv", index=False, **german)
        table[held_out].to_csv("test.csv", index=False, **german)
        run("fit", "train.csv", "--target", target, "-o", "default.bayesnb")
        command = json.loads(run("inspect", "train.csv", "--target", target, "--format", "json"))["fit"]
        run(*shlex.split(command)[1:])
        scores = {}
        for what, model in (("default", "default.bayesnb"), ("printed", shlex.split(command)[-1])):
            card = json.loads(run("score", model, "test.csv", "--target", target, "--format", "json"))
            (line,) = (line for line in card["scores"] if line["score"] == "log_loss")
            scores[what] = float(line["value"])
            scores["class shares"] = float(line["frequencies"])
    order = ("class shares", "default", "printed")
    return {k: scores[k] for k in order} | rivals(table[~held_out], table[held_out], target) | {"command": command}


if __name__ == "__main__":
    print(f"{'table':14s} class shares  default  printed  logistic  forest")
    for each in TABLES:
        found = losses(each)
        numbers = [found[what] for what in ("class shares", "default", "printed", "logistic", "forest")]
        print(f"{each:14s} {numbers[0]:12.3f} {numbers[1]:8.3f} {numbers[2]:8.3f} {numbers[3]:9.3f} {numbers[4]:7.3f}")
        print(f"    {found['command']}", flush=True)
