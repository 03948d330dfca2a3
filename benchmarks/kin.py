"""The presets beside the programs that they are named after: the largest difference of any class probability.

    apt-get install r-base-core r-cran-e1071 weka default-jre-headless   # Debian; klaR is not packaged there
    uv run python -m benchmarks.kin [--klar DIRECTORY] [--only LIBRARY]

Each library reads three tables and answers for their rows, in a process of its own. A library that is not installed is
named and left out. klaR is loaded as an R package where it is one; otherwise ``--klar`` names the directory ``R`` of
its source, of which only the two files of ``NaiveBayes`` are needed. Weka is called through py4j, which pyspark brings.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import naive_bayes as sk
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from bayesnb import BayesianNB, datasets, presets

WEKA = Path("/usr/share/java/weka.jar")

SMALLEST = 1e-300
"""A threshold of e1071 that changes nothing. With 0, e1071 answers NaN for a class that a level excludes."""


class NotInstalledError(Exception):
    """The other program is not on this machine."""


@dataclass(frozen=True)
class Table:
    """Rows to learn from, and rows to ask."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    asked: pd.DataFrame


def numbers(name: str, load: Callable[..., Any]) -> Table:
    """A table of scikit-learn; the classes are text, so that no program takes them as numbers."""
    X, y = load(return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    return Table(name, frame, np.array([f"class {label}" for label in y]), frame)


def tennis() -> Table:
    """PlayTennis, asked for every day that it could have seen."""
    X, y = datasets.play_tennis()
    days = product(*(sorted(X[column].unique()) for column in X))
    return Table("PlayTennis, all 36 days", X, y.to_numpy(), pd.DataFrame(days, columns=X.columns))


def penguins(missing: bool) -> Table:
    """Numbers and text in one table."""
    X, y = datasets.penguins()
    keep = X.notna().all(axis=1).to_numpy() | missing
    X, y = X[keep].reset_index(drop=True), y[keep].to_numpy()
    return Table("penguins, missing values" if missing else "penguins, complete rows", X, y, X)


def largest(ours: BayesianNB, table: Table, theirs: np.ndarray) -> float:
    """The largest difference of our class probabilities from theirs."""
    return float(np.abs(ours.fit(table.X, table.y).predict_proba(table.asked) - theirs).max())


# scikit-learn


def of_sklearn(_: Any) -> Iterator[tuple[str, str, float]]:
    """Settings, table and largest difference of each run of scikit-learn."""
    for load in (load_iris, load_wine, load_breast_cancer):
        table = numbers(load.__name__.removeprefix("load_"), load)
        theirs = sk.GaussianNB().fit(table.X, table.y).predict_proba(table.asked)
        yield "GaussianNB()", table.name, largest(presets.sklearn(), table, theirs)
    table = tennis()
    levels = {column: sorted(table.X[column].unique()) for column in table.X}

    def codes(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.apply(lambda x: pd.Categorical(x, levels[x.name]).codes)

    theirs = sk.CategoricalNB().fit(codes(table.X), table.y).predict_proba(codes(table.asked))
    yield "CategoricalNB()", table.name, largest(presets.sklearn(), table, theirs)
    table = numbers("digits", load_digits)
    theirs = sk.MultinomialNB(alpha=0.5).fit(table.X, table.y).predict_proba(table.asked)
    yield "MultinomialNB(alpha=0.5)", table.name, largest(presets.sklearn(0.5, model="MultinomialNB"), table, theirs)
    ones = (table.X > 7).astype(int)
    table = Table("digits, pixels above 7", ones, table.y, ones)
    theirs = sk.BernoulliNB(alpha=0.5).fit(ones, table.y).predict_proba(ones)
    yield "BernoulliNB(alpha=0.5)", table.name, largest(presets.sklearn(0.5), table, theirs)


# R

IN_R = """
read <- function(name) read.csv(name, stringsAsFactors = TRUE, na.strings = "", colClasses = kinds)
kinds <- KINDS
X <- read("X.csv"); asked <- read("asked.csv")
for (k in names(X)) if (is.factor(X[[k]])) asked[[k]] <- factor(asked[[k]], levels = levels(X[[k]]))
y <- factor(readLines("y.csv"))
SETUP
p <- ANSWER
writeLines(apply(matrix(sprintf("%.17g", p), nrow(p)), 1, paste, collapse = ","), "p.csv")
"""


def in_r(table: Table, setup: str, answer: str) -> np.ndarray:
    """What R answers for a table: a matrix of class probabilities, in the sorted order of the classes."""
    if shutil.which("Rscript") is None:
        raise NotInstalledError("R is not installed")
    kinds = ["numeric" if pd.api.types.is_numeric_dtype(table.X[column]) else "factor" for column in table.X]
    with tempfile.TemporaryDirectory() as place:
        for name, frame in (("X.csv", table.X), ("asked.csv", table.asked)):
            frame.to_csv(Path(place) / name, index=False)
        (Path(place) / "y.csv").write_text("\n".join(map(str, table.y)) + "\n")
        code = IN_R.replace("KINDS", f"c({', '.join(map(repr, kinds))})")
        (Path(place) / "ask.R").write_text(code.replace("SETUP", setup).replace("ANSWER", answer))
        done = subprocess.run(["Rscript", "ask.R"], cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotInstalledError(done.stderr.strip().splitlines()[0])
        return np.genfromtxt(Path(place) / "p.csv", delimiter=",")


def of_e1071(_: Any) -> Iterator[tuple[str, str, float]]:
    """The same of e1071, whose threshold changes nothing or is its own."""
    for table in (tennis(), penguins(missing=True), numbers("wine", load_wine)):
        for laplace in (0, 1):
            for said, threshold in (("1e-300", SMALLEST), ("0.001", 0.001)):
                answer = f"predict(naiveBayes(X, y, laplace = {laplace}), asked, type = 'raw', threshold = {threshold})"
                theirs = in_r(table, "library(e1071)", answer)
                ours = presets.e1071(laplace)
                yield f"laplace = {laplace}, threshold = {said}", table.name, largest(ours, table, theirs)


def of_klar(source: Path | None) -> Iterator[tuple[str, str, float]]:
    """The same of klaR."""
    setup = "library(klaR)"
    if source is not None:
        files = (source / "NaiveBayes.R", source / "predict.NaiveBayes.R")
        setup = "; ".join(f"source({str(file.resolve())!r})" for file in files)
    for table in (tennis(), penguins(missing=False), numbers("wine", load_wine)):
        for laplace in (0, 1):
            answer = f"predict(NaiveBayes(X, y, fL = {laplace}), asked, threshold = 0)$posterior"
            theirs = in_r(table, setup, answer)
            yield f"fL = {laplace}, threshold = 0", table.name, largest(presets.klar(fL=laplace), table, theirs)


# Weka


def arff(table: Table, frame: pd.DataFrame, y: np.ndarray) -> str:
    """A table in the format of Weka, the class last."""
    lines = ["@relation table"]
    for column in table.X:
        x = table.X[column]
        levels = ",".join(f"'{level}'" for level in sorted(x.dropna().unique(), key=str))
        kind = "numeric" if pd.api.types.is_numeric_dtype(x) else f"{{{levels}}}"
        lines.append(f"@attribute '{column}' {kind}")
    names = ",".join(f"'{label}'" for label in np.unique(table.y))
    lines += [f"@attribute class {{{names}}}", "@data"]
    columns = zip(*(frame[column] for column in frame), y, strict=True)
    for cells in columns:
        said = ("?" if pd.isna(v) else f"'{v}'" if isinstance(v, str) else repr(float(v)) for v in cells)
        lines.append(",".join(said))
    return "\n".join(lines) + "\n"


def of_weka(_: Any) -> Iterator[tuple[str, str, float]]:
    """The same of Weka."""
    if not WEKA.exists() or shutil.which("java") is None:
        raise NotInstalledError(f"no java, or no {WEKA}")
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    port = launch_gateway(classpath=str(WEKA), die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    java = gateway.jvm
    try:
        for table in (
            tennis(),
            penguins(missing=True),
            *(numbers(load.__name__.removeprefix("load_"), load) for load in (load_iris, load_wine)),
        ):
            last = table.X.shape[1]

            def instances(frame: pd.DataFrame, y: np.ndarray, table: Table = table, last: int = last) -> Any:
                found = java.weka.core.Instances(java.java.io.StringReader(arff(table, frame, y)))
                found.setClassIndex(last)
                return found

            learned, asked = instances(table.X, table.y), instances(table.asked, table.y[[0] * len(table.asked)])
            theirs = java.weka.classifiers.bayes.NaiveBayes()
            theirs.buildClassifier(learned)
            p = [list(theirs.distributionForInstance(asked.instance(i))) for i in range(len(table.asked))]
            yield "NaiveBayes", table.name, largest(presets.weka(), table, np.array(p))
    finally:
        gateway.shutdown()


# Spark


def of_spark(_: Any) -> Iterator[tuple[str, str, float]]:
    """The same of Spark ML."""
    try:
        from pyspark.ml.classification import NaiveBayes
        from pyspark.ml.functions import vector_to_array
        from pyspark.ml.linalg import Vectors
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NotInstalledError("pyspark is not installed") from error

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        digits, wine = load_digits(return_X_y=True), load_wine(return_X_y=True)
        dark = (digits[0] > 7).astype(float), digits[1]
        for kind, name, (X, y) in (
            ("multinomial", "digits", digits),
            ("bernoulli", "digits, pixels above 7", dark),
            ("gaussian", "wine", wine),
        ):
            rows = [(Vectors.dense(x), float(label)) for x, label in zip(X, y, strict=True)]
            frame = session.createDataFrame(rows, ["features", "label"]).repartition(1)
            found = NaiveBayes(modelType=kind, smoothing=0.5).fit(frame).transform(frame)
            answers = found.select("features", "label", vector_to_array("probability")).collect()
            asked = np.array([answer[0].toArray() for answer in answers])
            theirs = np.array([answer[2] for answer in answers])
            ours = presets.spark(0.5, kind).fit(X, y).predict_proba(asked)
            yield f"{kind}, smoothing=0.5", name, float(np.abs(ours - theirs).max())
    finally:
        session.stop()


LIBRARIES = {"scikit-learn": of_sklearn, "e1071": of_e1071, "klaR": of_klar, "Weka": of_weka, "Spark": of_spark}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--klar", type=Path, help="the directory R of the source of klaR, if it is no installed package"
    )
    parser.add_argument("--only", choices=LIBRARIES, help="one library")
    options = parser.parse_args()
    print("| library | settings | table | largest difference |\n|---|---|---|---:|")
    for library, compare in LIBRARIES.items():
        if options.only not in (None, library):
            continue
        try:
            for settings, table, difference in compare(options.klar):
                print(f"| {library} | {settings} | {table} | {difference:.1g} |", flush=True)
        except NotInstalledError as error:
            print(f"| {library} | not run: {error} | | |")


if __name__ == "__main__":
    main()
