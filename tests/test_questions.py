"""The table of questions: from one function come a method or a public function, its type, and a line of docstring."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import bayesnb as nb
import bayesnb.inference
from bayesnb import BayesianNB, datasets
from bayesnb.inference.believed import Given
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.methods import FittedModel
from bayesnb.inference.questions import MODULES, QUESTIONS, question, written
from bayesnb.signatures import choices, described

pytestmark = pytest.mark.usefixtures("few_drawn_labels")

each_question = pytest.mark.parametrize("asked", QUESTIONS.values(), ids=QUESTIONS)


@pytest.mark.parametrize("path", written())
def test_the_files_that_are_made_from_the_table_are_in_step_with_it(path):
    made = Path(bayesnb.__file__).parent / path
    assert made.read_text(encoding="utf-8") == written()[path], "write it anew: python -m bayesnb.inference"


@each_question
def test_a_question_is_a_method_or_a_function_of_a_public_module_with_its_signature_and_words(asked):
    homes = [BayesianNB, Classifier] if asked.module is None else [getattr(nb, asked.module)]
    for home in homes:
        found = getattr(home, asked.name)
        assert found.__doc__ == asked.function.__doc__
        assert list(inspect.signature(found).parameters)[1:] == list(asked.options)
    assert hasattr(BayesianNB, asked.name) == (asked.module is None)


@each_question
def test_the_docstring_of_the_estimator_says_when_to_call_a_question(asked):
    assert f"{asked.want}: {asked.role}" in BayesianNB.__doc__
    assert asked.summary.endswith(".")


@each_question
def test_the_docstring_of_a_question_has_a_sentence_for_each_of_its_options(asked):
    assert set(asked.help) == set(asked.options)
    assert all(asked.help.values())


@pytest.mark.parametrize("module", [None, "checks"])
def test_a_further_question_is_one_function(monkeypatch, module):
    def number_of_classes(classifier: Classifier, plus: int = 0) -> int:
        """The number of classes.

        Parameters
        ----------
        plus : int
            Added to it.

        Returns
        -------
        int
        """
        return len(classifier.classes) + plus

    ask = question("to know how many classes there are", "predict", module)(number_of_classes)
    try:
        clf = BayesianNB().fit(*nb.datasets.play_tennis())
        assert (ask(clf), ask(clf.classifier_, plus=1)) == (2, 3)
        assert "number_of_classes" in written()["inference/methods.pyi" if module is None else "checks.py"]
        assert QUESTIONS["number_of_classes"].help == {"plus": "Added to it."}
        if module is None:
            assert (clf.number_of_classes(), clf.classifier_.number_of_classes(plus=1)) == (2, 3)
    finally:
        bayesnb.inference.questions._TABLE.pop("number_of_classes")
        if module is None:
            del FittedModel.number_of_classes


@each_question
@pytest.mark.filterwarnings("ignore")
def test_an_index_that_repeats_changes_no_answer(asked):
    required = [name for name, option in asked.options.items() if option.default is inspect.Parameter.empty]
    if required not in (["X"], ["X", "y"]):
        pytest.skip("It is not asked about a table alone.")
    X, y = nb.datasets.play_tennis()
    X = X.assign(outlook=X["outlook"].mask(X.index < 3))
    clf = BayesianNB(random_state=0).fit(X, y)
    answers = []
    for index in (X.index, [7] * len(X)):
        given = {"X": X.set_axis(index), "y": y.set_axis(index)}
        options = {"answer": "distribution"} if asked.name == "fill_in" else {}
        answers.append(asked.function(clf.classifier_, *(given[name] for name in required), **options))
    unique, repeated = (found.reset_index(drop=True) if hasattr(found, "reset_index") else found for found in answers)
    if hasattr(unique, "to_pandas") or not hasattr(unique, "shape"):
        assert str(unique) == str(repeated)
    else:
        np.testing.assert_array_equal(np.asarray(unique), np.asarray(repeated))


def test_parameters_that_share_a_sentence_are_described_alike():
    assert described("Do.\n\nParameters\n----------\na, b : int\n    Both.\n**c\n    Rest.\n") == {
        "a": "Both.", "b": "Both.", "c": "Rest."
    }  # fmt: skip


PUBLIC = ("datasets", "errors", "families", "model", "plots", "presets", "priors", "sampling", *MODULES)


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_names_of_the_package_and_of_a_fitted_estimator_fit_one_page(tmp_path):
    assert len(dir(nb)) <= 49
    assert set(PUBLIC) <= set(dir(nb))
    X, y = nb.datasets.play_tennis()
    for dependence in (None, "weighted"):
        clf = BayesianNB(dependence=dependence).fit(X, y)
        clf.save(tmp_path / "tennis.bayesnb")
        assert len(public(nb.load(tmp_path / "tennis.bayesnb"))) <= 47


@pytest.mark.parametrize("name", [*PUBLIC, "sampling.agreement", "sampling.draws"])
def test_a_public_module_shows_its_own_names_and_none_that_it_only_uses(name):
    module = importlib.import_module(f"bayesnb.{name}")
    assert public(module) == set(module.__all__)
    assert all(hasattr(module, each) for each in module.__all__)


def test_every_family_of_the_package_is_exported():
    from bayesnb.families.family import Family

    def kinds(base):
        for kind in base.__subclasses__():
            yield kind
            yield from kinds(kind)

    for path in Path(nb.families.__file__).parent.glob("*.py"):
        importlib.import_module(f"bayesnb.families.{path.stem}".removesuffix(".__init__"))
    found = {
        kind.__name__ for kind in kinds(Family)
        if kind.__module__.startswith("bayesnb.families.") and not inspect.isabstract(kind) and kind.__name__[0] != "_"
    }  # fmt: skip
    assert found == set(nb.families.__all__) == set(nb.families.families())


def test_questions_stand_under_their_headings_methods_first_whichever_file_is_imported_first():
    headings = ["predict", "how sure", "why", "what to do", "is the model right", "draws and PyMC"]
    places = [(headings.index(each.group), each.module or "", each.file) for each in QUESTIONS.values()]
    assert places == sorted(places)
    code = "import bayesnb.inference.verify, bayesnb.inference.ask\nfrom bayesnb.inference.questions import QUESTIONS\n"
    said = subprocess.run(
        [sys.executable, "-c", code + "print(*QUESTIONS)"], capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == [*QUESTIONS]


@pytest.mark.parametrize("name", [name for name, each in QUESTIONS.items() if each.columns])
def test_the_legend_of_an_answer_is_of_columns_that_the_docstrings_describe(name):
    asked = QUESTIONS[name]
    inner = inspect.unwrap(asked.function)
    kind = vars(sys.modules[inner.__module__]).get(inner.__annotations__["return"])
    docs = inner.__doc__ + (kind.__doc__ if isinstance(kind, type) else "")
    assert [column for column in asked.columns if f"``{column}``" not in docs] == []
    assert all(str(said) and not str(said).endswith(".") for said in asked.columns.values())


def test_each_column_of_a_section_is_in_its_legend():
    X, y = datasets.play_tennis()
    clf = BayesianNB().fit(X, y)
    for name in ("column_gains", "suspicious_labels", "predict_credal", "uncertainty"):
        found = QUESTIONS[name].function(clf, X, *([y] if "y" in QUESTIONS[name].options else []))
        last = {column[-1] if isinstance(column, tuple) else column for column in found.columns}
        assert last - {"prediction"} <= QUESTIONS[name].columns.keys()


def test_the_choices_of_an_option_are_those_of_its_type():
    def ask(
        one: Literal["a", "b"], optional: Given | None = None, mixed: int | Literal["loo"] = "loo", text: str = ""
    ) -> None: ...

    assert choices(ask, "one") == ("a", "b")
    assert choices(ask, "optional") == ("row", "data", None)
    assert choices(ask, "mixed") == choices(ask, "text") == ()
