"""Screens of commands and pages, as they were last looked at: each is a file in ``tests/snapshots``.

A screen that was changed on purpose is written anew, and looked at in the diff::

    BAYESNB_SNAPSHOTS=write pytest tests/test_snapshots.py
"""

import os
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesnb import cli

SNAPSHOTS = Path(__file__).parent / "snapshots"

SCREENS = {
    "help": (80, "--help"),
    "fit-help": (80, "fit --help"),
    "ask-help": (80, "ask --help"),
    "ask-uncertainty-help": (80, "ask uncertainty --help"),
    "inspect": (80, "inspect shop.csv --target bought"),
    "inspect-narrow": (60, "inspect shop.csv --target bought"),
    "inspect-model": (80, "inspect shop.bayesnb"),
    "fit": (80, "fit shop.csv --target bought --drop order --dependence none -o again.bayesnb"),
    "fit-without-target": (80, "fit shop.csv -o again.bayesnb"),
    "fit-slip": (80, "fit shop.csv --target bougth -o again.bayesnb"),
    "fit-wrong-family": (80, "fit shop.csv --target bought --feature price=poison -o again.bayesnb"),
    "predict": (80, "predict shop.bayesnb new.csv --interval"),
    "score": (80, "score shop.bayesnb new.csv"),
    "score-narrow": (60, "score shop.bayesnb new.csv"),
    "explain": (100, "explain shop.bayesnb new.csv --row 1"),
    "explain-narrow": (60, "explain shop.bayesnb new.csv --row 1"),
    "compare": (80, "compare play-tennis --dependence none"),
    "compare-all": (80, "compare play-tennis --dependence none --all"),
    "compare-narrow": (60, "compare play-tennis --dependence none"),
    "audit": (80, "audit shop.csv --target bought --drop order"),
    "ask": (80, "ask predict-interval shop.bayesnb new.csv"),
    "update": (80, "update shop.bayesnb new.csv -o later.bayesnb"),
    "sample": (80, "sample shop.bayesnb -n 3"),
}
"""The width of the terminal and the command of each screen."""

PAGES = {
    "report-play-tennis": "report play-tennis --dependence none --format md -o -",
    "report-shop": "report shop.csv --target bought --drop order --dependence none --format md -o -",
    "report-shop-weighted": "report shop.csv --target bought --drop order --dependence weighted --format md -o -",
    "report-play-tennis-html": "report play-tennis --dependence none --explain 1 --format html -o -",
}
"""The command of each page."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table of orders, some of its rows as another table, and a model."""
    folder, rng, n = tmp_path_factory.mktemp("shop"), np.random.default_rng(7), 120
    bought = rng.random(n) < 0.4
    table = pd.DataFrame({
        "order": [f"A-{k:04d}" for k in rng.permutation(n)],
        "price": np.exp(rng.normal(3 - 0.7 * bought, 0.6)).round(2),
        "visits": rng.poisson(2 + 2 * bought),
        "channel": rng.choice(["mail", "web", "shop"], n),
        "gap": np.where(rng.random(n) < 0.1, "?", np.where(bought, "b", "a")),
        "bought": np.where(bought, "yes", "no"),
    })  # fmt: skip
    table["gap"] = np.where(rng.random(n) < 0.3, "a", table["gap"])
    table.to_csv(folder / "shop.csv", index=False)
    table[:25].to_csv(folder / "new.csv", index=False)
    words = "fit shop.csv --target bought --drop order --na ? --dependence none -o shop.bayesnb"
    before = Path.cwd()
    os.chdir(folder)
    with pytest.raises(SystemExit):
        cli.main(words.split())
    os.chdir(before)
    return folder


def require_same(name, text):
    """Hold a text against its snapshot, or write the snapshot where that is asked for."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "(hash)", text)
    text = re.sub(r"bayesnb \d+\.\d\S*", "bayesnb (version)", text)
    text = re.sub(r"\(\d{4}-\d\d-\d\d \d\d:\d\d\)", "(date)", text)
    text = re.sub(r"Written .*", "Written (date and versions)", text)
    text = re.sub(r"(\d\.\d{6})\d+", r"\1", text)  # the last digits are those of the processor
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("BAYESNB_SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{name} has changed: BAYESNB_SNAPSHOTS=write writes it anew"


def printed_by(words, capsys):
    """The exit code of a command and all that it prints, without blanks at the ends of lines."""
    with pytest.raises(SystemExit) as ended:
        cli.main(shlex.split(words))
    printed = capsys.readouterr()
    said = "\n".join(line.rstrip() for line in f"{printed.out}\n--- stderr\n{printed.err}".splitlines())
    return f"$ bayesnb {words}\n{said}\n--- exit code {ended.value.code}\n"


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_as_it_was_when_it_was_last_looked_at(name, folder, capsys, monkeypatch):
    width, words = SCREENS[name]
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(width))
    require_same(name, printed_by(words, capsys))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_as_it_was_when_it_was_last_looked_at(name, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("bayesnb.report.writer.svg", lambda figure: ("<svg></svg>", 1, 1))
    text = printed_by(PAGES[name], capsys)
    if "html" in name:
        # The style sheet and the pictures have tests of their own; here stands what a reader reads.
        text = re.sub(r"<style>.*?</style>|<[^>]*>", "\n", text.partition("--- stderr")[0], flags=re.DOTALL)
        text = "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"
    require_same(name, text)
