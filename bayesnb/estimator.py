"""The scikit-learn shell: names and checks around the model, and no formula.

:class:`BayesianNB` is the class most users want, and often the only one. What it is told and how it learns is in
``learner``, what it answers in ``predictor``, what it samples in ``simulator``; here it is looked at, saved and loaded.
"""

from __future__ import annotations

import os
from typing import Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from bayesnb import explain
from bayesnb.model import Evidence, Parameters
from bayesnb.modelfile import document
from bayesnb.modelfile.container import ModelFileError
from bayesnb.simulator import Simulator


class BayesianNB(Simulator):
    """Naive Bayes classifier with conjugate priors, for any mixture of column types.

    Parameters
    ----------
    features : family, {column: family} or {name: (family, [columns])}, optional
        What is told of the columns; the others get a family by their type (bool and integers of 0 and 1:
        Bernoulli; text and categories: Categorical; numbers: Gaussian; a sparse matrix: Multinomial).
    class_prior : Dirichlet, {label: probability}, array, "frequencies" or "uniform", optional
        Prior of the class probabilities, Dirichlet(1) by default. Probabilities are taken as known; an
        array is in the order of ``classes_``.
    estimate : {"predictive", "mean", "map", "mle"}
        Which probabilities to predict: all parameters integrated out (full Bayes), or a plug-in at the
        posterior mean, at the posterior mode, or at the maximum of the likelihood.
    unseen : {"missing", "new", "error"}
        What a level is that no fit has seen: integrated out, the one reserved cell, or an error.
    absent : {"error", "missing"}
        What a fitted column is that a table to predict does not have.
    unlabelled : label, optional
        What stands for "no label" in ``y``, beside missing values (None, NaN, pd.NA): -1, for scikit-learn's
        semi-supervised convention. By default -1 is a class like any other.
    unlabelled_weight : float
        λ, what an unlabelled row counts beside a labelled one; 0 leaves unlabelled rows out.
    em_starts : int
        From how many starting points to fit rows without a label; the best is kept.
    random_state : int, Generator or None
        Seed of ``sample``, of ``sample_proba`` and of further starts; predictions need none.

    Attributes
    ----------
    classes_ : array (class,)
        Class labels, sorted.
    class_count_ : array (class,)
        Weight of the rows of each class.
    schema_ : Schema
        Which family reads which column.
    statistics_ : Statistics
        All that was kept of the rows. Statistics add.
    posterior_ : Posterior
        What is believed after the data.
    em_ : EM
        How the last ``fit`` with unlabelled rows went; only then. Its rows are those without a label (and with a
        weight), and ``statistics_`` are then the labelled rows' plus λ times the expected ones of these rows.
    target_ : column name or None
        Where the class stood, if the labels had a name.
    content_hash_ : str
        Of the model file that it was loaded from or saved to; only then.
    n_features_in_ : int
    feature_names_in_ : array of str

    Notes
    -----
    Sample weights are frequency weights: 2 is the row seen twice. Of equally probable classes ``predict``
    takes the first. Every row is predicted by itself. Large tables are worked on by as many threads as
    ``numba.set_num_threads`` and ``threadpoolctl.threadpool_limits`` allow; how many there are changes no answer.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> today = X.iloc[[0]].assign(temperature="cool", wind="strong")
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.classes_
    array(['no', 'yes'], dtype=object)
    >>> clf.predict_proba(today).round(3)
    array([[0.735, 0.265]])
    """

    # Looking inside

    def tables(self) -> dict[Any, pd.DataFrame]:
        """The parameters of each feature as a table, and the class probabilities under "(class)".

        At the chosen estimate (the posterior mean for "predictive"): probabilities of levels, "mean" and "sd"
        of reals, "rate" of counts; one row a class (and column).

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.tables()["wind"].round(2)
               strong  weak
        class
        no       0.57  0.43
        yes      0.36  0.64
        """
        point = self._point()
        return explain.parameter_tables(self.schema_, point, self.classes_)

    def linear_form(self) -> tuple[pd.DataFrame, pd.Series]:
        """The classifier as softmax regression: p(c | x) ∝ exp(γ_c + β_c · φ(x)).

        Returns
        -------
        weights : DataFrame (term, class)
            β. A term is (column, level) for a categorical feature, where φ is 1 at the level the row has,
            and (column, "") for a number, where φ is its value.
        intercept : Series (class,)
            γ.

        Raises
        ------
        ValueError
            Where the log-odds are not linear, naming the feature: Gaussians whose variance differs between
            classes, and predictives that are not plug-ins (use ``estimate="mean"``).

        References
        ----------
        Murphy, PML1, 9.3.4; Mitchell (2017), Generative and discriminative classifiers.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> weights, intercept = clf.linear_form()
        >>> weights.loc["wind"].round(2)
                  no   yes
        level
        strong -0.56 -1.01
        weak   -0.85 -0.45
        """
        point = self._point()
        return explain.linear_form(self.schema_, point, self.classes_, self.estimate)

    def _point(self) -> Parameters:
        """The parameters to show: those plugged in, or the posterior mean."""
        self._require_one_prior("a table of the parameters")
        return self.posterior_.mean() if self._plug_in is None else self._plug_in

    def describe(self) -> pd.DataFrame:
        """One row a feature: family, prior, columns, levels, share of missing values, why this family.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.describe()[["family", "prior", "levels"]]
                          family                 prior                 levels
        feature
        outlook      Categorical  Dirichlet(alpha=1.0)  overcast, rain, sunny
        temperature  Categorical  Dirichlet(alpha=1.0)        cool, hot, mild
        humidity     Categorical  Dirichlet(alpha=1.0)           high, normal
        wind         Categorical  Dirichlet(alpha=1.0)           strong, weak
        """
        check_is_fitted(self)
        return self.schema_.describe(self.statistics_)

    @property
    def log_evidence_(self) -> Evidence:
        """Log marginal likelihood of what was learned: ``.joint`` is log p(X, y), ``.conditional`` log p(X | y).

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> round(clf.log_evidence_.joint, 2), round(clf.log_evidence_.features["outlook"], 2)
        (-65.36, -16.49)
        """
        self._require_one_prior("the evidence")
        self._require_counted("rows that were counted have a marginal likelihood")
        return self.posterior_.log_evidence()

    # Files

    def save(self, path: str | os.PathLike, replacing: str | None = None) -> str:
        """Write a model file: what was told and what was learned. It holds no rows, and nothing that is executed.

        The file is netCDF, readable by xarray and any HDF5 reader. At every moment ``path`` holds the old file or the
        whole new one.

        Parameters
        ----------
        path : path
            Of any name; ".nc" is usual.
        replacing : str, optional
            ``content_hash_`` of the file that this model came from. If ``path`` was changed since, it is kept, and
            :class:`bayesnb.ModelChangedError` is raised.

        Returns
        -------
        str
            The content hash of the file.

        Raises
        ------
        ValueError
            For what no file can hold: sampled features, a generator as ``random_state``, a view under another class
            prior.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from bayesnb import BayesianNB, datasets, load
        >>> path = Path(tempfile.mkdtemp()) / "tennis.nc"
        >>> clf = BayesianNB().fit(*datasets.play_tennis())
        >>> clf.save(path) == load(path).content_hash_
        True
        """
        check_is_fitted(self)
        if self._view:
            raise ValueError("this is a view under another class prior: save the estimator that it was made from")
        self.content_hash_ = document.write(self._contents(), path, replacing)
        return self.content_hash_

    def _contents(self) -> document.Contents:
        told, expected = self.get_params(deep=False), hasattr(self, "_expected")
        return document.Contents(told, self.schema_, self.statistics_, self.classes_, self.target_, expected)


def load(path: str | os.PathLike) -> BayesianNB:
    """The estimator of a model file, as it was saved; all of the file is checked first.

    How EM went (``em_``) is not in a file; that it was there is.

    Raises
    ------
    FileNotFoundError
    ModelFileError
        If it is no model file, was cut short or changed, is of a newer format, or holds what no model can.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> path = Path(tempfile.mkdtemp()) / "tennis.nc"
    >>> _ = nb.BayesianNB().fit(X, y).save(path)
    >>> nb.load(path).predict(X[:3])
    array(['no', 'no', 'yes'], dtype=object)
    """
    contents = document.read(path)
    try:
        clf = BayesianNB(**contents.configuration)
        also = {"target_": contents.target, "content_hash_": contents.hash}
        also |= {"_expected": True} if contents.expected else {}
        clf._believe(contents.schema, contents.statistics, contents.classes, anew=True, **also)
    except MemoryError as error:
        raise ModelFileError(f"{path}: holds a model that does not fit into memory") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ModelFileError(f"{path}: holds no model that can be fitted ({error})") from error
    return clf
