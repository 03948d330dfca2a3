"""What an editor knows of a user's script: a type checker finds the mistakes in it, and nothing else."""

import re
import subprocess
import sys

import pytest

SCRIPT = """
from typing import assert_type

import numpy as np
import pandas as pd

import bayesnb as nb

X, y = nb.datasets.play_tennis()
clf = nb.BayesianNB(dependence="weighted", estimate="map", unseen="new").fit(X, y)
assert_type(clf, nb.BayesianNB)
assert_type(clf.partial_fit(X, y).forget(X, y).discount(0.5).merge(clf).learn_exponents(X, y), nb.BayesianNB)
assert_type(clf.predict_interval(X, prob=0.9), pd.DataFrame)
assert_type(clf.exponents_, pd.DataFrame)
assert_type(clf.n_features_in_, int)
labels: np.ndarray = clf.classes_
proba: np.ndarray = clf.predict_proba(X)
clf.predict_intervall(X)  # mistake
clf.predict_interval(X, probb=0.9)  # mistake
clf.clases_  # mistake
clf.fit(X)  # mistake
nb.BayesianNB(dependence="weigthed")  # mistake
nb.BayesianNB(estimate="MAP")  # mistake
nb.BayesianNB(unseen="mising")  # mistake
"""


def test_a_type_checker_knows_what_a_fit_returns_and_finds_the_mistakes_of_a_users_script(tmp_path):
    ty = pytest.importorskip("ty").find_ty_bin()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [ty, "check", "--python", sys.prefix, "--output-format", "concise", str(script)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False).stdout
    mistakes = {number for number, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# mistake")}
    assert {int(line) for line in re.findall(r"^\S*?script\.py:(\d+):\d+: error", said, re.MULTILINE)} == mistakes, said
