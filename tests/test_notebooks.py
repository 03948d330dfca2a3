"""The notebook files are small and have the outputs of one run from the top. ``pytest --nbmake`` runs them.

The solutions of their exercises are folded into the last text cell. They run here, when the notebooks run: each prints
what stands below it.
"""

import re
from pathlib import Path

import nbformat
import pytest

HOME = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(HOME.glob("*.ipynb"))
LONGEST_SHOWN = 12  # lines of a cell that draws a picture and is not folded
SOLUTION = re.compile(
    r"<details>\n<summary>Solution</summary>\n\n.+?\n\n```python\n(?P<code>.+?)```\n\n```text\n(?P<printed>.+?)```\n\n</details>",
    re.DOTALL,
)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request) -> Path:
    return request.param


@pytest.fixture
def code(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def outputs(code, kind):
    return [output for cell in code for output in cell.outputs if output.output_type == kind]


def exercises_of(path) -> str:
    """The text of the last cell but one, which holds the exercises."""
    cell = nbformat.read(path, as_version=4).cells[-2]
    assert cell.cell_type == "markdown"
    return cell.source


def solutions() -> list:
    """The code of each solution, and the text that stands below it."""
    return [
        pytest.param(found["code"], found["printed"], id=f"{path.stem[:2]}-{k}")
        for path in NOTEBOOKS
        for k, found in enumerate(SOLUTION.finditer(exercises_of(path)), start=1)
    ]


def test_there_are_fifteen_notebooks():
    assert [path.stem[:2] for path in NOTEBOOKS] == [f"{k:02d}" for k in range(1, 16)]


def test_a_notebook_is_valid_and_light(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.language_info.pygments_lexer == "ipython3"
    assert path.stat().st_size < 500_000


def test_the_outputs_of_a_notebook_are_those_of_one_run_from_the_top(code):
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not outputs(code, "error")
    assert not [output for output in outputs(code, "stream") if output.name == "stderr"]


def test_a_notebook_asserts_its_statements(code):
    assert sum(cell.source.count("assert ") for cell in code) >= 8


def test_every_picture_has_an_alternative_text(code):
    pictures = [cell for cell in code if any("image/png" in output.get("data", {}) for output in cell.outputs)]
    assert len(pictures) >= 4
    assert all(len(cell.metadata["mystnb"]["image"]["alt"]) > 30 for cell in pictures)


def test_the_code_of_a_picture_is_folded_where_it_is_long(code):
    pictures = [cell for cell in code if any("image/png" in output.get("data", {}) for output in cell.outputs)]
    for cell in pictures:
        folded = "hide-input" in cell.metadata.get("tags", [])
        assert folded == (len(cell.source.splitlines()) > LONGEST_SHOWN), cell.source


def test_a_notebook_has_two_or_three_exercises_with_folded_solutions(path):
    text, number = exercises_of(path), int(path.stem[:2])
    assert text.startswith("## Exercises")
    asked = re.findall(r"^\*\*(\d+\.\d)\*\* ", text, re.MULTILINE)
    assert asked == [f"{number}.{k}" for k in range(1, len(asked) + 1)]
    assert 2 <= len(asked) <= 3
    assert text.count("<details>") == len(SOLUTION.findall(text)) == len(asked)


@pytest.mark.slow
@pytest.mark.parametrize(("solution", "printed"), solutions())
def test_a_solution_prints_what_the_notebook_says(solution, printed, monkeypatch, capsys):
    monkeypatch.chdir(HOME)
    exec(compile(solution, "solution", "exec"), {"__name__": "solution"})
    assert capsys.readouterr().out == printed


def test_a_notebook_ends_with_the_versions_used(code):
    assert "%watermark" in code[-1].source
    assert "bayesnb" in code[-1].outputs[0].text


def test_a_notebook_contains_no_path_of_the_machine(path):
    assert not re.search(r"/(tmp|home|root|Users)/", path.read_text(encoding="utf-8"))
