"""The fitted model in PyMC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesnb.inference.classifier import Classifier
from bayesnb.inference.questions import question
from bayesnb.model import Data, Statistics
from bayesnb.numerics import Array
from bayesnb.wording import warn

if TYPE_CHECKING:
    import pymc as pm

    from bayesnb.dependence.likelihood import Rows as TermRows

NAIVE = (
    "draws and log likelihoods of the class are those of naive Bayes, without the dependence of this model: to compare "
    "models, use bayesnb.compare(..., cv=5), which predicts held-out rows with the dependence"
)
"""The note on a model with a dependence whose exponents are left out."""


@question("the model in PyMC", "draws and PyMC")
def to_pymc(
    classifier: Classifier,
    X: Any = None,
    y: Any = None,
    likelihood: Literal["joint", "rows", "sufficient"] | None = None,
    stage: Literal["parameters", "exponents"] = "parameters",
    sample_weight: Any = None,
) -> pm.Model:
    """The fitted model as a PyMC model.

    Parameters
    ----------
    X, y : table and labels, optional
        The learned rows, which the model then observes. If labels are missing, a Potential called ``unlabelled`` sums
        over these labels, and labelled rows enter as sufficient statistics. Without rows, the expected counts of
        unlabelled rows (from EM) are treated as observed.
    likelihood : {"joint", "rows", "sufficient"}, optional
        What the model observes (see ``docs/how-to/two-roads.md``). The choice of ``likelihood`` does not change the
        posterior.

        * "joint", the default with rows: one variable ``y``, the class of each row, with the log density log p(row,
          class | θ). ``arviz.loo`` evaluates the model of all columns. ``pymc.sample_posterior_predictive`` draws each
          class given the columns of the row.
        * "rows": a variable ``y`` for the class and, for each feature, a variable ``x_…`` for the known cells.
          ``pymc.sample_posterior_predictive`` draws ``y`` from the class probabilities alone, and cells given the
          class.
        * "sufficient", the default without rows: the sufficient statistics. Sampling is equally fast for any number of
          rows, but there is no log likelihood per row.
    stage : {"parameters", "exponents"}
        "parameters" is the model of the rows given the parameters, which is naive Bayes even with a dependence.
        "exponents" is the model of the labels given the exponents and the leave-one-out log densities, which are
        treated as data (a cut posterior, Plummer 2015). Pass the rows from which the exponents were learned.
    sample_weight : array (row,), optional
        The weights of the rows, only with ``stage="exponents"``.

    Warns
    -----
    UserWarning
        If the model observes rows but omits the classifier's dependence.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> [variable.name for variable in clf.to_pymc().free_RVs]
    ['pi', 'theta_outlook', 'theta_temperature', 'theta_humidity', 'theta_wind']
    >>> [variable.name for variable in clf.to_pymc(X, y).observed_RVs]
    ['y']
    """
    from bayesnb.sampling import pymc_model

    if stage == "exponents":
        from bayesnb.dependence import program

        rows = second_stage(classifier, X, y, sample_weight)
        return program.pymc_model(rows, classifier.believed.require_exponents().exponents)
    if sample_weight is not None:
        raise TypeError('sample_weight is for stage="exponents": the sufficient statistics have the weights in them')
    classifier.require_one_class_prior("to_pymc")
    if likelihood in ("joint", "rows"):
        classifier.require_counted(f"likelihood={likelihood!r} observes the label of every row")
    elif (model := summed_out(classifier, X, y)) is not None:
        return model
    data = codes = None
    if X is not None:
        rows = classifier.rows(X, y).labelled()
        data, codes = classifier.schema.read(rows.table)[1], rows.target.among(classifier.classes)
        counted = np.bincount(codes, minlength=len(classifier.classes)), classifier.statistics.rows
        if not np.allclose(*counted):
            given, learned = (
                ", ".join(f"{label}: {n:g}" for label, n in zip(classifier.classes, found, strict=True))
                for found in counted
            )
            raise ValueError(
                f"rows {{{given}}} were given, and rows {{{learned}}} were learned: the model observes exactly the "
                "learned rows, unweighted; without rows it observes their sufficient statistics, weights included"
            )
        if likelihood != "sufficient" and not classifier.believed.naive:
            warn(NAIVE)
    return pymc_model.build(classifier.posterior, data, codes, likelihood)


def second_stage(classifier: Classifier, X: Any = None, y: Any = None, sample_weight: Any = None) -> TermRows:
    """Labels and leave-one-out log densities of the rows from which exponents (powers of likelihoods) were learned."""
    dependence = classifier.believed.require_exponents()
    if X is None or y is None:
        raise ValueError("the model does not store rows: pass those that the exponents were learned from")
    classifier.require_one_class_prior("the second stage")
    rows = classifier.rows(X, y, sample_weight).labelled().counted()
    return dependence.rows(classifier.posterior, *classifier.encoded(rows))


def summed_out(classifier: Classifier, X: Any, y: Any, apart: bool = True) -> pm.Model | None:
    """The PyMC model of the learned rows if some have no label, otherwise ``None``."""
    from bayesnb.sampling import pymc_model

    learned = learned_in_two(classifier, X, y) if X is not None and y is not None else None
    if learned is None or not len(learned.weight):
        return None
    return pymc_model.summed_out(classifier.posterior, learned.labelled, learned.data, learned.weight, apart)


@dataclass(frozen=True, eq=False)
class LearnedRows:
    """The statistics of the labelled rows, and the columns, weights and positions of the unlabelled rows."""

    labelled: Statistics
    data: Data
    weight: Array
    place: Array


def learned_in_two(classifier: Classifier, X: Any, y: Any) -> LearnedRows:
    """The labelled and the unlabelled learned rows; ``ValueError`` if their total weight differs from the model's."""
    rows = classifier.rows(X, y).weighing_unlabelled(classifier.unlabelled_rows.weight)
    if not np.isclose(rows.weight.sum(), classifier.statistics.rows.sum()):
        raise ValueError(
            f"rows of weight {rows.weight.sum():g} were given and rows of weight "
            f"{classifier.statistics.rows.sum():g} were learned: pass exactly the rows that were "
            "learned, with the unlabelled ones, and no sample weights"
        )
    data = classifier.schema.read(rows.table)[1]
    return LearnedRows(
        *rows.split(classifier.posterior.model, data, classifier.classes), np.flatnonzero(~rows.target.labelled)
    )
