"""The notebook files are small and have the outputs of one run from the top. ``pytest --nbmake`` runs them."""

import re
from pathlib import Path

import nbformat
import pytest

HOME = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(HOME.glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request) -> Path:
    return request.param


@pytest.fixture
def code(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def outputs(code, kind):
    return [output for cell in code for output in cell.outputs if output.output_type == kind]


def test_there_are_ten_notebooks():
    assert [path.stem[:2] for path in NOTEBOOKS] == [f"{k:02d}" for k in range(1, 11)]


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


def test_a_notebook_ends_with_the_versions_used(code):
    assert "%watermark" in code[-1].source
    assert "bayesnb" in code[-1].outputs[0].text


def test_a_notebook_contains_no_path_of_the_machine(path):
    assert not re.search(r"/(tmp|home|root|Users)/", path.read_text(encoding="utf-8"))
