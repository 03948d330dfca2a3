"""The table of questions: from one function come a method, its type and its line in the docstring of the estimator."""

import importlib
import inspect
from pathlib import Path

import pytest

import bayesnb as nb
import bayesnb.inference
from bayesnb import BayesianNB
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.methods import Questions
from bayesnb.inference.questions import QUESTIONS, described, question, stub

each_question = pytest.mark.parametrize("asked", QUESTIONS.values(), ids=QUESTIONS)


def test_the_types_of_the_methods_are_in_step_with_the_table():
    written = Path(bayesnb.inference.__file__).with_name("methods.pyi").read_text(encoding="utf-8")
    assert written == stub(), "write it anew: python -m bayesnb.inference"


@each_question
def test_a_question_is_a_method_of_the_estimator_and_of_the_classifier_with_its_signature_and_words(asked):
    for kind in (BayesianNB, Classifier):
        method = getattr(kind, asked.name)
        assert method.__doc__ == asked.function.__doc__
        assert list(inspect.signature(method).parameters) == ["self", *asked.options]


@each_question
def test_the_docstring_of_the_estimator_says_when_to_call_a_question(asked):
    assert f"{asked.want}: :meth:`{asked.name}`" in BayesianNB.__doc__
    assert asked.summary.endswith(".")


@each_question
def test_the_docstring_of_a_question_has_a_sentence_for_each_of_its_options(asked):
    assert set(asked.help) == set(asked.options)
    assert all(asked.help.values())


def test_a_further_question_is_one_function(monkeypatch):
    from bayesnb import datasets

    @question("to know how many classes there are", "predict")
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

    try:
        clf = BayesianNB().fit(*datasets.play_tennis())
        assert (clf.number_of_classes(), clf.classifier_.number_of_classes(plus=1)) == (2, 3)
        assert "number_of_classes" in stub()
        assert QUESTIONS["number_of_classes"].help == {"plus": "Added to it."}
    finally:
        bayesnb.inference.questions._TABLE.pop("number_of_classes")
        del Questions.number_of_classes


def test_parameters_that_share_a_sentence_are_described_alike():
    assert described("Do.\n\nParameters\n----------\na, b : int\n    Both.\n**c\n    Rest.\n") == {
        "a": "Both.", "b": "Both.", "c": "Rest."
    }  # fmt: skip


PUBLIC = ("datasets", "errors", "model", "plots", "presets", "priors", "sampling")


def test_the_names_of_the_package_fit_one_page():
    assert len(dir(nb)) <= 45
    assert set(PUBLIC) <= set(dir(nb))


@pytest.mark.parametrize("name", [*PUBLIC, "sampling.agreement", "sampling.draws"])
def test_a_public_module_shows_its_own_names_and_none_that_it_only_uses(name):
    module = importlib.import_module(f"bayesnb.{name}")
    assert set(dir(module)) == set(module.__all__)
    used = {"Any", "Array", "TYPE_CHECKING", "annotations", "np", "pd", "replace", "Mapping"}
    assert not used & set(dir(module))
    assert all(hasattr(module, each) for each in dir(module))
