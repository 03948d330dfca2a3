"""What the user is told: levels that were never seen, families by short names, keywords of other implementations."""

import ast
import copy
import pickle
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV

import bayesnb
import bayesnb as nb
from bayesnb import BayesianNB, Categorical, Dirichlet, Poisson, datasets, evaluate
from bayesnb.errors import RefusedError, UnseenLevelWarning
from bayesnb.families import Exponential
from bayesnb.findings import examine
from bayesnb.wording import Cure, Message, written

TABLES = {
    "pandas": pd.DataFrame, "nullable": lambda c: pd.DataFrame(c).convert_dtypes(), "polars": pl.DataFrame,
    "arrow": pa.table, "dict": dict, "objects": lambda c: pd.DataFrame(c, dtype=object),
}  # fmt: skip


def warned(ask: Callable[[], Any]) -> list[str]:
    """The messages of the warnings about levels that were never seen."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ask()
    return [str(one.message) for one in said if isinstance(one.message, UnseenLevelWarning)]


@pytest.mark.parametrize("constructor", TABLES.values(), ids=TABLES)
def test_levels_that_were_never_seen_are_said_in_one_warning_with_their_counts(constructor: Callable[..., Any]) -> None:
    clf = BayesianNB().fit(constructor({"sex": ["Male", "Female"] * 2, "x": [1.0, 2, 3, 4]}), [0, 1, 0, 1])
    asked = constructor({"sex": ["male", "Female", "male"], "x": [1.0, 2, 3]})
    assert warned(lambda: clf.predict_proba(asked)) == [
        "column 'sex': 2 of 3 rows hold a level never seen ('male', did you mean 'Male'?), counted as missing"
    ]
    assert warned(lambda: clf.predict_proba(constructor({"sex": ["Male"], "x": [1.0]}))) == []


def test_another_number_is_no_spelling_of_a_level():
    known = {"key": ["C00001", "C00412"] * 9, "size": ["1.2 GB", "2.7 GB"] * 9, "zip": ["06095", "12345"] * 9}
    clf = BayesianNB(Categorical()).fit(known, ["a", "b"] * 9)
    asked = {"key": ["C00421", "c00001"], "size": ["12.7 GB", "2.7 Gb"], "zip": ["12346", "6095"]}
    meant = re.findall(r"'([^']+)', did you mean '([^']+)'", "; ".join(warned(lambda: clf.predict_proba(asked))))
    assert meant == [("c00001", "C00001"), ("2.7 Gb", "2.7 GB"), ("6095", "06095")]


def test_the_warning_about_levels_names_the_place_of_the_user_and_can_be_silenced() -> None:
    clf = BayesianNB().fit({"a": ["u", "v"]}, [0, 1])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        clf.predict({"a": ["w"]})
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnseenLevelWarning)
        clf.predict({"a": ["w"]})


@pytest.mark.parametrize("unseen", ["new", "error"])
def test_levels_are_not_warned_of_where_they_are_no_missing_values(unseen: str) -> None:
    clf = BayesianNB(unseen=unseen).fit({"a": ["u", "v"]}, [0, 1])
    assert warned(lambda: clf.predict({"a": ["u" if unseen == "error" else "w"]})) == []


def test_folds_do_not_warn_of_levels_that_the_learned_rows_lack() -> None:
    X, y = {"a": [*"uvuvuvuv", "w", "x"]}, [0, 1] * 5
    assert warned(lambda: evaluate(BayesianNB(), pd.DataFrame(X), y, cv=5)) == []


def test_a_level_that_was_never_seen_is_shown_in_an_explanation() -> None:
    clf = BayesianNB().fit({"a": ["u", "v"], "b": ["p", "q"]}, [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        found = clf.explain({"a": ["w", None, "u"], "b": ["p", "q", "p"]}).xs("a", level="entry")
    assert found["value"].tolist() == ["w", None, "u"]
    assert found["missing"].tolist() == [True, True, False]


def test_families_are_named_in_short_as_they_are_given_as_objects() -> None:
    X, y = {"n": [0, 1, 2, 5], "w": [0.5, 1.0, 2.0, 3.0]}, [0, 0, 1, 1]
    named = BayesianNB({"n": "poisson", "w": "Exponential"}).fit(X, y)
    told = BayesianNB({"n": Poisson(), "w": Exponential()}).fit(X, y)
    np.testing.assert_array_equal(named.predict_proba(X), told.predict_proba(X))
    assert isinstance(BayesianNB("categorical").fit(X, y).classifier_.schema.features["n"].family, Categorical)
    assert isinstance(
        BayesianNB({"both": ("poisson", ["n"])}).fit(X, y).classifier_.schema.features["both"].family, Poisson
    )


def test_a_grid_search_reaches_into_the_prior_of_a_column() -> None:
    X, y = datasets.play_tennis()
    clf = BayesianNB({"outlook": "categorical", "wind": Categorical()}, class_prior=Dirichlet())
    search = GridSearchCV(clf, {"features__outlook__prior__alpha": [0.1, 50.0], "class_prior__alpha": [1.0, 3.0]}, cv=2)
    best = search.fit(X, y).best_estimator_
    assert best.features["outlook"].prior.alpha == search.best_params_["features__outlook__prior__alpha"]
    assert repr(best.features["wind"]) == repr(Categorical())
    assert clf.features["outlook"] == "categorical"
    assert clf.set_params(**clf.get_params()).get_params() == clf.get_params()
    with pytest.raises(ValueError, match="features has no parameter 'outlok': did you mean 'outlook'"):
        clf.set_params(features__outlok__prior__alpha=1.0)


@pytest.mark.parametrize("dtype", ["Int64", "Int8", "UInt16", "boolean", "int64[pyarrow]", "bool[pyarrow]"])
def test_labels_of_a_nullable_type_stay_whole_numbers_and_booleans(dtype: str) -> None:
    y = pd.Series([0, 1, 1, 0]).astype(dtype)
    clf = BayesianNB().fit({"x": [1.0, 2.0, 3.0, 4.0]}, y)
    assert clf.classes_.tolist() == ([False, True] if "bool" in dtype else [0, 1])
    assert clf.classes_.dtype.kind == ("b" if "bool" in dtype else "i")
    assert clf.predict({"x": [1.0]}).dtype == clf.classes_.dtype


def placed(ask: Callable[[], Any]) -> list[tuple[str, str]]:
    """The message of each warning, and the file that it points at."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ask()
    return [(str(one.message), one.filename) for one in said]


X, Y = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 0.0, 2.0, 3.0]}), ["p", "q", "p", "q"]
CLF = BayesianNB().fit(X, Y)


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: CLF.predict(X.assign(c=1.0)), "columns that were not fitted are ignored"),
        (lambda: CLF.predict_proba(X.to_numpy()), "does not have valid feature names"),
        (lambda: CLF.predict_interval(X.to_numpy()), "does not have valid feature names"),
        (lambda: nb.deploy.predict_table(CLF.classifier_, X.assign(c=1.0), keep=["a"], interval=True), ""),
        (lambda: nb.deploy.estimate_class_prior(CLF, X, max_iter=1), "did not converge"),
        (lambda: BayesianNB(unlabelled=nb.Unlabelled(starts=1)).fit(X, ["p", None, "q", None]), ""),
        (lambda: BayesianNB().fit({"k": list("abcdefghijkl")}, [0, 1] * 6), "looks like an identifier"),
    ],
)
def test_a_warning_points_at_the_line_of_the_user(ask: Callable[[], Any], meant: str) -> None:
    said = placed(ask)
    assert any(meant in message for message, _ in said) or not meant
    assert {file for _, file in said} <= {__file__}


def test_all_warnings_are_given_in_one_place_that_knows_where_the_package_ends() -> None:
    package = Path(bayesnb.__file__).parent
    assert [p.name for p in package.rglob("*.py") if "warnings.warn(" in p.read_text()] == ["wording.py"]


HALF = {("a", "\ud800"): [1.0, 2.0], ("b", "c"): [3.0, 4.0]}
ANSWERS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "alpha": (lambda: BayesianNB(alpha=1.0), TypeError, r"no parameter 'alpha'; .*=nb.Categorical\(nb.Dirichlet"),
    "priors": (lambda: BayesianNB(priors=[0.5, 0.5]), TypeError, "class_prior={label: probability}"),
    "var_smoothing": (lambda: BayesianNB(var_smoothing=1e-9), TypeError, "'var_smoothing'; .*NormalGamma"),
    "a slip in a parameter": (lambda: BayesianNB(estimat="map"), TypeError, "write estimate="),
    "no parameter": (lambda: BayesianNB(zz=1), TypeError, "BayesianNB has no parameter 'zz'; .*its parameters are"),
    "theta_": (lambda: CLF.theta_, AttributeError, r"BayesianNB has no 'theta_': use tables\(\)\[column\]"),
    "var_": (lambda: BayesianNB().var_, AttributeError, r"has no 'var_': use tables\(\)\[column\]"),
    "a family at the top": (lambda: nb.Exponential, AttributeError, r"it is bayesnb\.families\.Exponential"),
    "a module, nearly": (lambda: nb.plot, AttributeError, "did you mean 'plots'"),
    "summary": (lambda: CLF.summary(), AttributeError, r"use describe\(\)"),
    "plot of a model": (lambda: CLF.plot(), AttributeError, "use nb.plots"),
    "evidence as a method": (lambda: CLF.log_evidence(), AttributeError, "use log_evidence_, which is an attribute"),
    "feature_log_prob_": (lambda: CLF.feature_log_prob_, AttributeError, r"use tables\(\)\[column\]"),
    "class_log_prior_": (lambda: CLF.class_log_prior_, AttributeError, r'use tables\(\)\["\(class\)"\]'),
    "coef_": (lambda: CLF.coef_, AttributeError, r"has no 'coef_': use odds.linear_form\(clf\)"),
    "a slip in an attribute": (lambda: CLF.thetaa_, AttributeError, "has no attribute 'thetaa_'"),
    "a slip in a family": (
        lambda: BayesianNB({"n": "poison"}).fit(X, Y), ValueError, "no family 'poison'; did you mean 'poisson'",
    ),
    "another name of a family": (
        lambda: BayesianNB({"n": "normal"}).fit(X, Y), ValueError, "no family 'normal'; did you mean 'gaussian'",
    ),
    "alpha of a family": (
        lambda: nb.Categorical(alpha=0.5), TypeError, r"no parameter 'alpha'; write Categorical\(Dirichlet\(alpha=",
    ),
    "a number as a prior": (lambda: nb.Categorical(0.5), TypeError, r"a Dirichlet, such as Dirichlet\(0.5\), or"),
    "a slip in a family's parameter": (
        lambda: nb.families.Hurdle(zeros=1), TypeError, r"no parameter 'zeros'; its parameters are \['family', 'zero'",
    ),
    "classes of a prior": (
        lambda: BayesianNB(class_prior={"yes": 0.5, "no": 0.5}).fit(X, [True, False] * 2), ValueError,
        "names the class 'yes', but the labels are bool, such as ",
    ),
    "X and y swapped": (lambda: BayesianNB().fit(X["a"], X), ValueError, "X is one column and y a table"),
    "a parameter of a question": (lambda: CLF.predict_interval(X, alpha=0.05), TypeError, "write prob="),
    "no parameter of a question": (
        lambda: nb.draws.sample(CLF, 2, random_state=0), TypeError, r"its parameters are \['n', 'label'\]",
    ),
    "a function as a method": (lambda: CLF.sample, AttributeError, r"use bayesnb\.draws\.sample\(clf, "),
    "saving a fixed model": (
        lambda: nb.deploy.with_class_prior(CLF, "uniform").save("m.bayesnb"), AttributeError,
        r"Classifier has no 'save', .*call clf\.save\(\.\.\.\) on the BayesianNB",
    ),
    "a class of scikit-learn": (lambda: nb.GaussianNB, AttributeError, r'use nb.BayesianNB\("gaussian"\)'),
    "text as counts": (
        lambda: BayesianNB({"t": nb.Multinomial()}).fit({"t": ["it is good", "very bad indeed"]}, [0, 1]), ValueError,
        r"features=\{'t': nb\.Text\(\)\}",
    ),
    "a parameter of a prior": (
        lambda: nb.Gamma(shape=1, rate=2), TypeError, r"no parameter 'shape'; its parameters are \['alpha', 'beta'",
    ),
    "edges as bins": (lambda: nb.Binned([27, 50]), ValueError, r"Binned\(edges=\[27, 50\]\)"),
    "codes before probabilities": (
        lambda: nb.plots.reliability([0, 1], [[0.5, 0.5], [0.4, 0.6]]), ValueError, "write the probabilities first",
    ),
    "no parentheses": (lambda: BayesianNB.fit(X, Y), TypeError, r"write BayesianNB\(\)\.fit\(\.\.\.\)"),
    "costs in a dict of dicts": (
        lambda: CLF.decide(X, {"p": {"go": 0, "stay": 2}, "q": {"go": 5, "stay": 0}}), TypeError,
        r"write pd\.DataFrame\(costs\)\.T",
    ),
    "laplace of e1071": (lambda: BayesianNB(laplace=1), TypeError, r"begin with nb.presets.e1071\(laplace=1\)"),
    "a slip in the family of all": (
        lambda: BayesianNB("categorial").fit(X, Y), ValueError, r"did you mean 'categorical'\? The families are ",
    ),
    **{
        f"a slip in {name}": (
            lambda name=name, slip=slip: BayesianNB(**{name: slip}).fit(X, Y), ValueError,
            f"got '{slip}'; did you mean '{meant}'",
        )
        for name, slip, meant in (
            ("dependence", "weigthed", "weighted"), ("estimate", "MAP", "map"), ("unseen", "mising", "missing"),
            ("absent", "eror", "error"), ("columns", "grows", "grow"),
        )
    },
    "a number for a choice": (lambda: BayesianNB(estimate=7).fit(X, Y), ValueError, r"got 7$"),
    "a slip in keep": (
        lambda: nb.deploy.predict_table(CLF, X, keep=["aa"]),
        ValueError,
        "keep names column 'aa', .*; did you mean 'a'",
    ),
    "half of a character": (
        lambda: BayesianNB().fit(HALF, [0, 1]), ValueError, r"column \('a', '.ud800'\) has half of a character",
    ),
    "one row as a dict": (
        lambda: CLF.predict_proba(X.iloc[0].to_dict()), ValueError,
        r"column 'a' is 1.0: .*\{column: \[value\]\}, or ask nb.deploy.compile\(clf\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", ANSWERS)
def test_what_a_user_may_have_meant_is_answered_with_the_word_for_it(wrong: str) -> None:
    ask, error, said = ANSWERS[wrong]
    with pytest.raises(error, match=said):
        ask()


# Errors that were those of other packages


def test_a_sparse_matrix_is_read_by_a_model_of_a_frame_or_refused_by_column() -> None:
    mixed = X.assign(c=list("uvuv"))
    clf = BayesianNB().fit(mixed, Y)
    array = BayesianNB().fit(sparse.csr_array(X.to_numpy()), Y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* valid feature names")
        for ask in (partial(nb.deploy.predict_table, clf), clf.predict_proba):
            with pytest.raises(ValueError, match="column 'c' holds numbers and was fitted with text"):
                ask(sparse.csr_array(np.ones((4, 3))))
    kept = nb.deploy.predict_table(array, sparse.csr_array(X.to_numpy()), keep=["x1"])
    assert kept["x1"].tolist() == X["b"].tolist()


@pytest.mark.parametrize("rows", [None, 3, "ab", b"ab", {"a": 1.0, "b": 2.0}, X])
def test_rows_that_a_compiled_classifier_cannot_read_are_named_by_their_type(rows: Any) -> None:
    with pytest.raises(TypeError, match=f"Expected rows as an array .* got {type(rows).__name__}"):
        nb.deploy.compile(CLF).predict_proba(rows)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, lambda y: np.array(y, object)])
def test_labels_of_bytes_are_refused_with_the_cure(make: Callable[..., Any]) -> None:
    y = make([label.encode() for label in Y])
    for error in (ValueError, TypeError):
        with pytest.raises(error, match=r"y holds b'p' of type bytes.*\[label.decode\(\) for label in y\]"):
            BayesianNB().fit(X, y)
    assert BayesianNB().fit(X, [label.decode() for label in y]).classes_.tolist() == ["p", "q"]


def test_labels_of_numpys_strings_of_any_length_are_scored() -> None:
    assert CLF.score(X, np.array(Y, np.dtypes.StringDType())) == CLF.score(X, Y)


def test_never_are_more_levels_said_than_there_are_rows() -> None:
    keys = pd.Categorical([f"k{i}" for i in range(20)], [f"k{i}" for i in range(2000)])
    (remark,) = examine(pd.DataFrame({"key": keys, "y": list("pq") * 10}), "y", 20)
    assert "20 levels in 20 rows" in str(remark.sentence)
    said = placed(lambda: BayesianNB().fit({"k": list("abcdefghijklmnopqrstuvwx")}, [0, 1] * 12, np.full(24, 0.5)))
    assert "24 levels in rows of weight 12:" in said[0][0]


# No code reads a sentence


EDITS = {
    "partition",
    "rpartition",
    "replace",
    "removeprefix",
    "removesuffix",
    "startswith",
    "endswith",
    "index",
    "find",
}
OTHERS = {"data/csv_reader.py"}
"""Files that read the errors of DuckDB, which state what happened in words alone."""


def reads_of_sentences(path: Path) -> list[str]:
    """The lines of a file in which code decides by the text of an error or a verdict, or edits it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    errors = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}

    def sentence(node: ast.AST) -> bool:
        """Whether an expression is the text of an error, or of a finding."""
        match node:
            case ast.Call(func=ast.Name("str" | "repr"), args=[ast.Name(name)]) if name in errors:
                return True
            case ast.Attribute(attr="sentence" | "finding" | "recommendation" | "__doc__"):
                return True
            case ast.Subscript(value=ast.Attribute(value=ast.Name(name), attr="args")) if name in errors:
                return True
            case ast.JoinedStr(values=parts):
                shown = [part.value for part in parts if isinstance(part, ast.FormattedValue)]
                return any(sentence(part) or getattr(part, "id", None) in errors for part in shown)
            case ast.Call(func=ast.Name("str"), args=[inner]):
                return sentence(inner)
            case ast.Call(func=ast.Attribute(value=inner)):
                return sentence(inner)
        return False

    def shows_code(node: ast.AST | None) -> bool:
        """Whether an expression calls ``repr``."""
        calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call)) if node else ()
        return any(isinstance(called, ast.Name) and called.id == "repr" for called in calls)

    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=text, attr=name)) if name in EDITS and sentence(text):
                found.append(ast.unparse(node))
            case ast.Call(func=ast.Attribute(value=ast.Name("re")), args=arguments) if any(map(sentence, arguments)):
                found.append(ast.unparse(node))
            case ast.Compare(left=left, comparators=others) if any(map(sentence, (left, *others))):
                found.append(ast.unparse(node))
            case ast.Return(value=ast.Tuple(elts=parts)) | ast.Dict(keys=parts):
                found += [ast.unparse(part) for part in parts if shows_code(part)]
            case ast.Compare(left=left, comparators=others) if any(map(shows_code, (left, *others))):
                # Two things that print alike may differ.
                found.append(ast.unparse(node))
            case ast.keyword(arg="key", value=ast.Name("repr")):
                found.append(ast.unparse(node))
            case ast.Match(subject=text) if sentence(text):
                found.append(ast.unparse(text))
            case ast.Call(func=ast.Name("Message" | "RefusedError"), args=[ast.JoinedStr(), *_]):
                # A sentence with places is a literal: a name of the user in it would be read as a place.
                found.append(ast.unparse(node))
    return found


PACKAGE = Path(bayesnb.__file__).parent


def test_no_code_decides_by_a_sentence_or_edits_one() -> None:
    found = {str(path.relative_to(PACKAGE)): reads_of_sentences(path) for path in sorted(PACKAGE.rglob("*.py"))}
    assert {path for path, lines in found.items() if lines} <= OTHERS, found


def test_a_file_that_reads_a_sentence_is_found(tmp_path: Path) -> None:
    lines = [
        "try: f()", "except ValueError as error:", "    if 'no' in str(error): pass",
        "    said = str(error).partition(':')[2]", "    text = re.sub('use .*', '', found.sentence)",
        "    if error.args[0].startswith('no'): pass", "    if 'no' in f'{error}': pass",
        "    match str(error):", "        case '': pass", "if repr(a) == repr(b): pass",
        "sorted(x, key=repr)", "if 'float' in f.__doc__: pass",
    ]  # fmt: skip
    (tmp_path / "odd.py").write_text("\n".join(lines))
    assert len(reads_of_sentences(tmp_path / "odd.py")) == 9


def test_an_error_carries_its_values_through_pickle_and_through_errors_around_it() -> None:
    clf = BayesianNB({"visits": Poisson()}).fit({"visits": [1, 2]}, ["a", "b"])
    with pytest.raises(RefusedError) as caught:
        clf.predict({"visits": [0, -3]})
    again = pickle.loads(pickle.dumps(RefusedError("fold {k}: {error}", k=1, error=caught.value)))
    assert (again.column, again.row, again.value, again.expected) == ("visits", 1, -3.0, "a count")
    assert again.cure == (Cure("family", "Gaussian", "visits"),)
    assert str(again) == f"fold 1: {caught.value}"
    assert written(again, "command").endswith(
        "; use --feature visits=gaussian, or --na visits=-3 to read it as missing"
    )


@pytest.mark.parametrize("cells", [["1", "many", "2"], [1, "many", 2]])
def test_a_text_in_a_column_whose_levels_are_numbers_is_named_with_its_row(cells: list[object]) -> None:
    clf = BayesianNB({"k": nb.Categorical()}).fit({"k": [1, 2, 3, 1, 2, 3]}, list("ababab"))
    with pytest.raises(ValueError, match=r"holds text \('many'\) in row 1, and its fitted levels are numbers"):
        clf.predict_proba(pd.DataFrame({"k": cells}))


def test_a_sentence_in_the_attributes_of_a_table_is_a_text_in_parquet_and_in_pickles(tmp_path: Path) -> None:
    X, y = nb.datasets.penguins()
    clf = BayesianNB().fit(X, y)
    for found in (nb.checks.column_gains(clf, X, y), nb.deploy.estimate_class_prior(clf, X, prob=0.8, draws=100)):
        found.to_parquet(tmp_path / "t.parquet")
        assert pd.read_parquet(tmp_path / "t.parquet").attrs["says"] == found.attrs["says"] == str(found.attrs["says"])
    # A copy still becomes a command on the command line.
    said = pickle.loads(pickle.dumps(found.attrs["says"]))
    assert "--class-prior Adelie=" in said.written("command")
    braces = Message("column {column!r}", column="{a}")
    assert pickle.loads(pickle.dumps(braces)) == copy.deepcopy(braces) == "column '{a}'"
