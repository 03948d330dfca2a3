"""A fitted model as a frozen value that answers questions, about rows and about itself.

:class:`Classifier` is the only class. Its methods are functions in one file for each kind of question: ``predicting``
(which class), ``certainty`` (how sure), ``explaining`` (why), ``leaving_out`` (what a row says without itself),
``exponents`` (to what powers terms count), ``auditing`` and ``checking`` (whether the model is right about its rows),
``label_noise`` (whether their labels are right), ``sensitivity`` and ``credal`` (how much the priors matter),
``deciding`` (what to do), ``conformal`` (sets with a guarantee), ``asking`` (what to ask next), ``tabular`` (tables in,
tables out), ``compiled`` (one row at a time), ``sampling`` (new rows, PyMC), ``drawing`` (draws as a tree),
``verifying`` (one road by the other) and ``copying`` (what copies hold). They check and name things; the formulas are
in ``model``, ``answers`` and ``dependence``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayesnb.classifier import (
    asking,
    auditing,
    certainty,
    checking,
    compiled,
    conformal,
    copying,
    credal,
    deciding,
    drawing,
    explaining,
    exponents,
    label_noise,
    leaving_out,
    predicting,
    sampling,
    sensitivity,
    tabular,
    verifying,
)
from bayesnb.data.rows import Rows, table_of
from bayesnb.data.schema import Schema
from bayesnb.data.tables import Table
from bayesnb.data.targets import labels_of
from bayesnb.data.unseen import warn_of_unseen
from bayesnb.dependence.learned import Dependence
from bayesnb.em import EM
from bayesnb.families.sampled import Draws
from bayesnb.model import (
    Data,
    Estimate,
    NaiveBayes,
    Parameters,
    Posterior,
    Statistics,
    estimate_rule,
)
from bayesnb.priors import Array, Dirichlet, FixedProbabilities, log
from bayesnb.priors import class_prior as class_priors
from bayesnb.statistics.membership import Labels


@dataclass(frozen=True, eq=False, repr=False)
class Classifier:
    """A fitted model as a value: it answers questions, holds no rows, and never changes.

    A fitted :class:`bayesnb.BayesianNB` holds one as ``classifier_`` and passes every question on to it.
    :meth:`with_class_prior` and :meth:`with_estimate` return other ones. Threads may share it.

    Parameters
    ----------
    schema : Schema
        Which family reads which column.
    posterior : Posterior
        What is believed after the data. Its ``statistics`` are everything that was kept of the rows.
    classes : array (class,)
        Class labels, sorted.
    estimate : {"predictive", "mean", "map", "mle"}
        Which probabilities to predict.
    plug_in : Parameters or None
        The parameters that the estimate plugs in; ``None`` for "predictive", which integrates them out.
    dependence : Dependence or None
        What is believed of how features depend on each other; ``None`` for naive Bayes.
    offset : array (row, class) or 0
        Added to log p(class, row), if each of the rows to be asked about has its own class prior.
    declared : tuple
        Classes that exist even if no row has them, because ``classes=`` or the type of the labels named them.
    expected : bool
        Whether the statistics hold expected counts of rows without a label.
    em : EM or None
        The result of EM, if the last ``fit`` had rows without a label.
    target : column name or None
        The column of the class, if the labels had a name.
    absent, unlabelled, unlabelled_weight, seed
        As ``absent``, ``unlabelled``, ``unlabelled_weight`` and ``random_state`` of :class:`bayesnb.BayesianNB`.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> before = clf.classifier_
    >>> clf = clf.partial_fit(X, y)
    >>> before.posterior.statistics.rows, clf.class_count_
    (array([5., 9.]), array([10., 18.]))
    """

    schema: Schema
    posterior: Posterior
    classes: Array
    estimate: Estimate = "predictive"
    plug_in: Parameters | None = None
    offset: Array | float = 0.0
    declared: tuple[Any, ...] = ()
    expected: bool = False
    em: EM | None = None
    target: Any = None
    absent: str = "error"
    unlabelled: Any = None
    unlabelled_weight: float = 1.0
    seed: Any = None
    dependence: Dependence | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        statistics: Statistics,
        classes: Array,
        label: Dirichlet | FixedProbabilities,
        estimate: Estimate = "predictive",
        draws: Mapping[Any, Draws] | None = None,
        **others: Any,
    ) -> Classifier:
        """The classifier that follows from statistics under a class prior.

        Features that ``draws`` has are not sampled again: these are draws of their posteriors.

        Raises
        ------
        ValueError
            If the estimate is unknown or does not exist for these data; the error names the feature and the class.
        """
        model = schema.model(label)
        # Before any feature is sampled, which takes long.
        _require_point(model, estimate)
        return cls(schema, model.posterior(statistics, draws), classes, **others).with_estimate(estimate)

    def __repr__(self) -> str:
        return f"Classifier({len(self.schema.features)} features, classes {list(labels_of(self.classes))})"

    @property
    def classes_(self) -> Array:
        """The classes, under the name that scikit-learn's tools ask for."""
        return self.classes

    @property
    def named_classes(self) -> tuple[Any, ...]:
        """The classes that exist even if no row has them, because the user or a prior named them."""
        return tuple(dict.fromkeys([*self.declared, *self.posterior.model.named_classes(labels_of(self.classes))]))

    @property
    def statistics(self) -> Statistics:
        """Everything that was kept of the rows."""
        return self.posterior.statistics

    @property
    def n_features(self) -> int:
        """Number of columns of the first table."""
        return len(self.schema.names)

    @property
    def feature_names(self) -> Array:
        """Column names of the first table; absent unless all of them are text."""
        if not (self.schema.named and all(isinstance(name, str) for name in self.schema.names)):
            raise AttributeError("feature_names_in_ does not exist: the columns were fitted without names")
        return np.array(self.schema.names, object)

    @property
    def em_(self) -> EM:
        """The result of EM; absent if the last fit had no row without a label."""
        if self.em is None:
            raise AttributeError("em_ does not exist: the last fit had no row without a label")
        return self.em

    def read(self, X: Any) -> tuple[Data, int]:
        """The encoded columns of a table, as the families take them, and the number of rows."""
        table = table_of(X, self.schema)
        self.require_offset_of(table)
        self.posterior.warn_of_chains()
        return self.encoded_table(table), table.n_rows

    def encoded_table(self, table: Table) -> Data:
        """The encoded columns of a table; warns of levels that were never seen."""
        data = self.schema.read(table, absent=self.absent)[1]
        warn_of_unseen(self.schema, table)
        return data

    def require_offset_of(self, table: Table) -> None:
        """Refuse a table with another number of rows than there are class priors, where each row has its own."""
        if np.ndim(self.offset) and len(self.offset) != table.n_rows:
            raise ValueError(
                f"this classifier has a class prior for each of {len(self.offset)} rows; got {table.n_rows} rows"
            )

    def encoded(self, rows: Rows) -> tuple[Data, Labels]:
        """The encoded columns of rows that were learned, and their classes and weights."""
        self.posterior.warn_of_chains()
        _, data = self.schema.read(rows.table, absent=self.schema.absent_when_learned)
        return data, Labels(rows.target.among(self.classes), rows.weight, len(self.classes))

    def log_joint(self, data: Data, n_rows: int) -> Array:
        """log p(c, x) of encoded rows by the chosen estimate, (row, class).

        With a dependence, naive Bayes says how probable the row is, and the exponents how probable each class is then.
        """
        joint = (
            self.posterior.log_predictive(data, n_rows)
            if self.plug_in is None
            else self.plug_in.log_joint(data, n_rows)
        )
        joint = joint + self.offset if np.ndim(self.offset) else joint
        if self.dependence is None:
            return joint
        return logsumexp(joint, axis=1, keepdims=True) + exponents.log_proba(self, data, n_rows)

    __getstate__ = copying.state

    def generator(self) -> np.random.Generator:
        """A random number generator with the seed."""
        return np.random.default_rng(self.seed)

    def require_one_class_prior(self, question: str) -> None:
        """Raise ``ValueError`` if there is a class prior for each row, with which the question has no answer."""
        if np.ndim(self.offset):
            raise ValueError(
                f"{question} needs one class prior, and this classifier has one for each of {len(self.offset)} rows; "
                "ask the estimator that with_class_prior was asked of"
            )

    def require_counted(self, question: str) -> None:
        """Raise ``ValueError`` if rows without a label were learned, for which the question has no answer."""
        if self.expected:
            raise ValueError(
                f"{question}, and this model holds expected counts of unlabelled rows, which depend on all the others; "
                "fit the labelled rows alone for it"
            )

    # Which class, and how probable each is
    predict = predicting.predict
    predict_proba = predicting.predict_proba
    predict_log_proba = predicting.predict_log_proba
    predict_joint_log_proba = predicting.predict_joint_log_proba
    compile = compiled.compile

    # The same data with another class prior or estimate

    def with_estimate(self, estimate: Estimate) -> Classifier:
        """The same posterior with another estimate.

        Raises
        ------
        ValueError
            If the estimate is unknown or does not exist for these data; the error names the feature and the class.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.classifier_.with_estimate("mle").predict_proba(X[:1]).round(3)
        array([[0.795, 0.205]])
        """
        _require_point(self.posterior.model, estimate)
        if self.dependence is not None:
            exponents.require_prior(estimate)
        plug_in = self.posterior.plug_in(estimate) if estimate_rule(estimate).plugs_in else None
        if plug_in is None:
            self.posterior.require_proper()
        return replace(self, estimate=estimate, plug_in=plug_in)

    def with_class_prior(self, class_prior: Any) -> Classifier:
        """The same data with another class prior.

        Parameters
        ----------
        class_prior : {label: probability}, Series, array, DataFrame, Dirichlet, "frequencies" or "uniform"
            Class probabilities that hold for all rows, by label or in the order of ``classes_``, are taken as known. A
            Dirichlet learns from the labels. Probabilities of each row to be asked about are given as an array
            (row, class) or as a DataFrame with a column for each class.

        Returns
        -------
        Classifier
            It answers and cannot learn. The classifier or estimator that it was made from stays as it is. With a
            dependence, the exponents are held, and the change of the log class prior is added to their offsets.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.with_class_prior({"no": 0.1, "yes": 0.9}).predict_proba(X[:1]).round(3)
        array([[0.306, 0.694]])
        """
        labels = labels_of(self.classes)
        each = class_priors.of_each_row(class_prior, labels)
        posterior = self.posterior.with_class_prior(class_priors.read("uniform" if each is not None else class_prior))
        offset = 0.0 if each is None else log(each) - log(posterior.label.p)
        return replace(self, posterior=posterior, offset=offset).with_estimate(self.estimate)

    # Tables in, tables out
    predict_table = tabular.predict_table
    write_predictions = tabular.write_predictions

    # To what powers the terms count
    exponents_ = property(exponents.exponents_)

    # What to do
    decide = deciding.decide
    predict_set = deciding.predict_set
    conformal = conformal.conformal
    ask_next = asking.ask_next
    label_next = asking.label_next
    estimate_class_prior = deciding.estimate_class_prior

    # How sure
    sample_proba = certainty.sample_proba
    predict_interval = certainty.predict_interval
    prob_top = certainty.prob_top
    log_odds = certainty.log_odds
    uncertainty = certainty.uncertainty

    # Why, and what was learned
    explain = explaining.explain
    tables = explaining.tables
    linear_form = explaining.linear_form
    describe = explaining.describe
    loo = leaving_out.loo
    log_left_out = leaving_out.log_left_out
    log_evidence = explaining.log_evidence
    log_evidence_ = property(explaining.log_evidence_)
    choice_ = property(explaining.choice_)
    independence = auditing.independence
    suspicious_labels = label_noise.suspicious_labels
    predictive_checks = checking.predictive_checks

    # How much the priors matter
    sensitivity = sensitivity.sensitivity
    predict_credal = credal.predict_credal

    # The sampler's road
    sample = sampling.sample
    to_pymc = sampling.to_pymc
    sample_posterior = drawing.sample_posterior
    verify = verifying.verify


def _require_point(model: NaiveBayes, estimate: Estimate) -> None:
    """Refuse an estimate by the mode if some feature is sampled and has no formula for it."""
    if estimate_rule(estimate).point == "mode":
        model.require_exact(f'estimate="{estimate}"', 'use "predictive" or "mean"')
