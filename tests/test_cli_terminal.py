"""The command line writes over nothing that it should not, and shows nothing that commands a terminal."""

import contextlib
import os
import pty
import re
import shutil
import subprocess
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

from bayesnb import BayesianNB, cli, datasets, load, progress

pytestmark = pytest.mark.usefixtures("examined_once", "few_drawn_labels")

EVIL = "lv\x1b]0;owned\x07\x1b[2J\x9b2J\u202e"


def run(capsys, *arguments):
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as ended:
        cli.main([str(a) for a in arguments])
    printed = capsys.readouterr()
    return ended.value.code, printed.out, " ".join(printed.err.split())


@pytest.fixture
def table(tmp_path):
    X, y = datasets.play_tennis()
    X.assign(play=y).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.fixture
def model(tmp_path):
    BayesianNB().fit(*datasets.play_tennis()).save(tmp_path / "m.bayesnb")
    return tmp_path / "m.bayesnb"


# Where a command may write


@pytest.mark.parametrize("name", ["itself", "symbolic link", "hard link"])
@pytest.mark.parametrize(
    ("command", "suffix"),
    [
        ("predict MODEL IN", ".csv"),
        ("predict IN play-tennis", ".csv"),
        ("sample IN", ".csv"),
        ("fit IN --target play", ".bayesnb"),
        ("update MODEL IN", ".bayesnb"),
        ("forget MODEL IN", ".bayesnb"),
        ("merge MODEL IN", ".bayesnb"),
        ("report IN --target play", ".html"),
    ],
)
def test_an_output_that_is_an_input_is_refused_even_with_force(capsys, table, model, tmp_path, command, suffix, name):
    read = table.rename(tmp_path / f"read{suffix}")
    content = read.read_bytes()
    output = tmp_path / f"other{suffix}"
    if name == "symbolic link":
        output.symlink_to(read)
    elif name == "hard link":
        output.hardlink_to(read)
    else:
        output = read
    arguments = [{"MODEL": model, "IN": read}.get(word, word) for word in command.split()]
    code, out, err = run(capsys, *arguments, "-o", output, "--force")
    assert (code, out) == (2, "")
    assert "is read, as" in err
    assert read.read_bytes() == content


@pytest.mark.parametrize("pattern", ["", "*.csv"])
def test_a_file_of_a_folder_that_is_read_is_no_output(capsys, table, model, tmp_path, pattern):
    folder = tmp_path / "folder"
    folder.mkdir()
    moved = table.rename(folder / "t.csv")
    content = moved.read_bytes()
    code, _, err = run(capsys, "predict", model, folder / pattern, "-o", moved, "--force")
    assert code == 2
    assert "is read, as" in err
    assert moved.read_bytes() == content


def test_a_model_takes_its_own_place_by_each_of_its_paths_but_no_hard_link(capsys, table, model, tmp_path):
    (tmp_path / "soft.bayesnb").symlink_to(model)
    (tmp_path / "hard.bayesnb").hardlink_to(model)
    assert run(capsys, "update", model, table, "-o", tmp_path / "soft.bayesnb")[0] == 0
    assert load(model).class_count_.sum() == 28
    (tmp_path / "hard.bayesnb").unlink()
    (tmp_path / "hard.bayesnb").hardlink_to(model)
    code, _, err = run(capsys, "update", model, table, "-o", tmp_path / "hard.bayesnb")
    assert code == 2
    assert "is read, as" in err


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("fit play-tennis --dependence none", "o.bayesnb"),
        ("update MODEL play-tennis", "o.bayesnb"),
        ("merge MODEL MODEL", "o.bayesnb"),
        ("predict MODEL play-tennis", "o.csv"),
        ("sample MODEL", "o.csv"),
        ("report play-tennis --explain 0 --dependence none", "o.md"),
        ("audit play-tennis", "o.png"),
    ],
)
def test_a_file_that_a_command_could_not_have_written_is_replaced_only_with_force(
    capsys, model, tmp_path, command, output
):
    output = tmp_path / output
    output.write_text("a,b\n1,2\n")
    arguments = [{"MODEL": model}.get(word, word) for word in command.split()]
    code, _, err = run(capsys, *arguments, "-o", output)
    assert code == 2
    assert "exists" in err
    assert "replace it with --force" in " ".join(err.split())
    assert output.read_text() == "a,b\n1,2\n"
    assert run(capsys, *arguments, "-o", output, "--force")[0] == 0
    assert output.read_bytes() != b"a,b\n1,2\n"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("fit play-tennis --dependence none", "o.bayesnb"),
        ("predict MODEL play-tennis", "o.csv"),
        ("predict MODEL play-tennis --keep wind", "o.parquet"),
        pytest.param("report play-tennis --explain 0 --dependence none", "o.html", marks=pytest.mark.slow),
        ("audit play-tennis", "o.png"),
        pytest.param("audit play-tennis", "o.svg", marks=pytest.mark.slow),
    ],
)
def test_a_second_run_replaces_what_the_first_has_written(capsys, model, tmp_path, command, output):
    arguments = [{"MODEL": model}.get(word, word) for word in command.split()]
    for _ in range(2):
        code, _, err = run(capsys, *arguments, "-o", tmp_path / output)
        assert code == 0, err


# What is shown


SHOWN_ON_A_TERMINAL = (
    ["inspect", "t.csv", "--target", "y"],
    ["inspect", "t.csv", "--target", "y", "--format", "json"],
    ["inspect", "m.bayesnb"],
    ["compare", "t.csv", "--target", "y", "--dependence", "none"],
    ["compare", "t.csv", "--target", "y", "--dependence", "none", "--format", "csv"],
    ["explain", "t.csv", "--target", "y", "--dependence", "none"],
    ["explain", "m.bayesnb", "--row", EVIL + "=1"],
    ["fit", "t.csv", "--target", "y", "--dependence", "none", "-o", "n.bayesnb"],
    ["predict", "m.bayesnb", "t.csv", "--keep", "y"],
    ["sample", "m.bayesnb", "-n", "3"],
    ["predict", EVIL, "t.csv"],
    ["predict", EVIL + ".csv", "t.csv"],
    ["fit", EVIL + ".csv", "--target", "y", "-o", "n.bayesnb"],
    ["compare", "t.csv", "--target", EVIL],
    ["compare", "--" + EVIL],
    ["report", "t.csv", "--target", "y", "--explain", "0", "--dependence", "none", "--format", "md", "-o", "-"],
)


def shown_on_a_terminal(command, monkeypatch) -> str:
    """What a command shows where stdout and stderr are a terminal."""
    ours, theirs = pty.openpty()
    parts = []

    def read():
        with contextlib.suppress(OSError):  # Linux says so where the other side has closed.
            while part := os.read(ours, 2**16):
                parts.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        patch.setattr(sys, "stderr", terminal)
        with warnings.catch_warnings(action="default"), pytest.raises(SystemExit):
            cli.main(command)
    reader.join()
    os.close(ours)
    return b"".join(parts).decode()


def test_no_escape_sequence_of_data_models_or_names_reaches_a_terminal(tmp_path, monkeypatch):
    levels = [EVIL, "b", "c", EVIL, "b", "c"]
    X = pd.DataFrame({EVIL: levels, "n": range(6)})
    y = pd.Series([EVIL + "1", "q", "q", EVIL + "1", "q", "q"], name="y")
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    BayesianNB().fit(X, y).save(tmp_path / "m.bayesnb")
    (tmp_path / f"{EVIL}.csv").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")
    for command in SHOWN_ON_A_TERMINAL:
        text = shown_on_a_terminal(command, monkeypatch)
        assert "Traceback" not in text, text
        hidden = {c for c in text if not c.isprintable()} - {"\r", "\n"}
        assert not hidden, (hidden, text)
        assert "\\x1b" in text or "\\u001b" in text or command[0] == "report", (command, text)


def test_jobs_that_take_long_show_bars_on_a_terminal_which_are_removed_and_change_nothing(tmp_path, monkeypatch):
    X, y = datasets.play_tennis()
    X.assign(play=y).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    fit = ["fit", "t.csv", "--target", "play", "--dependence", "weighted", "-o"]
    quick = shown_on_a_terminal([*fit, "quick.bayesnb"], monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    slow = shown_on_a_terminal([*fit, "slow.bayesnb"], monkeypatch)
    bars = "\u2501"
    assert bars not in quick
    assert bars in slow
    assert "reading" in slow
    assert "14 rows" in slow
    assert "learning exponents" in slow
    assert "1 of 1 members" in slow
    # Each bar is erased, and the lines that stay are those of a quick run.
    assert slow.rstrip("\r\n").rpartition(bars)[2].count("\x1b[2K") >= 1
    assert [line for line in quick.splitlines() if line.strip()][-1] in slow
    assert load("quick.bayesnb").save("a.bayesnb") == load("slow.bayesnb").save("b.bayesnb")
    assert not progress._TERMINAL.jobs
    folds = ["compare", "t.csv", "--target", "play", "--dependence", "weighted", "--cv", "2"]
    said = shown_on_a_terminal(folds, monkeypatch)
    assert "fitting folds" in said
    assert "1 of 2 folds" in said
    # An error ends the bars, too.
    assert bars not in shown_on_a_terminal([*fit[:3], "none", "-o", "c.bayesnb"], monkeypatch).rpartition("none")[2]
    assert not progress._TERMINAL.jobs


@pytest.mark.parametrize(
    ("question", "job"),
    {
        "estimate-class-prior": "sampling class frequencies",
        "fill-in": "filling in cells",
        "label-next": "choosing rows",
        "loo": "leaving rows out",
        "predict-interval": "evaluating posterior draws",
        "uncertainty": "evaluating posterior draws",
    }.items(),
)
def test_each_question_that_can_take_long_shows_a_bar(question, job, tmp_path, monkeypatch):
    X, y = datasets.play_tennis()
    X.assign(play=y, wind=[*X["wind"][1:], ""]).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    shown_on_a_terminal(
        ["fit", "t.csv", "--target", "play", "--dependence", "weighted", "-o", "m.bayesnb"], monkeypatch
    )
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    shown = shown_on_a_terminal(["ask", question, "m.bayesnb", "t.csv"], monkeypatch)
    assert job in shown
    assert not progress._TERMINAL.jobs


def test_bars_on_stderr_leave_a_pipe_alone_and_a_pipe_gets_no_bars(capfd, table, model, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(SystemExit):
        cli.main(["predict", str(model), str(table)])
    expected, said = capfd.readouterr()
    assert "\u2501" not in expected + said
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        with pytest.raises(SystemExit):
            cli.main(["predict", str(model), str(table)])
        shown = os.read(ours, 2**16).decode()
    os.close(ours)
    assert capfd.readouterr().out == expected
    assert "predicting" in shown


def test_a_pipe_gets_utf_8_whatever_the_locale_says(tmp_path, monkeypatch):
    pd.DataFrame({"größe": [1.5, 2.5] * 10, "y": list("uv") * 10}).to_csv(tmp_path / "t.csv", index=False)
    with (tmp_path / "piped").open("w", encoding="ascii") as piped:
        monkeypatch.setattr(sys, "stdout", piped)
        with pytest.raises(SystemExit) as ended:
            cli.main(["inspect", str(tmp_path / "t.csv"), "--target", "y"])
    assert not ended.value.code
    assert "größe" in (tmp_path / "piped").read_text(encoding="utf-8")


# Pipes that end, and names that are no text


@pytest.mark.parametrize(
    "command",
    [*(pytest.param(said, marks=pytest.mark.slow) for said in ("inspect WIDE", "sample MODEL -n 20000")), "--help"],
)
def test_a_reader_who_has_read_enough_ends_it_quietly(model, tmp_path, command):
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"c{k}" for k in range(1000)) + "\n" + ",".join(["1"] * 1000) + "\n")
    arguments = [{"MODEL": str(model), "WIDE": str(wide)}.get(word, word) for word in command.split()]
    run = f'{sys.executable} -m bayesnb "$@" | head -c 1 > /dev/null; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", run, "bash", *arguments], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert "rror" not in done.stderr
    assert "Broken" not in done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param("predict - play-tennis <&-", "stdin is closed", marks=pytest.mark.slow),
        ("predict MODEL play-tennis >&-", "stdout is closed"),
        pytest.param(
            "inspect ä.csv",
            "is not text in the encoding ascii: set PYTHONUTF8=1, so that it is read as UTF-8",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_closed_stream_or_a_name_that_the_encoding_lacks_is_one_line(tmp_path, model, command, said):
    environment = dict(os.environ)
    if "ascii" in said:
        environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    run = f"{sys.executable} -m bayesnb {command.replace('MODEL', str(model))}"
    done = subprocess.run(
        ["bash", "-c", run], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(("Usage", "Try"))]
    assert len(lines) == 1
    assert said.replace("\\\\", "\\") in lines[0]


def test_a_warning_is_one_line_without_the_place_in_the_code(capsys, table, model):
    frame = pd.read_csv(table)
    frame.assign(more=1).to_csv(table, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, _, said = run(capsys, "update", model, table)
    assert code == 0
    assert ".py" not in said
    assert "bayesnb: warning: " in said


def test_an_error_that_nobody_foresaw_is_one_line(capsys, monkeypatch):
    def broken(*_, **__):
        raise KeyError("what\nis it")

    monkeypatch.setattr("bayesnb.datasets.load", broken)
    code, out, err = run(capsys, "compare", "play-tennis")
    assert (code, out) == (1, "")
    assert err == "bayesnb: KeyError: 'what\\nis it' (--debug shows where)"


def test_a_table_that_lacks_a_column_is_predicted_when_that_is_said(capsys, table, model):
    pd.read_csv(table).drop(columns="wind").to_csv(table, index=False)
    assert run(capsys, "predict", model, table)[0] == 1
    code, out, _ = run(capsys, "predict", model, table, "--absent", "missing")
    assert code == 0
    assert len(out.splitlines()) == 15


@pytest.mark.parametrize("no_color", ["", "1"])
def test_without_a_terminal_the_output_has_no_colours(no_color, capsys, monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_color)
    for layout in ("table", "json", "csv"):
        quick = ("--dependence", "none", "--format", layout, "--draws", "20")
        code, out, err = run(capsys, "compare", "play-tennis", *quick)
        assert (code, "\x1b" in out + err) == (0, False)


# Names that are long, wide or many


CLASSES = ["北京市朝阳区", "🙂 smile, or not", *(f"class {k}" for k in range(10))]
LONG = "measurement_number_of_the_very_long_column_name_in_centimetres"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table of long and wide names, and a model of it."""
    folder = tmp_path_factory.mktemp("strange")
    rng = np.random.default_rng(0)
    k = np.arange(120) % len(CLASSES)
    text = [" ".join(rng.choice(["red", "green", "blue"], 30)) for _ in k]
    X = pd.DataFrame({LONG: k + rng.normal(size=120), "列名": rng.choice(["高", "低"], 120), "free text": text})
    y = pd.Series([CLASSES[each] for each in k], name="ziel 目标")
    X.assign(**{f"c{j}": rng.normal(size=120) for j in range(12)}, **{y.name: y}).to_csv(folder / "t.csv", index=False)
    BayesianNB().fit(X[[LONG, "列名"]].assign(size=k * 1e6), y).save(folder / "m.bayesnb")
    learned = X[[LONG, "列名"]].assign(size=k * 1e6, **{y.name: y})
    learned.to_csv(folder / "learned.csv", index=False)
    learned[:40].to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture
def strange(made, tmp_path, monkeypatch):
    """A copy of this folder, where commands run and may write."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("width", [60, *(pytest.param(wide, marks=pytest.mark.slow) for wide in (80, 120))])
@pytest.mark.parametrize(
    "command",
    [
        "inspect m.bayesnb --all",
        "explain m.bayesnb new.csv --row 1",
        "score m.bayesnb new.csv",
        "ask surprise m.bayesnb new.csv",
        "ask loo m.bayesnb learned.csv",
        "ask predict-interval m.bayesnb new.csv",
        "fit t.csv --target none -o n.bayesnb",
        "fit t.csv --target c1 --feature c2=gauss -o n.bayesnb",
    ],
)
def test_no_line_is_longer_than_the_terminal_and_no_word_is_cut(strange, monkeypatch, command, width):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(progress, "PATIENCE", 1e9)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown_on_a_terminal(command.split(), monkeypatch))
    for line in shown.splitlines():
        assert cell_len(line) <= width or len(line.split()) == 1, (cell_len(line), line)
        assert line == line.rstrip(), line
    rules = {cell_len(line) for line in shown.splitlines() if line[:1] in {"┃", "│", "┡", "└"}}
    assert len(rules) <= shown.count("┏"), rules


def test_names_and_values_of_a_list_are_told_apart_and_names_stay_as_they_are(capsys, strange, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = run(capsys, "ask", "credible-set", "m.bayesnb", "new.csv")
    assert "北京市朝阳区: True; " in out
    _, out, _ = run(capsys, "ask", "surprise", "m.bayesnb", "new.csv")
    assert "measurement_" in out
    assert "measurement number" not in out
    _, out, _ = run(capsys, "explain", "m.bayesnb", "new.csv", "--row", "11")
    assert "size=11000000" in out


@pytest.mark.parametrize("classes", [["no", "yes"], ["垃圾邮件和更多的字", "a long name, which is cut"]])
def test_a_bar_column_is_as_wide_as_its_bars_whatever_the_names(capsys, tmp_path, monkeypatch, classes):
    X, y = datasets.play_tennis()
    BayesianNB().fit(X, y.map(dict(zip(["no", "yes"], classes, strict=True)))).save(tmp_path / "m.bayesnb")
    X.to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setenv("COLUMNS", "100")
    _, out, _ = run(capsys, "explain", tmp_path / "m.bayesnb", tmp_path / "t.csv")
    grid = [line for line in out.splitlines() if line[:1] in {"┃", "│"}]
    assert "←│→" in grid[0]
    places = {cell_len(line[: line.rindex("│", 0, len(line) - 1)]) for line in grid}
    assert len(places) == 1


def test_a_table_that_is_cut_says_where_all_of_it_is_and_an_empty_answer_says_so(capsys, strange):
    _, out, _ = run(capsys, "ask", "loo", "m.bayesnb", "learned.csv")
    assert "the first 10 of 120 rows" in out
    assert out.endswith("--format json prints complete tables.\n")
    _, out, _ = run(capsys, "ask", "loo", "m.bayesnb", "learned.csv", "--by", "feature")
    assert "the first 10 of 120 rows and the first 40 of 48 columns " in " ".join(out.split())
    _, out, _ = run(capsys, "ask", "loo", "m.bayesnb", "learned.csv", "--format", "csv")
    assert out.startswith("row,log_density,")
    _, out, _ = run(capsys, "ask", "fill-in", "m.bayesnb", "new.csv")
    assert out == "The answer has no rows.\n"


def test_an_error_that_lists_names_says_how_many_it_leaves_out(capsys, strange):
    _, _, said = run(capsys, "fit", "t.csv", "--target", "none", "-o", "n.bayesnb")
    assert "'c8'] and 4 more" in said


def test_the_help_of_a_question_has_no_markup_and_its_weights_are_a_column(capsys, strange):
    for name in cli.cli.commands["ask"].list_commands(None):
        _, out, _ = run(capsys, "ask", name, "--help")
        assert "`" not in out
        assert "--sample-weight" not in out
    X, y = datasets.play_tennis()
    BayesianNB().fit(X, y, sample_weight=np.arange(1.0, 15.0)).save("w.bayesnb")
    X.assign(play=y, times=range(1, 15)).to_csv("w.csv", index=False)
    assert run(capsys, "ask", "loo", "w.bayesnb", "w.csv")[0] == 1
    code, out, _ = run(capsys, "ask", "loo", "w.bayesnb", "w.csv", "--weight", "times", "--format", "csv")
    assert code == 0
    assert len(out.splitlines()) == 15


def test_shares_are_percentages_on_every_screen_and_the_columns_of_a_watch_are_explained(capsys, strange):
    X, y = datasets.penguins()
    BayesianNB().fit(X, y).save("p.bayesnb")
    for command in ("inspect penguins", "inspect p.bayesnb", "inspect p.bayesnb --all"):
        _, out, _ = run(capsys, *command.split())
        assert "3% │" in out
        assert "0.03" not in out
    _, out, _ = run(capsys, "watch", "p.bayesnb", "penguins")
    assert {"log e: ", "log largest: ", "p: ", "alarm: "} <= {
        *re.findall(r"(?:log \w+|p|alarm): ", " ".join(out.split()))
    }
