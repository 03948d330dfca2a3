"""Tables as people export them: the families that are inferred, and advice that the printed command follows."""

import json
import shlex
from itertools import pairwise

import numpy as np
import pytest

import bayesnb as nb
from tests.conftest import run
from tests.exports import EXPORTS

pytestmark = pytest.mark.usefixtures("examined_once")


@pytest.mark.parametrize("name", EXPORTS)
def test_each_export_is_read_as_expected_and_the_printed_command_fits_it(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    export = EXPORTS[name](np.random.default_rng(5), 250)
    (tmp_path / "t.csv").write_text("\n".join(export.lines), encoding=export.encoding)
    code, out, err = run(capsys, "inspect", "t.csv", "--target", export.target, "--format", "json")
    assert code == 0, err
    said = json.loads(out)
    assert {line["feature"]: line["family"] for line in said["features"]} == export.families
    for words in export.advised:
        assert words in said["fit"]
    words = shlex.split(said["fit"])
    code, _, err = run(capsys, *words[1:], "--dependence", "none")
    assert code == 0, err
    # Advice that was followed is not repeated.
    warned = [line for line in err.splitlines() if "warning: column" in line]
    followed = [word for option, word in pairwise(words) if option in ("--feature", "--na", "--drop")]
    assert not [line for line in warned for word in followed if word in line]
    assert sorted(nb.load("t.bayesnb").classes_) == sorted(set(export.labels))


@pytest.mark.parametrize("name", ["hospital", "panel", "tickets"])
def test_no_line_of_a_screen_ends_within_an_option_and_no_column_is_described_in_two_ways(
    name, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    export = EXPORTS[name](np.random.default_rng(11), 600)
    (tmp_path / "t.csv").write_text("\n".join(export.lines), encoding=export.encoding)
    _, out, _ = run(capsys, "inspect", "t.csv", "--target", export.target)
    screen = out[out.rindex("┘") :].splitlines()[1:-2]
    assert any("--feature" in line for line in screen)
    assert all(len(line.rstrip()) <= 80 for line in screen)
    for line in screen:
        assert not line.rstrip().endswith(("--feature", "--na")), screen
        shlex.split(line)  # Quotation marks are closed in their line.
    assert sum(line.startswith("ALT: numbers") for line in screen) == (name == "hospital")
    assert any("read as a column of kinds" in line for line in screen) == (name == "panel")
