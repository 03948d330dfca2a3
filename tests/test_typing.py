"""What an editor knows of a user's script: a type checker finds the mistakes in it, and nothing else."""

import json
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
assert_type(nb.sets.credible_set(clf, X, mass=0.8), pd.DataFrame)
assert_type(nb.families.PolyaTree(), nb.families.PolyaTree)
nb.BayesianNB(class_prior=pd.Series({"no": 0.4, "yes": 0.6}))
nb.BayesianNB(class_prior={"no": 0.4, "yes": 0.6})
nb.BayesianNB(class_prior=np.array([0.4, 0.6]))
labels: np.ndarray = clf.classes_
proba: np.ndarray = clf.predict_proba(X)
clf.predict_intervall(X)  # mistake
clf.predict_interval(X, probb=0.9)  # mistake
nb.sets.credible_set(clf, X, masss=0.8)  # mistake
nb.sets.credible_set(X, clf)  # mistake
nb.sets.credible_sett(clf, X)  # mistake
clf.clases_  # mistake
clf.fit(X)  # mistake
nb.BayesianNB(dependence="weigthed")  # mistake
nb.BayesianNB(estimate="MAP")  # mistake
nb.BayesianNB(unseen="mising")  # mistake
nb.BayesianNB(class_prior="unifrom")  # mistake
clf.to_pymc(X, y, likelihood="row")  # mistake
clf.sample_posterior(include=["log_likelyhood"])  # mistake
clf.sample_posterior(sampler="nutz")  # mistake
"""


@pytest.mark.slow
def test_a_type_checker_knows_what_a_fit_returns_and_finds_the_mistakes_of_a_users_script(tmp_path):
    pytest.importorskip("basedpyright")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "standard"}))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", str(script)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False).stdout
    found = [each for each in json.loads(said)["generalDiagnostics"] if each["severity"] == "error"]
    mistakes = {number for number, line in enumerate(SCRIPT.splitlines()) if line.endswith("# mistake")}
    assert {each["range"]["start"]["line"] for each in found} == mistakes, said
