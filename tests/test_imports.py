"""Nothing heavy is imported before it is needed: one process takes step after step and says what is loaded by then."""

import ast
import json
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from filelock import FileLock

from bayesnb.cli import options
from bayesnb.cli.stated import written
from bayesnb.kernels import blocks

STEPS = """
import contextlib, io, json, sys

loaded = {}

def after(step):
    loaded[step] = sorted({name.partition(".")[0] for name in sys.modules})

with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
    from bayesnb import cli
    cli.main(["--help"])
assert "Usage: bayesnb" in said.getvalue()
after("help")

commands = [[name] for name in cli.cli.commands] + [["ask", name] for name in cli.asking.questions.list_commands(None)]
for command in commands:
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        cli.main([*command, "--help"])
    assert f"Usage: bayesnb {' '.join(command)}" in said.getvalue()
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.suppress(SystemExit):
        cli.main([*command, "--mistyped"])
    assert "No such option" in said.getvalue()
    after(" ".join([*command, "--help"]))
loaded["commands"] = [" ".join([*command, "--help"]) for command in commands]

import bayesnb as nb
after("import")

nb.datasets.names()
after("names of data sets")

nb.families.StudentT(), nb.families.HierarchicalCategorical(2, 1), nb.families.FromPyMC
after("families that are sampled")

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    assert not cli.cli.main(["inspect", "penguins"], standalone_mode=False)
    assert not cli.cli.main(["explain", "penguins", "--dependence", "none"], standalone_mode=False)
after("inspect and explain")

import pandas as pd
frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "t": ["u", "v", "u"], "y": list("pqp")})
X, y = frame[["a", "t"]], frame["y"]
clf = nb.BayesianNB(random_state=0).fit(X, y)
clf.predict_proba(X), clf.loo(X, y), nb.draws.sample_proba(clf, X)
after("fit and predict")

import numpy as np
rows, labels = np.random.default_rng(0).normal(size=(100_000, 20)), np.arange(100_000) % 3
before = nb.BayesianNB().fit(rows, labels).predict_proba(rows)
after("fit and predict a larger table")

list(nb.deploy.predict_table(nb.BayesianNB().fit(iter([frame]), "y"), iter([frame])))
after("tables in parts")

with contextlib.redirect_stdout(io.StringIO()):
    assert not cli.cli.main(["compare", "play-tennis", "--dependence", "pairwise"], standalone_mode=False)
after("compare")

clf.save(sys.argv[1])
assert nb.describe(sys.argv[1])["rows"] == {"p": 2.0, "q": 1.0}
after("describe a file")

from bayesnb.plots import *; from bayesnb.report import *
after("plots and report")

import bayesnb.kernels.compiled
again = nb.BayesianNB().fit(rows, labels).predict_proba(rows)
loaded["bits"] = ["same" if before.tobytes() == again.tobytes() else "other"]
print(json.dumps(loaded))
"""

ENGINES = {"polars", "dask", "distributed", "pyspark", "duckdb"}
HEAVY = {"pymc", "pytensor", "arviz", "matplotlib", "numba", "llvmlite", *ENGINES}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory, worker_id):
    """The packages that are loaded after each step. All workers of the tests share one process that says so."""
    folder = tmp_path_factory.getbasetemp() if worker_id == "master" else tmp_path_factory.getbasetemp().parent
    said = folder / "imports.json"
    with FileLock(folder / "imports.lock"):
        if not said.exists():
            command = [sys.executable, "-c", STEPS, folder / "imported.model"]
            said.write_text(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {step: set(names) for step, names in json.loads(said.read_text()).items()}


def test_help_and_a_mistyped_option_import_nothing_that_is_slow(loaded):
    assert "click" in loaded["help"]
    slow = {"pandas", "sklearn", "numpy", "scipy", "narwhals", "pyarrow", "rich", "safetensors"}
    assert {"fit --help", "report --help", "ask --help", "ask loo --help"} <= loaded["commands"]
    for command in ("help", *loaded["commands"]):
        assert not loaded[command] & (HEAVY | slow), command


def test_the_file_of_options_is_in_step_with_signatures_and_docstrings():
    assert options.FACTS.read_text(encoding="utf-8") == written(), "write it anew: python -m bayesnb.cli.stated"


def test_import_bayesnb_imports_nothing_that_is_slow(loaded):
    assert "bayesnb" in loaded["import"]
    assert not loaded["import"] & {*HEAVY, "pandas", "sklearn", "pyarrow"}


def test_listing_the_names_of_data_sets_does_not_import_pandas(loaded):
    assert "pandas" not in loaded["names of data sets"]


def test_families_that_are_sampled_are_made_without_pymc(loaded):
    assert not loaded["families that are sampled"] & {"pymc", "pytensor"}


def test_commands_that_look_at_a_table_or_learn_it_load_no_scikit_learn(loaded):
    assert "pandas" in loaded["inspect and explain"]
    assert "sklearn" not in loaded["inspect and explain"]


def test_a_small_table_is_learned_and_predicted_with_neither_sampler_nor_compiler_nor_plot(loaded):
    assert "sklearn" in loaded["fit and predict"]
    assert not loaded["fit and predict"] & {*HEAVY, "safetensors", "xarray"}


def test_a_process_that_learns_and_predicts_two_million_reals_need_not_load_the_compiler(loaded):
    assert not loaded["fit and predict a larger table"] & {"numba", "llvmlite"}


def test_probabilities_have_the_same_bits_whether_or_not_the_compiler_was_loaded(loaded):
    assert loaded["bits"] == {"same"}


def test_no_engine_is_imported_unless_its_table_is_passed_in(loaded):
    assert not loaded["tables in parts"] & {*ENGINES, "pymc", "safetensors", "xarray"}


def test_a_command_that_compares_models_without_trees_loads_no_compiler(loaded):
    assert not loaded["compare"] & {"numba", "llvmlite"}


def test_describing_a_file_loads_neither_pymc_nor_numba(loaded):
    assert not loaded["describe a file"] & {"pymc", "numba", "pytensor", "arviz", "matplotlib"}


def test_neither_plots_nor_report_imports_matplotlib_before_it_draws(loaded):
    assert not loaded["plots and report"] & {"matplotlib", "arviz"}


def test_no_file_of_the_kernels_is_imported_by_one_that_it_imports():
    folder, imported = Path(blocks.__file__).parent, {}
    for file in folder.glob("*.py"):
        froms = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
        imported[file.stem] = {f"{node.module}.{name.name}" for node in froms for name in node.names}
    within = {
        name: {other for other in imported if any(f"kernels.{other}" in full for full in found)}
        for name, found in imported.items()
    }
    assert within["blocks"] == {"compiled"}  # The import is found although it is within a function.
    assert len(tuple(TopologicalSorter(within).static_order())) == len(within)
