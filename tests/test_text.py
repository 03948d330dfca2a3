"""A column of text is a bag of words: it is read as scikit-learn reads it, and learned, streamed and explained."""

import unicodedata

import numpy as np
import pandas as pd
import pytest
from model_files import changed, said
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import CountVectorizer

from bayesnb import BayesianNB, ByType, Categorical, Dirichlet, Missing, Multinomial, Poisson, Text, cli, draws, load
from bayesnb.errors import ModelFileError, NoKnownWordWarning

COMMON = ["please", "the", "my", "is", "not", "for", "order", "what", "how", "and", "very", "soon", "2026", "über"]
TELLING = {
    "refund": ["refund", "money", "charged", "twice", "invoice"],
    "login": ["password", "reset", "account", "locked", "out"],
}


def tickets(n, seed=0):
    """Tickets with two columns of text, of which some cells are missing, empty or without a word, and two others."""
    rng = np.random.default_rng(seed)
    y = np.array(sorted(TELLING))[rng.integers(0, 2, n)]

    def cell(label, few):
        words = [*rng.choice(COMMON, rng.integers(3, 9)), *rng.choice(TELLING[label], rng.integers(0, few))]
        return " ".join(rng.permutation(words)).capitalize() + str(rng.choice([".", "!", "?", " :-)"]))

    subject = np.array([cell(label, 3) for label in y], object)
    body = np.array([cell(label, 4) for label in y], object)
    subject[rng.random(n) < 0.05] = ""
    body[rng.random(n) < 0.1] = None
    body[rng.random(n) < 0.05] = "?! -"
    return pd.DataFrame(
        {
            "subject": subject,
            "plan": rng.choice(["free", "paid"], n),
            "body": body,
            "visits": rng.poisson(np.where(y == "login", 3, 2)),
        }
    ), y


X, Y = tickets(120)
ODD = X[:5].assign(subject="zebra giraffe", body="Refund the zebra refund refund")
NEW = pd.concat([tickets(10, seed=1)[0], ODD], ignore_index=True)
TEXTS = {"subject": "text", "body": Text()}


def same(a, b, table=NEW, atol=1e-12):
    """Both classifiers say the same of a table, and have the same words."""
    assert_allclose(a.predict_proba(table), b.predict_proba(table), rtol=1e-10, atol=atol)
    for name in ("subject", "body"):
        assert set(a.tables()[name]) == set(b.tables()[name])


def with_counts(X, counters):
    """The same table with a column for each word instead of columns of text."""
    parts = [X.drop(columns=list(counters)).reset_index(drop=True)]
    for name, counter in counters.items():
        counts = counter.transform(X[name].fillna("")).toarray()
        parts.append(pd.DataFrame(counts, columns=[f"{name}: {word}" for word in counter.get_feature_names_out()]))
    return pd.concat(parts, axis=1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ngram_range": (1, 2), "binary": True},
        {"min_df": 3, "max_features": 12, "stop_words": ["the", "my"]},
        {"stop_words": "english", "vocabulary": ["refund", "password", "never"]},
    ],
    ids=str,
)
def test_a_text_is_the_bag_that_count_vectorizer_makes(options):
    texts = {name: Text(prior=Dirichlet(0.5), **options) for name in ("subject", "body")}
    clf = BayesianNB(texts | {"visits": Poisson()}).fit(X, Y)
    counters = {name: CountVectorizer(**options).fit(X[name].fillna("")) for name in texts}
    counted = with_counts(X, counters)
    bags = {name: (Multinomial(Dirichlet(0.5)), [c for c in counted if c.startswith(f"{name}: ")]) for name in texts}
    reference = BayesianNB(bags | {"visits": Poisson()}).fit(counted, Y)
    assert_allclose(clf.predict_proba(NEW), reference.predict_proba(with_counts(NEW, counters)), rtol=1e-12)
    assert_allclose(clf.log_evidence_.joint, reference.log_evidence_.joint, rtol=1e-12)
    assert_allclose(clf.loo(X, Y).to_numpy(float), reference.loo(counted, Y).to_numpy(float), rtol=1e-10)
    words = counters["body"].get_feature_names_out().tolist()
    assert clf.tables()["body"].columns.tolist() == words
    # A missing cell is missing, and a text without words is not.
    assert clf.describe().loc["body", ["missing", "levels"]].tolist() == [
        pytest.approx(X["body"].isna().mean()),
        f"{len(words)} words",
    ]


@pytest.mark.parametrize("features", [None, TEXTS], ids=["by itself", "specified"])
def test_parts_of_any_size_are_the_whole_table(features):
    whole, table = BayesianNB(features).fit(X, Y), X.assign(y=Y)
    for cuts in ([40, 80], [1, 2, 100], [3]):
        parts = [table[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
        for ordered in (parts, parts[::-1]):
            clf = BayesianNB(features).fit(iter(ordered), "y")
            same(clf, whole)
            assert clf.describe().equals(whole.describe())
            assert_allclose(clf.log_evidence_.joint, whole.log_evidence_.joint, rtol=1e-10)
    later = BayesianNB(features).fit(X[:60], Y[:60]).partial_fit(iter([table[60:61], table[61:]]), "y")
    same(later, whole)
    same(BayesianNB(features).fit(X[:60], Y[:60]).merge(BayesianNB(features).fit(X[60:], Y[60:])), whole)


def test_forgetting_rows_takes_the_words_that_only_they_had():
    few = BayesianNB(TEXTS).fit(X, Y)
    secret = X[:7].assign(subject="my secret is Rumpelstiltskin", body="and nothing else")
    clf = BayesianNB(TEXTS).fit(X, Y).partial_fit(secret, Y[:7])
    assert "rumpelstiltskin" in clf.tables()["subject"]
    clf.forget(secret, Y[:7])
    same(clf, few)
    same(BayesianNB(TEXTS).fit(X, Y).forget(X[80:], Y[80:]), BayesianNB(TEXTS).fit(X[:80], Y[:80]))
    with pytest.raises(ValueError, match=r"feature 'subject'.*never learned"):
        few.forget(secret, Y[:7])


def test_a_file_keeps_the_words_and_the_options(tmp_path):
    clf = BayesianNB({"subject": Text(ngram_range=(1, 2), stop_words=["the"]), "body": Missing(Text())}).fit(X, Y)
    clf.save(tmp_path / "tickets.bayesnb")
    back = load(tmp_path / "tickets.bayesnb")
    same(back, clf, atol=0)
    more, labels = tickets(30, seed=2)
    same(back.partial_fit(more, labels), clf.partial_fit(more, labels), atol=0)


@pytest.mark.parametrize(
    ("where", "lie"),
    [
        (("text", "ngram_range"), {"tuple": [1, 1.5]}),
        (("text", "stop_words"), [["the"]]),
        (("text", "min_df"), "few"),
        (("text",), None),
        (("text",), {"tuple": []}),
        (("source",), {"tuple": ["nowhere"]}),
        (("source",), {"tuple": []}),
        (("columns",), {"tuple": ["the", "the"]}),
        (("columns",), {"tuple": ["other"]}),
        (("kinds",), {"tuple": ["text"]}),
    ],
    ids=str,
)
def test_a_file_that_lies_about_text_is_refused(where, lie, tmp_path):
    path = tmp_path / "tickets.bayesnb"
    BayesianNB({"subject": Text(ngram_range=(1, 2), stop_words=["the"])}).fit(X[["subject"]], Y).save(path)
    with pytest.raises(ModelFileError):
        load(changed(path, said("schema", "features", "subject", *where, as_=lie)))


@pytest.mark.parametrize("dependence", [None, "weighted", "pairwise"])
def test_each_word_has_its_share_of_the_log_odds(dependence):
    clf = BayesianNB(TEXTS, dependence=dependence).fit(X, Y)
    ledger = clf.explain(NEW, label="refund", against="login")
    shares = ledger["log_odds"].drop("(total)", level="entry").groupby("row", sort=False).sum()
    proba = clf.predict_proba(NEW)
    np.testing.assert_allclose(shares, np.log(proba[:, 1] / proba[:, 0]), atol=1e-9)
    last = ledger.loc[14]
    assert last.loc["body: refund", "value"] == 3
    assert last.loc["body: refund", "log_odds"] > 0
    assert not any("zebra" in str(name) for name in last.index)
    silent = clf.explain(NEW[:1].assign(subject=None, body=""))
    assert silent.loc[(slice(None), "subject"), "missing"].all()
    assert "body" not in silent.index.get_level_values("entry")


def test_strange_cells_say_nothing_or_raise():
    clf = BayesianNB(TEXTS).fit(X, Y)
    nothing = clf.predict_proba(X[:1].assign(subject=None, body=None))
    for cell in ("", "!!!", " ", "a", "\n\t", "zebra", "😀 😀"):
        assert_allclose(clf.predict_proba(X[:1].assign(subject=cell, body=cell)), nothing, rtol=1e-12)
    upper = X.assign(subject=X["subject"].str.upper(), body=X["body"].str.replace(" ", "\n\n"))
    assert_allclose(clf.predict_proba(upper), clf.predict_proba(X), rtol=1e-12)
    assert_allclose(clf.predict_proba(X.astype({"subject": "category"})), clf.predict_proba(X), rtol=1e-12)
    assert_allclose(BayesianNB("text").fit(X[["body"]].to_numpy(object), Y).class_count_, clf.class_count_)
    with pytest.raises(ValueError, match="column 'subject' holds numbers"):
        clf.predict(X.assign(subject=7))
    with pytest.raises(ValueError, match="column 'subject' holds no word in any row"):
        BayesianNB(TEXTS).fit(X.assign(subject="!"), Y)
    with pytest.raises(ValueError, match="a Text reads one column"):
        BayesianNB({"both": (Text(), ["subject", "body"])}).fit(X, Y)
    with pytest.raises(ValueError, match="'min_df' parameter"):
        Text(min_df="few")
    with pytest.raises(ValueError, match=r"read in parts.*vocabulary"):
        BayesianNB({"subject": Text(min_df=2)}).fit(iter([X.assign(y=Y)]), "y")
    one, other = (BayesianNB({"subject": Text(min_df=2)}).fit(X[k:], Y[k:]) for k in (0, 100))
    with pytest.raises(ValueError, match="column 'subject': each model has taken its words from its own rows"):
        one.merge(other)


SENTENCES = [f"this is what customer {k} wrote to us" for k in range(30)]


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (SENTENCES, True),
        ([*SENTENCES[:20], *[None] * 10], True),
        ([text.upper() for text in SENTENCES], False),
        ([f"Braund, Mr. Owen Harris {'abc'[k % 3]}" for k in range(30)], False),
        ([f"A-{k} xl" for k in range(30)], False),
        ([f"{k} Main Street, Springfield" for k in range(30)], False),
        (["i would rather not say this", "neither agree nor disagree here"] * 15, False),
        (pd.Categorical(SENTENCES), False),
    ],
    ids=["sentences", "with gaps", "capitals", "names", "codes", "addresses", "answers that repeat", "categories"],
)
@pytest.mark.filterwarnings("ignore:column 'said' looks like an identifier")
def test_a_column_of_sentences_is_read_as_words_by_itself(cells, read):
    table, y = pd.DataFrame({"said": cells, "n": range(30)}), np.array(["a", "b"] * 15)
    clf = BayesianNB().fit(table, y)
    assert clf.describe().loc["said", "family"] == ("Multinomial" if read else "Categorical")
    parts = BayesianNB().fit(iter([table.assign(y=y)[:1], table.assign(y=y)[1:]]), "y")
    assert parts.describe().loc["said", "family"] == clf.describe().loc["said", "family"]
    for as_levels in (ByType(), {"said": Categorical()}):
        assert BayesianNB(as_levels).fit(table, y).describe().loc["said", "family"] == "Categorical"


def test_drawn_texts_are_words_that_make_the_same_counts_again():
    clf = BayesianNB({"subject": "text", "body": Missing(Text())}, random_state=0).fit(X, Y)
    drawn = draws.sample(clf, 200)
    assert drawn["body"].isna().any()
    assert (clf.predict(drawn[list(X)]) == drawn["y"]).mean() > 0.7


def test_the_command_line_proposes_and_reads_text(tmp_path, capsys):
    path, model = tmp_path / "tickets.csv", tmp_path / "tickets.bayesnb"
    X.assign(topic=Y).to_csv(path, index=False)

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            cli.main([str(word) for word in words])
        assert not ended.value.code
        return capsys.readouterr().out

    printed = run("inspect", path, "--target", "topic")
    assert "--feature subject=text" in printed
    assert "sentences" in printed
    run("fit", path, "--target", "topic", "--feature", "subject=text", "--dependence", "none", "-o", model)
    same(load(model), BayesianNB().fit(X, Y), table=NEW[:10])
    explained = run("explain", model, path, "--row", "0")
    assert "subject: " in explained
    run("predict", model, path)


HINDI = ["नमस्ते दुनिया आज", "बारिश है आज किताब"]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (HINDI, {word for text in HINDI for word in text.split()}),
        (["cafe\u0301 one", "café two"], {"café", "one", "two"}),
        (["বাংলা ভাষা", "নদী জল"], {"বাংলা", "ভাষা", "নদী", "জল"}),
        (["a bc", "d_e f1"], {"bc", "d_e", "f1"}),
    ],
)
def test_marks_are_parts_of_words_and_a_letter_with_its_accent_is_one(texts, words):
    clf = BayesianNB({"s": "text"}).fit({"s": texts * 2}, list("pqpq"))
    assert set(clf.tables()["s"].columns) == words
    apart = [unicodedata.normalize("NFD", text) for text in texts]
    assert_allclose(clf.predict_proba({"s": apart}), clf.predict_proba({"s": texts}))


def test_texts_without_a_known_word_are_warned_of():
    clf = BayesianNB({"s": "text"}).fit({"s": ["good day", "bad night"]}, ["p", "q"])
    with pytest.warns(NoKnownWordWarning, match="column 's': 2 of 3 texts contain no known word"):
        clf.predict_proba({"s": ["今天天气很好", "🙂", "good", None]})
    clf.predict_proba({"s": ["今天", "good", None, "bad"]})  # No more than half.
    clf.predict_proba({"s": ["", " ", "good"]})  # Empty texts are not in another script.
    with pytest.warns(NoKnownWordWarning, match="column 's': 2 of 3 texts contain no known word"):
        clf.predict_proba({"s": ["今天天气很好", "", " ", "", "🙂", "good"]})


def test_learned_texts_without_a_word_of_another_text_are_warned_of():
    texts, y = [f"今天天气{chr(0x4E00 + k)}" for k in range(12)], ["p", "q"] * 6
    message = "column 's': 12 of 12 texts contain no word of another text; .*count characters"
    with pytest.warns(NoKnownWordWarning, match=message):
        BayesianNB({"s": "text"}).fit({"s": texts}, y)
    with pytest.warns(NoKnownWordWarning, match="7 of 12 texts"):
        BayesianNB({"s": "text"}).fit({"s": ["🙂"] * 7 + ["good day", "bad day"] * 2 + ["day"]}, y, np.full(12, 0.5))
    BayesianNB({"s": "text"}).fit({"s": ["🙂"] * 6 + ["good day"] * 6}, y)  # No more than half.
    BayesianNB({"s": "text"}).fit({"s": [""] * 8 + ["good day", "bad day"] * 2}, y)  # Few texts are not empty.
    BayesianNB({"s": "text"}).fit({"s": [""] * 20 + ["good day", "bad day"] * 6}, ["p", "q"] * 16)
    BayesianNB({"s": Text(analyzer="char")}).fit({"s": texts}, y)
    BayesianNB({"s": Text(vocabulary=["refund"])}).fit({"s": texts}, y)  # Its words are chosen.
    with pytest.raises(ValueError, match="holds no word in any row: leave it out, or count characters"):
        BayesianNB({"s": "text"}).fit({"s": ["🙂"] * 12}, y)


def test_characters_are_counted_in_scripts_without_spaces(tmp_path):
    texts, y = ["今天天气很好", "早上好", "我很难过", "天气很糟"] * 3, list("ppqq") * 3
    for options in ({"analyzer": "char", "ngram_range": (1, 2)}, {"token_pattern": r"\w"}):
        clf = BayesianNB({"s": Text(**options)}).fit({"s": texts}, y)
        assert clf.predict({"s": ["今天好", "难过"]}).tolist() == ["p", "q"]
        clf.save(tmp_path / "m.bayesnb")
        assert load(tmp_path / "m.bayesnb").predict({"s": ["今天好", "难过"]}).tolist() == ["p", "q"]
    with pytest.raises(ValueError, match="Expected analyzer to be one of 'word', 'char' or 'char_wb'; got 'wort'"):
        Text(analyzer="wort")


def test_rows_as_dicts_are_a_table_and_a_list_of_texts_names_its_cure():
    clf = BayesianNB(TEXTS).fit(X, Y)
    rows = [{k: v for k, v in row.items() if v is not None} for row in NEW.to_dict("records")]
    assert_allclose(clf.predict_proba(rows), clf.predict_proba(NEW))
    same(BayesianNB(TEXTS).fit(X.to_dict("records"), Y), clf)
    for texts in (["a b", "c d"], ("a b", "c d"), np.array(["a b", "c d"], object), np.array(["a b", "c d"])):
        with pytest.raises(ValueError, match=r'X is a list of texts, where a table is needed: write \{"text": X\}'):
            BayesianNB("text").fit(texts, [0, 1])
    for column in (pd.Series(["a b", "c d"]), pd.Series([1.0, 2.0], name="age")):
        with pytest.raises(
            ValueError, match=r"X is one column, a Series, where a table is needed: write \{'(x|age)': X\}"
        ):
            BayesianNB().fit(column, [0, 1])
    row = NEW.iloc[0]
    with pytest.raises(ValueError, match=r"a name for each value.*: for one row of a table, write X.to_frame\(\).T"):
        clf.predict_proba(row)
    assert_allclose(clf.predict_proba(row.to_frame().T), clf.predict_proba(NEW.iloc[[0]]))
