"""Files as users have them: each is read alike by every verb, or refused with one line that names the cure."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesnb import BayesianNB, cli, datasets
from bayesnb.data import readers
from bayesnb.data.csv_reader import Format
from tests.hostile_files import READ, REFUSED, File


def written(tmp_path, case: str, file: File):
    path = tmp_path / (case.replace(" ", "_").replace("/", "_")[:60] + file.suffix)
    path.write_bytes(file.data)
    return path


def format_of(file: File) -> Format:
    """What the options say, in Python."""
    names = {"--sep": "sep", "--decimal": "decimal", "--encoding": "encoding", "--sheet": "sheet"}
    told = dict(zip(file.options, file.options[1:], strict=False))
    said = {names[option]: value for option, value in told.items() if option in names}
    said |= {"header": True} if "--header" in file.options else {}
    said |= {"header": False} if "--no-header" in file.options else {}
    return Format(**said | ({"na": (told["--na"],)} if "--na" in told else {}))


def as_pandas_reads(path, file: File) -> pd.DataFrame:
    """The same table by pandas, which is told what the reader has found out."""
    if path.suffix == ".xlsx":
        return pd.read_excel(path, **file.pandas)
    frame = pd.read_csv(path, **{"skip_blank_lines": True, **file.pandas})
    return frame.rename(columns={k: f"column{k}" for k in range(5)}) if file.pandas.get("header", 0) is None else frame


def families_and_levels(clf: BayesianNB) -> dict:
    return {name: (type(f.family).__name__, f.levels) for name, f in clf.classifier_.schema.features.items()}


@pytest.mark.filterwarnings("ignore::bayesnb.errors.IdentifierWarning")
@pytest.mark.filterwarnings("ignore:column 'visits' looks like an identifier")
@pytest.mark.parametrize("case", READ)
def test_a_file_is_read_in_parts_and_at_once_as_pandas_reads_it_when_it_is_told_how(case, tmp_path):
    file = READ[case]
    path = written(tmp_path, case, file)
    source = readers.Source(path, format_of(file))
    told = as_pandas_reads(path, file)
    expected = BayesianNB().fit(told.drop(columns=file.target), told[file.target])
    frame = readers.frame(source)
    for clf in (
        BayesianNB().fit(source, file.target),
        BayesianNB().fit(frame.drop(columns=file.target), frame[file.target]),
    ):
        assert families_and_levels(clf) == families_and_levels(expected)
        np.testing.assert_allclose(
            clf.predict_proba(frame.drop(columns=file.target)),
            expected.predict_proba(told.drop(columns=file.target)),
            rtol=1e-9,
        )


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence_with_its_name(case, tmp_path):
    file = REFUSED[case]
    path = written(tmp_path, case, file)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"(?s)\A[^\n]*\Z") as refused:
            BayesianNB().fit(readers.Source(path, format_of(file)), file.target)
    for words in file.said:
        assert words in str(refused.value)


@pytest.fixture(scope="module")
def tennis(tmp_path_factory):
    """A model file."""
    path = tmp_path_factory.mktemp("models") / "tennis.bayesnb"
    X, y = datasets.play_tennis()
    BayesianNB().fit(X, y).save(path)
    return path


def run(capsys, *arguments) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as ended:
        cli.main([str(a) for a in arguments])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert "Warning" not in printed.err
    return ended.value.code or 0, printed.out, printed.err


# That a file is read right is tested above for all of them; here, that every verb hands over each option, and finds out
# what no option says.
BY_OPTION = {READ[case].options[0]: case for case in READ if READ[case].options}
SOME = [*BY_OPTION.values(), "semicolons and decimal commas", "gzip without a suffix of gzip"]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if k in (0, len(SOME) - 1) else pytest.mark.slow) for k, case in enumerate(SOME)],
)
def test_every_verb_reads_a_file_alike(case, tmp_path, capsys):
    file = READ[case]
    path = written(tmp_path, case, file)
    told = ("--target", file.target, *file.options)
    answers = {}
    for verb in ("inspect", "compare"):
        quick = ("--dependence", "none", "--draws", 20) if verb == "compare" else ()
        code, out, err = run(capsys, verb, path, *told, *quick, "--format", "json")
        assert code == 0, err
        answers[verb] = json.loads(out)
    model = tmp_path / "m.bayesnb"
    for command in (
        ("fit", path, *told, "--dependence", "none", "-o", model),
        ("predict", model, path, *file.options, "-o", tmp_path / "p.csv", "--digits", 17),
        ("score", model, path, *file.options),
        ("update", model, path, *file.options),
        ("forget", model, path, *file.options),
    ):
        code, _, err = run(capsys, *command)
        assert code == 0, err
    families = [{f["feature"]: (f["family"], f["levels"]) for f in said["features"]} for said in answers.values()]
    assert families[0] == families[1]
    (first,) = answers["compare"]["rows"]
    expected = first["estimates"]["predictive"]
    predicted = pd.read_csv(tmp_path / "p.csv")[[f"p_{label}" for label in expected]]
    # The row of compare is the held-out row that surprises most, and compare leaves it out of the fit.
    place = first["held_out"]
    again = ("--dependence", "none", "--draws", 20, "--row", json.dumps(first["row"]), "--format", "json")
    code, out, err = run(capsys, "compare", path, *told, *again)
    assert code == 0, err
    (learned,) = json.loads(out)["rows"]
    expected = learned["estimates"]["predictive"]
    assert predicted.iloc[place].tolist() == pytest.approx([*expected.values()], rel=1e-9)
    code, out, err = run(capsys, "explain", path, *told, "--dependence", "none", "--row", place, "--format", "json")
    assert code == 0, err
    assert json.loads(out)["probabilities"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("case", ["no header, told"])
@pytest.mark.slow
def test_the_report_and_the_audit_read_a_hostile_file_too(case, tmp_path, capsys):
    file = READ[case]
    path = written(tmp_path, case, file)
    for command in (("audit", path), ("report", path, "-o", tmp_path / "r.md", "--explain", 1, "--draws", 20)):
        code, _, err = run(capsys, *command, "--target", file.target, *file.options)
        assert code == 0, err


@pytest.mark.parametrize("case", REFUSED)
def test_every_verb_refuses_a_file_with_the_same_line(case, tmp_path, capsys, tennis):
    file = REFUSED[case]
    path = written(tmp_path, case, file)
    said = set()
    page, model = tmp_path / "r.html", tmp_path / "m.bayesnb"
    verbs = [(verb, path) for verb in ("inspect", "compare", "explain", "audit")]
    verbs += [
        ("report", path, "-o", page),
        ("fit", path, "-o", model),
        ("update", tennis, path),
        ("forget", tennis, path),
    ]
    for command in verbs:
        code, out, err = run(capsys, *command, "--target", file.target, *file.options)
        assert (code, out, err.count("\n")) == (1, "", 1), err
        said.add(err)
    assert not page.exists()
    assert not model.exists()
    assert len(said) == 1
    assert all(words in err for words in file.said)
