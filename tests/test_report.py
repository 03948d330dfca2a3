"""The report shows the numbers of the model, escapes all names in the data and makes no network request."""

import base64
import hashlib
import html
import importlib
import io
import json
import os
import re
import stat
import time
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import run
from matplotlib import image
from sklearn.feature_extraction.text import CountVectorizer

from bayesnb import BayesianNB, Categorical, Gaussian, NormalGamma, checks, datasets
from bayesnb.inference import label_noise, questions
from bayesnb.report import report, write, writer
from bayesnb.report.parts import Picture, with_interval
from bayesnb.report.questions import answer, ledger, shortened
from bayesnb.report.scores import calibration

pytestmark = pytest.mark.usefixtures("few_drawn_labels")

SCRIPT = "<script>alert(1)</script>"
HOSTILE = "&<>\"'|\nx"
PATH_NAME = "![a](http://evil.test/x.png) _b_ `c` \\| $d$ https://evil.test"
VOID = {"meta", "img", "br", "wbr"}


class Page(HTMLParser):
    """A page as its elements, in order, each with its attributes and its own text; every element is closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        within = "caption " if self.open and self.open[-1][0] == "caption" else ""
        element = (within + tag, dict(attrs), [])
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()[0].removeprefix("caption ") == tag

    def handle_data(self, data):
        if self.open:
            self.open[-1][2].append(data)

    def all(self, *tags):
        return [(tag, attrs, "".join(text)) for tag, attrs, text in self.elements if tag in tags]

    def texts(self, *tags):
        return [text for _, _, text in self.all(*tags)]

    def table(self, caption):
        """The rows of cells of the table with this caption, as text."""
        rows, taking = [], False
        for tag, _, text in self.elements:
            if tag == "caption span":
                taking = "".join(text) == caption
            elif taking and tag == "tr":
                rows.append([])
            elif taking and tag in ("td", "th"):
                rows[-1].append("".join(text))
        return rows


@pytest.fixture(scope="module")
def tennis():
    X, y = datasets.play_tennis()
    return BayesianNB(random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def tennis_html(tennis):
    return report(*tennis, title="Tennis", draws=200, explain=2)


@pytest.fixture(scope="module")
def tennis_page(tennis_html):
    return Page(tennis_html)


@pytest.fixture(scope="module")
def tennis_md(tennis):
    """A page without contributions of rows."""
    remarks = ["A remark.", "Is it so?", "Third.", "Fourth.", "fifth", "sixth"]
    return report(*tennis, format="md", draws=50, explain=0, remarks=remarks)


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    n = 30
    X = pd.DataFrame({
        SCRIPT: rng.choice([HOSTILE, SCRIPT, "plain"], n),
        HOSTILE: rng.choice(["a|b", 'q"q', "l\nm"], n),
        PATH_NAME: rng.normal(size=n),
        "_$x$": pd.Series(rng.choice(["$a$", "\x00\u202e\x1b", None], n), dtype=object),
    })  # fmt: skip
    y = pd.Series(rng.choice([HOSTILE, SCRIPT], n), name=SCRIPT)
    return BayesianNB(random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def hostile_html(hostile):
    return report(*hostile, title=f"{SCRIPT} & co\ud800", draws=50, explain=1)


@pytest.fixture(scope="module")
def hostile_md(hostile):
    return report(*hostile, title=f"{SCRIPT} & co\ud800", format="md", draws=50, explain=1)


# What the page says


def test_the_page_has_every_section_and_links_only_to_them(tennis_page):
    headings = tennis_page.texts("h2")
    assert headings == [
        "What the model is worth",
        "What to look at",
        "What each column tells",
        "Uncertain rows",
        "Labels to doubt",
        "Calibration",
        "Each estimate beside the others",
        "Dependence between columns",
        "Does the model fit",
        "How much the priors matter",
        "Rows that a prior decides",
        "How each column was read",
        "Parameters",
        "Evidence",
        "How this page was made",
    ]
    links = [(text, attrs["href"]) for _, attrs, text in tennis_page.all("a")]
    anchors = {attrs["id"]: text for _, attrs, text in tennis_page.all("h2")}
    assert {href[1:] for _, href in links} <= set(anchors)


def test_what_a_column_tells_is_the_gain_in_exact_leave_one_out_log_loss():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = pd.DataFrame({"noise": rng.normal(size=60), "signal": rng.normal(size=60) + 2 * y})
    clf = BayesianNB().fit(X, y)
    frame = checks.column_gains(clf, X, y)

    def loss(names):
        proba = BayesianNB().fit(X[names], y).loo(X[names], y)["probability"].to_numpy()
        return -np.log(proba[np.arange(60), y]).mean()

    # The class shares of the other rows, under Dirichlet(1).
    both, shares = loss(["noise", "signal"]), -np.log((29 + 1) / (59 + 2))
    assert frame.index.tolist() == ["signal", "noise"]
    for name, other in (("signal", "noise"), ("noise", "signal")):
        assert frame.loc[name, "alone"] == pytest.approx(shares - loss([name]))
        assert frame.loc[name, "without"] == pytest.approx(loss([other]) - both)


def test_the_scores_can_be_those_of_folds_and_of_some_rows(tennis):
    clf, X, y = tennis
    page = report(clf, X, y, format="md", explain=0, draws=20, cv=2, rows=8)
    assert "Scored by 2-fold cross-validation of 8 rows drawn at random." in page
    assert re.search(r"\*\*\d+% of 8 rows are", page)
    assert "Reliability of the predictions of 8 rows" in page


def test_the_calibration_of_two_classes_is_that_of_the_rarer_one():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(400) < 0.08, "ill", "well")
    X = pd.DataFrame({"a": rng.normal(y == "ill"), "b": rng.normal(y == "ill")})
    page = report(BayesianNB().fit(X, y), X, y, format="md", explain=0, draws=20)
    section = page.partition("How often 'ill' is the true class, by its probability")[2]
    assert section.partition("Farthest")[0].count("rows by exact leave-one-out") == 1
    bins = re.findall(r"\| 0\.(\d) to ", section)
    assert {"0", "1", "2", "3"} <= {*bins}


def test_rows_can_be_ordered_by_epistemic_entropy(tennis):
    clf, X, y = tennis
    page = report(clf, X, y, format="md", explain=3, by="epistemic", draws=200)
    block = page.partition("The rows of the highest epistemic entropy")[2].partition("**Row ")[0]
    shown = [int(line.split("|")[1]) for line in block.splitlines() if re.match(r"\| \d", line)]
    assert shown == clf.uncertainty(X, draws=200)["epistemic"].sort_values(ascending=False).index[:3].tolist()


def test_the_bayes_factor_of_a_column_is_positive_if_the_classes_differ_in_it():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = pd.DataFrame({"noise": rng.normal(size=200), "signal": rng.normal(size=200) + 2 * y})
    page = report(BayesianNB().fit(X, y), X, y, format="md", explain=0, draws=50).partition("\n## Evidence\n")[2]
    factors = {line.split(" | ")[0][2:]: float(line.split(" | ")[2][:-2]) for line in page.splitlines()
               if re.match(r"\| (noise|signal) \| -", line)}  # fmt: skip
    assert factors["noise"] < 0 < factors["signal"]


def test_each_picture_is_not_blank_and_has_an_alternative_text(tennis_page):
    pictures = tennis_page.all("img")
    assert len(pictures) == 5
    for _, attrs, _ in pictures:
        assert len(attrs["alt"]) > 40
        kind, _, data = attrs["src"].partition(",")
        assert kind == "data:image/svg+xml;base64"
        drawn = ElementTree.fromstring(base64.b64decode(data))
        assert len(list(drawn.iter("{http://www.w3.org/2000/svg}path"))) > 5
        assert float(drawn.get("width")[:-2]) == pytest.approx(int(attrs["width"]) * 72 / 90, abs=1)


def test_pictures_have_other_colours_on_a_dark_page(tennis_page):
    for _, attrs, _ in tennis_page.all("img"):
        drawn = base64.b64decode(attrs["src"].partition(",")[2]).decode()
        assert "@media (prefers-color-scheme:dark)" in drawn
        body = drawn.partition("</style>")[2]
        assert "var(--ink)" in body
        assert "#000000" not in body


@pytest.mark.parametrize("kind", [pytest.param("polars", marks=pytest.mark.slow), "sparse", "index"])
def test_every_kind_of_table_has_a_page(kind):
    X, y = datasets.heights()
    match kind:
        case "polars":
            X = pl.from_pandas(X)
        case "sparse":
            X, y = datasets.posts()
            X = CountVectorizer().fit_transform(X["text"])
        case "index":
            X = X.set_axis(["same"] * len(X))
    page = report(BayesianNB(random_state=0).fit(X, y), X, y, format="md", draws=50, explain=1)
    assert "Not shown" not in page
    assert ("**Row same, " in page) == (kind == "index")


def test_long_tables_are_shortened_with_a_note():
    X = pd.DataFrame({"id": [f"level {k}" for k in range(100)]})
    y = np.arange(100) % 2
    clf = BayesianNB({"id": Categorical()}, random_state=0).fit(X, y)
    page = report(clf, X, y, format="md", explain=0, draws=20)
    assert "id: the first 40 of 100 rows" in page
    assert "level 38" in page
    assert "| level 99 |" not in page


def test_a_further_question_is_one_function_and_can_stand_in_the_report(tennis):
    @questions.question(
        "the rows of rare classes",
        "why",
        "checks",
        questions.Shown("Rare rows", says=lambda _: "Some."),
        columns={"how_rare": "the share of other classes"},
    )
    def rare_rows(classifier, X, y):
        """The rows of rare classes.

        Parameters
        ----------
        X, y
            The rows.

        Returns
        -------
        DataFrame (row, ...)
            ``how_rare``, the share of other classes.
        """
        shares = pd.Series(y).value_counts(normalize=True)
        return pd.DataFrame({"how_rare": 1 - np.array([shares[label] for label in y])})

    try:
        page = report(*tennis, format="md", draws=20, explain=0)
    finally:
        questions._TABLE.pop("rare_rows")
    section = page.partition("\n## Rare rows\n")[2].partition("\n## ")[0]
    assert "**Some.**" in section
    assert "| row | how rare |" in section
    assert "how rare: the share of other classes." in section
    assert "\n- Some.\n" in page


# What a model does not have


@pytest.mark.parametrize(
    ("clf", "words"),
    [
        (BayesianNB(Gaussian(NormalGamma.reference())), "an improper prior has no evidence"),
        (BayesianNB(class_prior="frequencies", estimate="map"), "Not shown: Rows that a prior decides, because"),
        (BayesianNB(class_prior="frequencies"), None),
    ],
)
def test_what_cannot_be_computed_is_replaced_by_the_reason(clf, words):
    X, y = datasets.heights()
    page = report(clf.fit(X, y), X, y, format="md", explain=0, draws=50)
    assert ("Not shown" in page) == (words is not None)
    assert words is None or words in page


def test_an_estimate_that_gives_a_row_probability_0_loses_only_the_sections_that_need_it():
    X = pd.DataFrame({"a": list("uuvvww"), "b": list("xyxyxy")})
    y = list("ppqqrr")
    page = report(BayesianNB(estimate="mle").fit(X, y), X, y, format="md", explain=0, draws=50)
    assert page.count("Not shown") == 4
    assert 'because estimate="mle" has no prior' in page
    assert "Not shown: Labels to doubt, because row" in page
    assert "has probability 0 under every class" in page
    assert "| impossible rows |" in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "pdf"}, "format to be 'html' or 'md'; got 'pdf'"),
        ({"by": "aleatoric"}, "by to be 'total' or 'epistemic'"),
        ({"unit": "octaves"}, "unit to be one of"),
        ({"explain": -1}, "0 or more; got -1"),
        ({"explain": 1.5}, "0 or more; got 1.5"),
        ({"prob": 1.0}, "between 0 and 1"),
        ({"y": ["no"]}, "14 rows and y has 1"),
        ({"y": ["no"] * 14}, "exactly the learned rows, 5 of 'no', 9 of 'yes'; got 14 of 'no', 0 of 'yes'"),
        ({"y": ["no", None] * 7}, "missing in 7 of 14 rows"),
        ({"y": ["maybe"] * 14}, "'maybe' was never learned"),
    ],
)
def test_input_without_a_report_is_refused(tennis, change, words):
    clf, X, y = tennis
    with pytest.raises(ValueError, match=words):
        report(**{"clf": clf, "X": X, "y": y} | change)


# Nothing from outside, and nothing runs


@pytest.mark.parametrize("which", ["tennis_html", "hostile_html"])
def test_the_page_makes_no_network_request_and_has_no_script(which, request):
    text = request.getfixturevalue(which)
    page = Page(text)
    assert {tag for tag, _, _ in page.elements} <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "nav", "ul", "li", "a", "section", "p",
        "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "img", "figcaption", "details",
        "caption span", "summary", "span", "svg", "path", "rect", "wbr",
    }  # fmt: skip
    for _, attrs, _ in page.elements:
        assert not [name for name in attrs if name.startswith("on") or name == "style"]
        assert attrs.get("href", "#").startswith("#")
        assert attrs.get("src", "data:image/svg+xml;base64,").startswith("data:image/svg+xml;base64,")
    assert "url(" not in text
    assert "@import" not in text


def test_the_content_policy_of_the_page_allows_only_its_own_style_and_pictures(tennis_html, tennis_page):
    (policy,) = [
        attrs["content"] for _, attrs, _ in tennis_page.all("meta")
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]  # fmt: skip
    (style,) = re.findall("<style>(.*?)</style>", tennis_html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_a_page_opens_with_the_scores_the_findings_and_the_columns_and_folds_the_rest(tennis_html):
    titles = re.findall(r"(<summary>)?<h2[^>]*>(.*?)</h2>", tennis_html)
    assert [title for folded, title in titles if not folded] == [
        "What the model is worth", "What to look at", "What each column tells",
    ]  # fmt: skip
    assert ("<summary>", "Uncertain rows") in titles


def test_the_page_is_accessible_to_screen_readers(tennis_page):
    ((_, attrs, _),) = tennis_page.all("html")
    assert attrs["lang"] == "en"
    assert len(tennis_page.texts("h1")) == len(tennis_page.texts("title")) == 1
    assert all(attrs["scope"] in ("col", "row") for _, attrs, _ in tennis_page.all("th"))
    assert len(tennis_page.all("caption")) == len(tennis_page.all("table"))
    regions = [attrs for _, attrs, _ in tennis_page.all("div")]
    assert all(attrs["tabindex"] == "0" and attrs["aria-label"] for attrs in regions)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_a_contrast_of_at_least_4_5_to_1(tennis_html, scheme):
    light, dark = re.findall(r":root \{(.*?)\}", tennis_html, re.DOTALL)
    colours = dict(re.findall(r"--(\w+): #(\w{6})", light if scheme == "light" else dark))

    def luminance(colour):
        c = np.array([int(colour[k : k + 2], 16) for k in (0, 2, 4)]) / 255
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    for text in ("ink", "quiet", "link", "for", "against"):
        for ground in ("ground", "panel"):
            high, low = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)


# Names from the data


def test_names_and_values_are_escaped_in_html(hostile, hostile_html):
    page = Page(hostile_html)
    assert "<script" not in hostile_html
    assert page.texts("h1") == page.texts("title") == [f"{SCRIPT} & co\ufffd"]
    shown = HOSTILE.replace("\n", " ↵ ")
    captions = page.texts("caption span")
    assert {SCRIPT, shown, PATH_NAME} <= set(captions)
    levels = page.table(SCRIPT)
    assert levels[0] == ["class", *sorted([shown, SCRIPT, "plain"], key=levels[0].index)]
    assert [line[0] for line in levels[1:]] == [
        str(label).replace("\n", " ↵ ") for label in hostile[0].classes_.tolist()
    ]
    assert "a|b" in page.table(shown)[0]
    assert f"classes of {SCRIPT}:" in page.texts("p")[0]


def test_control_characters_and_surrogates_are_replaced(hostile_html, hostile_md):
    for text in (hostile_html, hostile_md):
        text.encode()
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\ud800-\udfff]", text)
        assert "\ufffd\ufffd\ufffd" in text


def cells_of(line):
    """The cells of a line of a Markdown table, as displayed."""
    cells = re.split(r"(?<!\\)(?:\\\\)*\|", line.strip())[1:-1]
    return [html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell.strip())) for cell in cells]


def test_a_markdown_table_has_as_many_cells_in_each_line(hostile_md, tennis_md):
    for text in (hostile_md, tennis_md):
        tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
        assert len(tables) > 8
        for table in tables:
            assert len({len(cells_of(line)) for line in table.splitlines()}) == 1
            assert re.fullmatch(r"\|( (---|---:) \|)+", table.splitlines()[1])


def test_names_and_values_are_shown_unchanged_in_markdown(hostile_md):
    assert "<" not in hostile_md.replace("&lt;", "")
    assert not re.search(r"(?<!\\)\]\(", hostile_md)
    assert "://" not in hostile_md
    first = [cells_of(line)[0] for line in hostile_md.splitlines() if line.startswith("|")]
    assert {SCRIPT, HOSTILE.replace("\n", " ↵ "), PATH_NAME} <= set(first)


@pytest.mark.parametrize(
    "text", ["# no heading", "- no item", "1. no item", "+ no item", "---", "==", "*no* _stress_", "`no code`"]
)
def test_markdown_in_a_name_is_escaped(text):
    escaped = writer.escaped(text)
    assert escaped != text
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaped) == text


# Writing


def test_a_page_is_written_completely_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write("new \ud800", path)
    assert path.read_text() == "old"

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write("new", path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_replaces_the_old_one_and_keeps_its_permissions(tmp_path):
    path, link = tmp_path / "page.html", tmp_path / "link.html"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write("new ∞\n", link)
    assert path.read_bytes() == "new ∞\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [link, path]


def test_writing_to_a_device_does_not_replace_it():
    write("gone", os.devnull)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_writing_a_page_to_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write("page", tmp_path)


# The command line


QUICK = ("--draws", "50", "--explain", "0", "--dependence", "none")


@pytest.mark.parametrize(
    ("name", "more", "start"),
    [("r.md", (), "# Report"), ("r", (), "<!doctype html>"), ("r", ("--format", "md"), "# Report")],
)
def test_the_command_writes_the_format_of_the_file_name_or_of_the_option(capsys, tmp_path, name, more, start):
    path = tmp_path / name
    code, out, err = run(capsys, "report", "play-tennis", "-o", str(path), *more, *QUICK)
    assert (code, out) == (0, "")
    assert path.read_text(encoding="utf-8").startswith(start)
    assert err.replace("\n", "").endswith(f"wrote {path}")
    assert list(tmp_path.iterdir()) == [path]


def test_a_command_that_fails_leaves_the_old_page(capsys, tmp_path):
    path = tmp_path / "r.html"
    path.write_text("old")
    code, out, err = run(capsys, "report", "nowhere.csv", "--target", "y", "-o", str(path), "--force")
    assert (code, out) == (1, "")
    assert "no such file" in err
    assert path.read_text() == "old"


def explained(capsys, *arguments):
    """``bayesnb explain`` of a naive model: to choose a dependence would take the time of thirty fits."""
    return run(capsys, "explain", *arguments, "--dependence", "none")


def test_explain_says_why_log_odds_are_outside_of_their_interval(capsys, tmp_path):
    rows = ["60,1,0,a", "0,1,30,b", "1,1,1,a", "2,20,1,b"]
    (tmp_path / "words.csv").write_text("\n".join(["the,of,and,y", *rows]))
    command = [tmp_path / "words.csv", "--target", "y", "--feature", "words=multinomial:the,of,and"]
    code, out, _ = explained(capsys, *map(str, command), "--row", "3")
    assert code == 0
    assert "(total): the log-odds lie outside their interval, and both are right." in " ".join(out.split())
    assert "outside their interval" not in explained(capsys, "play-tennis")[1]


def test_with_a_dependence_the_interval_of_the_probability_is_not_said_to_be_given_the_row(capsys):
    _, out, _ = run(capsys, "explain", "heights", "--dependence", "tempered", "--row", "0")
    said = " ".join(out.split())
    assert "Given the row" not in said
    assert "The probability averages over the parameters" in said
    assert ". Given the row, the probability's is often narrower." in " ".join(
        explained(capsys, "heights", "--row", "0")[1].split()
    )


def test_a_probability_outside_its_interval_is_printed_with_the_median(capsys, tmp_path):
    y = np.repeat([0, 1], 12)
    X = pd.DataFrame(np.random.default_rng(0).normal(2 * y[:, None], 1.0, (24, 4)), columns=list("abcd"))
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    clf = BayesianNB(dependence="tempered").fit(X, y)
    for x, outside in ((1.0, False), (4.0, True)):
        asked = pd.DataFrame(x, [0], X.columns)
        ends, p, best = clf.predict_interval(asked), clf.predict_proba(asked).max(), clf.predict(asked)[0]
        assert (not ends[best, "lower"][0] <= p <= ends[best, "upper"][0]) == outside
        row = ",".join(f"{name}={x}" for name in X)
        command = ["explain", str(tmp_path / "t.csv"), "--target", "y", "--dependence", "tempered", "--row", row]
        assert ("(median " in run(capsys, *command)[1]) == outside
    assert "it can lie outside the interval" in " ".join(run(capsys, "predict", "--help")[1].split())


def test_compare_says_why_log_odds_are_outside_their_interval_and_compares_map(capsys, tmp_path):
    y = np.repeat([0, 1], 20)
    X = pd.DataFrame(np.random.default_rng(0).normal(y[:, None], 0.01, (40, 4)), columns=list("abcd"))
    X.iloc[0] = 1.0
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    _, out, _ = run(capsys, "compare", str(tmp_path / "t.csv"), "--target", "y", "--dependence", "none")
    said = " ".join(out.split())
    assert "the log-odds lie outside their interval, and both are right." in said
    assert re.search(r"Log loss beside full Bayes: mle \+[\d.]+ ± [\d.]+, map \+[\d.]+ ± ", said)


def test_log_odds_outside_their_interval_are_explained_by_the_largest_entry():
    entries = {"(averaging)": 15.0, "x": -20.0, "(total)": -5.0}
    lines = pd.DataFrame({"log_odds": entries, "lower": {**entries, "(total)": -21.0}, "value": None, "missing": False})
    lines = lines.assign(label="a", against="b", upper=lines["lower"] + 1.0).loc[[*entries]]
    for x, why in ((-20.0, "if a value is far from the learned values"), (-2.0, "here mostly by (averaging).")):
        lines.loc["x", ["log_odds", "lower"]] = x
        assert why in str([*ledger(lines, "nats")][-1])


def test_the_headline_of_the_calibration_is_no_bin_of_one_row():
    p = np.r_[np.full(900, 0.95), np.full(100, 0.75), 0.55]
    codes = np.r_[np.arange(900) < 45, np.arange(100) < 45, False].astype(int)
    card = SimpleNamespace(how="folds", by_class=pd.DataFrame(index=["a", "b", "c"]))
    answers = {"m": np.log(np.stack([p, (1 - p) / 2, (1 - p) / 2], axis=1))}
    compared = SimpleNamespace(prob=0.89, codes=codes, answers=answers, card=lambda _: card)
    said = next(part.says for part in calibration(compared, "m").parts if isinstance(part, Picture))
    assert "Largest part of the calibration error: probability 75%, true in 55% of 100 rows." in said


def test_a_remark_about_numbers_far_from_the_others_is_a_sentence_on_the_page(capsys, tmp_path):
    x = np.r_[np.random.default_rng(0).normal(7.0, 0.3, 200).round(2), 71, 72.5, 73, 74, 75, 76]
    pd.DataFrame({"x": x, "y": ["a", "b"] * 103}).to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "t.md"
    run(capsys, "report", str(tmp_path / "t.csv"), "--target", "y", "--dependence", "none", "-o", str(page))
    text = page.read_text()
    assert "; they may be in another unit, or typing errors." in text
    assert "?." not in text


def test_classes_that_are_numbers_are_named_by_their_text(capsys, tmp_path):
    X, y = datasets.heights()
    X.assign(y=(y == "male").astype(int)).to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = explained(
        capsys, str(tmp_path / "t.csv"), "--target", "y", "--label", "1", "--format", "json"
    )  # fmt: skip
    assert code == 0
    assert (json.loads(out)["label"], json.loads(out)["against"]) == (1, 0)


# In a browser


@pytest.mark.browser
def test_in_a_browser_the_page_runs_nothing_requests_nothing_and_logs_nothing(browser, hostile_html, tmp_path):
    path = tmp_path / "page.html"
    write(hostile_html, path)
    asked, said, alarms = [], [], []
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (alarms.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri(), wait_until="networkidle")
    drawn = page.eval_on_selector_all("img", "all => all.map(one => one.naturalWidth)")
    styled = page.eval_on_selector("table", "one => getComputedStyle(one).borderCollapse")
    overflow = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    scripts = page.evaluate("document.scripts.length")
    title = page.title()
    shot = page.screenshot(path=tmp_path / "page.png", full_page=True)
    page.close()
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    assert said == []
    assert alarms == []
    assert min(drawn) > 400
    assert styled == "collapse"
    assert overflow is False
    assert scripts == 0
    assert title == f"{SCRIPT} & co\ufffd"
    assert image.imread(io.BytesIO(shot))[..., :3].std() > 0.05


@pytest.mark.browser
def test_in_a_browser_page_and_pictures_are_light_or_dark_as_the_screen_is(browser, tennis_html, tmp_path):
    path = tmp_path / "page.html"
    write(tennis_html, path)
    shades = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
        page.goto(path.as_uri(), wait_until="load")
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        shots = [page.screenshot(), page.locator("img").first.screenshot()]
        shades[scheme] = [image.imread(io.BytesIO(shot))[..., :3].mean() for shot in shots]
        ledgers = page.eval_on_selector_all(".ledger", "all => all.map(t => t.offsetWidth <= t.parentNode.offsetWidth)")
        overflow = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        page.close()
        assert ledgers == [True, True]
        assert overflow is False
    assert min(shades["light"]) > 0.8
    assert max(shades["dark"]) < 0.3


@pytest.mark.browser
def test_in_a_browser_the_content_policy_blocks_unescaped_scripts_too(browser, tennis_html, tmp_path):
    intruders = {
        "<script>alert(1)</script>": "inline script",
        "<img src=x onerror=alert(1)>": "inline event handler",
        "<img src=https://example.invalid/x.png>": "https://example.invalid/x.png",
        "<link rel=stylesheet href=https://example.invalid/x.css>": "https://example.invalid/x.css",
        "<iframe src=https://example.invalid></iframe>": "Framing",
    }
    path = tmp_path / "page.html"
    write(tennis_html.replace("<h1>", f"{''.join(intruders)}<h1>"), path)
    said, alarms, arrived = [], [], []
    page = browser.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: (alarms.append(dialog.message), dialog.dismiss()))
    page.on("response", lambda response: arrived.append(response.url))
    page.goto(path.as_uri(), wait_until="networkidle")
    # Chromium reports a blocked frame after the page has loaded.
    missing = set(intruders.values())
    deadline = time.monotonic() + 60
    while missing and time.monotonic() < deadline:
        page.wait_for_timeout(100)
        missing -= {sign for sign in missing for text in said if "Content Security Policy" in text and sign in text}
    page.close()
    assert not missing, (missing, said)
    assert alarms == []
    assert not [url for url in arrived if url.startswith("http")]


@pytest.fixture(scope="module")
def page_of_long_names(tmp_path_factory):
    k = np.arange(90) % 9
    names = [f"class {each} with a name that goes on for sixty letters, more or less" for each in range(8)] + ["短い"]
    X = pd.DataFrame({f"measurement_number_{j}_of_the_very_long_column_name_in_centimetres": k + j for j in range(3)})
    clf = BayesianNB().fit(X, y := np.array(names)[k])
    path = tmp_path_factory.mktemp("long") / "page.html"
    write(report(clf, X, y, explain=1), path)
    return path


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_in_a_browser_no_cell_is_wider_than_its_column_however_long_the_names(browser, page_of_long_names, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(page_of_long_names.as_uri(), wait_until="load")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    wide = page.eval_on_selector_all(
        "th, td",
        """all => all.filter(each => {
        const inside = document.createRange();
        inside.selectNodeContents(each);
        return inside.getBoundingClientRect().right > each.getBoundingClientRect().right + 1;
    }).map(each => each.textContent)""",
    )
    overflow = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    page.close()
    assert (wide, overflow) == ([], False)


def test_large_numbers_have_separators():
    assert label_noise.sentence(2.0, 1.0, 11184).startswith("2.0 ± 1.0 of 11,184 labels")
    frame = pd.DataFrame({"a": range(11184)})
    (part,) = shortened(frame, "all", 10)
    assert part.caption == "all: the first 10 of 11,184 rows"


def test_no_heading_is_repeated_below_itself(tennis_html, tennis_md):
    page = Page(tennis_html)
    assert not {*page.texts("h2")} & {*page.texts("figcaption")}
    lines = [line.strip("#* ") for line in tennis_md.splitlines() if line]
    assert not [line for line, following in pairwise(lines) if line == following]


# No internal object on a page or a screen


def internal_classes() -> set[str]:
    """The names of all classes of the package that are no specification, which a user could have written."""
    import pkgutil

    import bayesnb.families
    import bayesnb.priors

    written = {*bayesnb.__all__, *bayesnb.families.__all__, *bayesnb.priors.__all__, "Exponents"}
    found = set()
    for module in pkgutil.walk_packages(bayesnb.__path__, "bayesnb."):
        if not module.name.endswith("__main__"):
            kinds = vars(importlib.import_module(module.name)).values()
            found |= {k.__name__ for k in kinds if isinstance(k, type) and k.__module__.startswith("bayesnb.")}
    return found - written


def require_no_internal_object(text: str) -> None:
    assert not re.search(r"<bayesnb|object at 0x|\barray\(", text)
    shown = {*re.findall(r"\b([A-Z]\w+)\((?=\w+=|\))", html.unescape(text))}
    assert not shown & internal_classes()


def test_no_page_or_screen_shows_an_internal_object():
    for path in (Path(__file__).parent / "snapshots").glob("*.txt"):
        require_no_internal_object(path.read_text(encoding="utf-8"))
    # The audit names the dependence of the model where columns depend on each other.
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = pd.DataFrame(dict.fromkeys(["one", "two", "three"], rng.normal(y)))
    clf = BayesianNB(dependence="tempered").fit(X, y)
    page = report(clf, X, y, format="md", explain=1, draws=50, cv=2)
    require_no_internal_object(page)
    assert 'the model has dependence="tempered".' in page
    require_no_internal_object(clf._repr_html_())


def test_the_ends_of_an_interval_that_differ_are_shown_to_differ():
    assert with_interval(0.0019, 0.00165, 0.0022) == "0.00190 (0.00165–0.00220)"
    assert with_interval(0.25, 0.2, 0.3) == "0.250 (0.200–0.300)"


def test_a_probability_that_is_nearly_0_or_1_is_not_rounded_to_it():
    ends = pd.DataFrame([[0.99999, 0.999997, 1.0, 0.0, 3e-6, 1e-5]])
    ends.columns = pd.MultiIndex.from_product([["a", "b"], ["lower", "median", "upper"]])
    said = answer(np.array([0.999997, 3e-6]), ends, np.array(["a", "b"]), "a", 0.89)
    assert said == "a: probability above 0.9999 (89% interval: above 0.9999)."
    said = answer(np.array([0.999997, 3e-6]), ends, np.array(["a", "b"]), "b", 0.89)
    assert said.startswith(
        "b: probability below 0.0001 (89% interval: below 0.0001). The most probable class is a (above"
    )
    ends.iloc[0] = [0.2, 0.5, 0.99962, 0.00038, 0.5, 0.8]
    said = answer(np.array([0.5005, 0.4995]), ends, np.array(["a", "b"]), None, 0.89)
    assert said == "a: probability 0.500 (89% interval: 0.200 to 0.9996)."
