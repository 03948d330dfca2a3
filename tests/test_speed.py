"""The program that measures the quick paths writes its figures, with their commit, where the page has room for them."""

import io

from benchmarks.beside import take_turns
from benchmarks.speed import BEGIN, END, PAGE, commit, written


def test_new_figures_take_the_place_of_old_ones_and_name_their_commit():
    page = f"before\n{BEGIN}\nold\n{END}\nafter"
    once = written(page, {"Gaussian, fit": 12.345, "one row": 2.0})
    assert once.startswith(f"before\n{BEGIN}\n")
    assert once.endswith(f"\n{END}\nafter")
    assert "old" not in once
    assert "| Gaussian, fit | 12.3 |" in once
    assert commit() in once
    assert written(once, {"Gaussian, fit": 1.0}).count(BEGIN) == 1


def test_the_page_of_the_benchmarks_has_room_for_the_figures():
    before, _, rest = PAGE.read_text().partition(BEGIN)
    assert before
    assert END in rest


def test_a_line_of_a_benchmark_is_run_once_for_each_turn(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("run\nrun\n\n\n"))
    ran = []
    take_turns([("fit", lambda: ran.append("fit")), ("predict", lambda: ran.append("predict"))])
    # A first run warms up.
    assert ran == ["fit"] * 3 + ["predict"]
    name, first, second, last, end = capsys.readouterr().out.split("\n")[:5]
    assert (name, last, end) == ("fit", "predict", "")
    assert float(first) >= 0
    assert float(second) >= 0
