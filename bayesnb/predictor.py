"""Answering for rows: probabilities, how sure they are, what they cost and where they come from.

:class:`Predictor` is the half of the estimator that asks of what was learned, and changes nothing. It knows names and
checks; the formulas are in ``model``, ``uncertainty``, ``decisions`` and ``explain``.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesnb import decisions, engines, explain, files, uncertainty
from bayesnb.families.membership import Labels
from bayesnb.kernels.blocks import CELLS, each, slices
from bayesnb.learner import Learner
from bayesnb.model import Data, Estimate, ImpossibleRowError, Parameters, normalize, part_of, probabilities
from bayesnb.priors import Array, Known, log
from bayesnb.tables import Table
from bayesnb.targets import codes_of, labels_of

MEMORY = 2**29
"""Bytes of which ``sample_proba`` fills half with draws of parameters; its blocks of rows need far less."""


EXPECTED_LABELS = (
    "rows without a label were learned as expected counts, as if their labels had been counted, so the parameters are "
    'known less well than this says; sample_posterior(sampler="nuts", X=X, y=y) sums the labels out'
)


class Predictor(ClassifierMixin, Learner):
    """What :class:`bayesnb.BayesianNB` answers for rows, once it has learned."""

    # Predicting

    def predict(self, X: Any) -> Array:
        """The most probable class of each row, (row,).

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.predict(X[:3])
        array(['no', 'no', 'yes'], dtype=object)
        """
        log_joint = self._log_joint(X)
        normalize(log_joint)
        return self.classes_[log_joint.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """p(c | x, D) by the chosen estimate, (row, class).

        Raises
        ------
        ImpossibleRowError
            If a row has probability 0 under every class (only plug-ins can say so).

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.predict_proba(X[:2]).round(3)
        array([[0.704, 0.296],
               [0.847, 0.153]])
        """
        found = self.predict_log_proba(X)
        return np.exp(found, out=found)

    def predict_log_proba(self, X: Any) -> Array:
        """log p(c | x, D), (row, class).

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.predict_log_proba(X[:1]).round(3)
        array([[-0.351, -1.218]])
        """
        return normalize(self._log_joint(X))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(c, x | D), (row, class): not normalized, so its logsumexp says how probable the row is.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.predict_joint_log_proba(X[:1]).round(2)
        array([[-3.84, -4.71]])
        """
        return self._log_joint(X)

    def _encoded(self, X: Any) -> tuple[Data, int]:
        check_is_fitted(self)
        return self._read(self._table(X))

    def _read(self, table: Table) -> tuple[Data, int]:
        return self.schema_.read(table, absent=self.absent)[1], table.n_rows

    def _log_joint(self, X: Any) -> Array:
        check_is_fitted(self)
        table = self._table(X).on_trust()
        joint = self._log_joint_of(*self._read(table))
        # One sum is quicker than a look at each: it is finite where all are.
        if table.trust and not np.isfinite(joint.sum()):
            # Either a cell that is refused now, by name, or a class that is ruled out.
            self._read(table.looked_at)
        return joint

    def _log_joint_of(self, data: Data, n: int) -> Array:
        joint = self._plug_in.log_joint(data, n) if self._plug_in else self.posterior_.log_predictive(data, n)
        return joint if self._row_prior is None else joint + self._offset(n)

    def _offset(self, n: int) -> Array | float:
        """What a class prior of each row adds to its log joint."""
        if self._row_prior is None:
            return 0.0
        if len(self._row_prior) != n:
            raise ValueError(f"this view has a class prior for each of {len(self._row_prior)} rows; got {n} rows")
        return self._row_prior

    # Under another class prior

    def with_class_prior(self, class_prior: Any) -> Self:
        """The same fitted model under other class probabilities, taken as known.

        Parameters
        ----------
        class_prior : {label: probability}, Series, array (class,), or DataFrame or array (row, class)
            For all rows, or one for each row that will be asked. Arrays are in the order of ``classes_``.

        Returns
        -------
        BayesianNB
            A view for predicting: it shares everything else, and this estimator stays as it is.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.with_class_prior({"no": 0.1, "yes": 0.9}).predict_proba(X[:1]).round(3)
        array([[0.306, 0.694]])
        """
        check_is_fitted(self)
        p = decisions.class_prior_of(class_prior, self.classes_)
        each = p.ndim == 2
        known = Known(np.full(len(self.classes_), 1 / len(self.classes_)) if each else p)
        told = Known(dict(zip(labels_of(self.classes_), known.p.tolist(), strict=True)))
        view = copy.copy(self)
        view.posterior_ = replace(
            self.posterior_, model=replace(self.posterior_.model, label=told), label=known, label_prior=known
        )
        view._plug_in = None if self._plug_in is None else replace(self._plug_in, log_pi=log(known.p))
        view._row_prior, view._view = log(p) - log(known.p) if each else None, True
        return view

    def _require_one_prior(self, what: str) -> None:
        """Refuse what a class prior for each row of one table cannot answer."""
        check_is_fitted(self)
        if self._row_prior is not None:
            raise ValueError(
                f"{what} needs one class prior, and this view has one for each of {len(self._row_prior)} rows; ask "
                "the estimator that with_class_prior was asked of"
            )

    def estimate_class_prior(self, X: Any, max_iter: int = 10_000, tol: float = 1e-6) -> pd.Series:
        """Class probabilities of new rows without labels, p(x | class) held as learned: label shift.

        By EM (Saerens, Latinne and Decaestecker 2002); ``clf.with_class_prior(clf.estimate_class_prior(X))``
        predicts with them. The class prior that was learned does not matter.

        Parameters
        ----------
        X : table
        max_iter : int
        tol : float
            EM ends when no other class probabilities could raise the log probability of all rows by more, in nats;
            half a nat is what a standard error is worth.

        Returns
        -------
        Series (class,)

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.estimate_class_prior(X[X["outlook"] == "overcast"]).round(2)
        class
        no     0.0
        yes    1.0
        Name: probability, dtype: float64
        """
        data, n = self._encoded(X)
        if self._plug_in is not None:
            log_likelihood = self._plug_in.log_joint_features(data, n)
        else:
            log_likelihood = self.posterior_.log_predictive_features(data, n)
        p, _ = decisions.estimate_class_prior(log_likelihood, None, max_iter, tol)
        return pd.Series(p, index=pd.Index(self.classes_, name="class"), name="probability")

    # Tables in, tables out

    def predict_table(self, X: Any, interval: bool = False, prob: float | None = None, keep: Sequence[Any] = ()) -> Any:
        """The prediction of each row with its probabilities, as a table; of any table that :meth:`fit` takes.

        Parameters
        ----------
        X : table, or what is read in parts
        interval : bool
            Add the interval of each p(c | x, θ), as in :meth:`predict_interval`.
        prob : float, optional
            Of the interval.
        keep : sequence of column names
            Columns of ``X`` to carry over, such as a key: Spark keeps no order of rows.

        Returns
        -------
        DataFrame (row, ...)
            The kept columns, ``prediction``, and ``p_<class>`` of each class; with an interval also
            ``p_<class>_lower``, ``_median`` and ``_upper``. Of a Dask or a Spark DataFrame a lazy one of its kind; of
            what is read in parts here an iterator of frames, in order.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X, y).predict_table(X[:2], keep=["wind"]).round(3)
             wind prediction   p_no  p_yes
        0    weak         no  0.704  0.296
        1  strong         no  0.847  0.153
        """
        check_is_fitted(self)
        columns = self._predicted_columns(interval)
        if engines.streams(X):
            return engines.scores(
                partial(self.predict_table, interval=interval, prob=prob, keep=keep), columns, X, keep
            )
        table, kept = Table.of(X), {}
        if keep:
            frame = table.source.to_pandas() if table.named else pd.DataFrame(table.source, columns=table.names)
            kept = {name: frame[name].array for name in keep}
        if table.named:
            # Where an absent column is an error, one too many can be no misspelling of it.
            other = table.names if self.absent == "error" else (*keep, self.target_)
            table = table.without([name for name in other if name not in self.schema_.names])
        proba = self.predict_proba(table)
        values = [self.classes_[proba.argmax(axis=1)], *proba.T]
        if interval:
            values += self.predict_interval(table, prob).to_numpy().T.tolist()
        scored = {name: pd.Series(v, dtype=kind) for (name, kind), v in zip(columns, values, strict=True)}
        found = pd.DataFrame(kept | scored, copy=False)
        return found if _index(X) is None else found.set_index(_index(X))

    def _predicted_columns(self, interval: bool) -> list[tuple[str, Any]]:
        """Names and types of the columns of predictions."""
        text = all(isinstance(label, str) for label in self.classes_)
        names = [f"p_{label}" for label in self.classes_]
        if interval:
            names += [f"p_{label}_{part}" for label in self.classes_ for part in ("lower", "median", "upper")]
        if len(set(names)) < len(names):
            raise ValueError(f"the classes {list(self.classes_)} give columns of one name")
        return [("prediction", "str" if text else self.classes_.dtype), *((name, "float64") for name in names)]

    def write_predictions(
        self,
        X: Any,
        path: str | os.PathLike,
        interval: bool = False,
        prob: float | None = None,
        keep: Sequence[Any] = (),
    ) -> int:
        """Predict a table of any size into a file, a part at a time, and return the number of rows.

        Parameters
        ----------
        X, interval, prob, keep
            As for :meth:`predict_table`.
        path : path
            Parquet (".parquet") or CSV (".csv", ".tsv"); written whole or not at all.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> path = Path(tempfile.mkdtemp()) / "predicted.csv"
        >>> BayesianNB().fit(X, y).write_predictions(X, path)
        14
        >>> path.read_text().splitlines()[0]
        'prediction,p_no,p_yes'
        """
        found = self.predict_table(X, interval, prob, keep)
        if not isinstance(found, pd.DataFrame | Iterator):
            raise TypeError(
                f"{type(found).__name__} is written by its own engine: predict_table(...) and its to_parquet or write"
            )
        return files.write([found] if isinstance(found, pd.DataFrame) else found, path)

    # Uncertainty

    def sample_proba(self, X: Any, draws: int = 1000) -> Array:
        """p(c | x, θ) at exact independent posterior draws of θ, (draw, row, class).

        Their spread is the uncertainty of the class probability. Their mean is not ``predict_proba``, which
        is a ratio of averages and not an average of ratios.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB(random_state=0).fit(X, y)
        >>> p = clf.sample_proba(X[:2], draws=500)
        >>> p.shape, p[:, 0, 0].std().round(1)
        ((500, 2, 2), np.float64(0.2))
        """
        data, n = self._encoded(X)
        if draws < 1:
            raise ValueError(f"Expected at least one draw; got {draws!r}")
        rng, offset = self._generator(), np.broadcast_to(self._offset(n), (n, len(self.classes_)))
        size = self.posterior_.draw(np.random.default_rng(0)).size
        found = np.empty((draws, n, len(self.classes_)))
        for part in slices(draws, max(1, min(512, MEMORY // 16 // size))):
            drawn = self.posterior_.draw(rng, (part.stop - part.start,))

            def answer(rows: slice, drawn: Parameters = drawn, part: slice = part) -> None:
                joint = drawn.log_joint(part_of(data, rows), rows.stop - rows.start)
                joint += offset[rows]
                try:
                    found[part, rows] = probabilities(joint)
                except ImpossibleRowError as error:
                    raise ImpossibleRowError(error.rows + rows.start) from error

            # Few enough rows for their joints to stay in the cache from step to step.
            list(each(answer, slices(n, max(1, CELLS // drawn.log_pi.size))))
        return found

    def predict_interval(
        self, X: Any, prob: float | None = None, method: str = "auto", draws: int = 4000
    ) -> pd.DataFrame:
        """Median and equal-tailed interval of p(c | x, θ), whose θ has the posterior given the data.

        It says how well the class probability is known, and narrows as rows are learned; ``predict_proba`` is
        neither its median nor its mean.

        Parameters
        ----------
        X : table
        prob : float, optional
            Probability of the interval; ArviZ's ``stats.ci_prob`` (0.89) by default.
        method : {"auto", "saddlepoint", "draws"}
            "auto" takes the saddlepoint approximation of the distribution of the log-odds, without a draw, where there
            are two classes, no feature is sampled, and the approximation is close: in the tables that were tried, the
            probability on each side of an end was then off by up to 0.011. Else it takes exact draws: with three
            classes or more, and where a class has a row or two in a Gaussian column (fewer than 4 degrees of freedom)
            or a concentration is below 1/2, where the approximation was off by up to 0.047. Draws have the estimator's
            seed (0 if it has none), and are the same for every row and every call.
        draws : int

        Returns
        -------
        DataFrame (row, (class, "lower" | "median" | "upper"))
            Of draws, ``attrs["mcse"]`` is the largest Monte Carlo standard error of any of these numbers. Where rows
            without a label were learned, ``attrs["note"]`` says that they count as their expected labels.

        Notes
        -----
        After a fit with unlabelled rows the interval is too narrow: labels were taken as expected counts, as if they
        had been counted. ``sample_posterior(sampler="nuts", X=X, y=y)`` with the learned rows sums them out.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.predict_interval(X[:1], prob=0.5).round(2)
        class    no                yes
              lower median upper lower median upper
        0       0.5   0.71  0.86  0.14   0.29   0.5
        """
        data, n = self._encoded(X)
        tail = (1 - uncertainty.probability_of_interval(prob)) / 2
        ensemble = self._ensemble(method, draws)
        shares, offset, errors = [tail, 0.5, 1 - tail], self._offset(n), {}
        if ensemble is None:
            found = uncertainty.intervals(self.posterior_, data, n, shares, None, offset)
        else:
            asks = {"interval": uncertainty.quantiles(shares), "mcse": uncertainty.quantile_errors(shares)}
            answers = ensemble.answers(asks, data, n, offset)
            found, errors = answers["interval"], {"mcse": float(answers["mcse"].max(initial=0.0))}
        columns = pd.MultiIndex.from_product([self.classes_, ["lower", "median", "upper"]], names=["class", None])
        return self._noted(pd.DataFrame(found.reshape(n, len(columns)), index=_index(X), columns=columns), errors)

    def _noted(self, frame: pd.DataFrame, notes: Mapping[str, Any]) -> pd.DataFrame:
        """The frame with what has to be said of all of it, in ``attrs``."""
        frame.attrs |= notes
        if hasattr(self, "_expected"):
            frame.attrs["note"] = EXPECTED_LABELS
        return frame

    def prob_top(self, X: Any, method: str = "auto", draws: int = 4000) -> Array:
        """The posterior probability that the predicted class is the most probable one under p(c | x, θ), (row,).

        ``method`` and ``draws`` as in :meth:`predict_interval`. The Monte Carlo standard error of a probability p is
        √(p (1 - p) / draws), at most 0.008 of 4000 draws. After a fit with unlabelled rows it is too sure: labels were
        taken as expected counts.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.prob_top(X[:2]).round(2)
        array([0.75, 0.91])
        """
        data, n = self._encoded(X)
        codes = self._log_joint_of(data, n).argmax(axis=1)
        return uncertainty.prob_top(self.posterior_, data, codes, self._ensemble(method, draws), self._offset(n))

    def log_odds(self, X: Any) -> pd.DataFrame:
        """Posterior mean and variance of the log-odds ln p(a | x, θ) - ln p(b | x, θ) of each pair: exact, no draws.

        Returns
        -------
        DataFrame (row, (class, against, "mean" | "variance"))
            In nats, one pair for every two classes. Infinite where one of the two is ruled out, NaN where both are.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.log_odds(X[:1]).round(2)
        class     no
        against  yes
                mean variance
        0        0.9     1.87
        """
        data, n = self._encoded(X)
        self._require_two_classes()
        moments = uncertainty.log_odds_moments(self.posterior_, data, n, self._offset(n))
        pairs = list(combinations(range(len(self.classes_)), 2))
        columns = {
            (self.classes_[a], self.classes_[b], what): moment[:, a, b]
            for a, b in pairs
            for what, moment in zip(("mean", "variance"), moments, strict=True)
        }
        frame = pd.DataFrame(columns, index=_index(X) if _index(X) is not None else range(n))
        frame.columns = pd.MultiIndex.from_tuples(list(columns), names=["class", "against", None])
        return frame

    def uncertainty(
        self, X: Any, learned: tuple[Any, ...] | None = None, prob: float | None = None, draws: int = 4000
    ) -> pd.DataFrame:
        """What is uncertain about each row, and why.

        Parameters
        ----------
        X : table
        learned : (X, y) or (X, y, sample_weight), optional
            The rows that were learned, for ``novelty_rank``; the estimator keeps none.
        prob : float, optional
            Of the interval.
        draws : int

        Returns
        -------
        DataFrame (row, ...)
            ``prediction``; ``probability``, its probability by the chosen estimate; ``lower`` and ``upper``, the
            interval of its p(c | x, θ); ``top``, the probability that it is the most probable class under θ;
            ``total``, the entropy of the mean of p(c | x, θ) over draws, in nats; ``aleatoric``, the expected entropy
            under the present posterior, which may rise or fall as rows are learned (Wimmer et al. 2023);
            ``epistemic``, their difference, the mutual information of class and parameters for a row that was chosen
            without regard to θ; ``novelty``, -ln p(x | D), high for rows like none that was learned; ``novelty_rank``,
            the share of the learned rows that were less novel when each was left out. ``attrs["mcse"]`` holds the
            largest Monte Carlo standard error of each column that is taken from draws, ``attrs["note"]`` says where
            labels were taken as expected counts.

        Notes
        -----
        After a fit with unlabelled rows all of it is too sure: labels were taken as expected counts. The entropies
        split the mean over draws, an average of ratios, which is not the predictive probability.
        Novelties of rows with different missing values are densities of different things.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB(random_state=0).fit(X, y)
        >>> clf.uncertainty(X[:2], learned=(X, y))[["prediction", "total", "novelty", "novelty_rank"]].round(1)
          prediction  total  novelty  novelty_rank
        0         no    0.6      3.5           0.0
        1         no    0.5      3.4           0.0
        """
        data, n = self._encoded(X)
        log_joint, offset = self._log_joint_of(data, n), self._offset(n)
        codes, row = log_joint.argmax(axis=1), np.arange(n)
        tail = (1 - uncertainty.probability_of_interval(prob)) / 2
        shares = [tail, 1 - tail]
        asks = {"entropies": uncertainty.entropies, "entropy_errors": uncertainty.entropy_errors}
        if by_draws := self._ensemble("auto", draws) is not None:
            asks |= {"interval": uncertainty.quantiles(shares), "interval_errors": uncertainty.quantile_errors(shares)}
            asks |= {"top": uncertainty.shares_of_top(codes)}
        found = self._ensemble("draws", draws).answers(asks, data, n, offset)
        errors = dict(zip(("total", "aleatoric", "epistemic"), found["entropy_errors"].T, strict=True))
        if by_draws:
            errors |= dict(zip(("lower", "upper"), found["interval_errors"][row, codes].T, strict=True))
            errors["top"] = np.sqrt(found["top"] * (1 - found["top"]) / draws)
        else:
            found["interval"] = uncertainty.intervals(self.posterior_, data, n, shares, None, offset)
            found["top"] = uncertainty.prob_top(self.posterior_, data, codes, None, offset)
        total, aleatoric = found["entropies"].T
        novelty = -logsumexp(self.posterior_.log_predictive(data, n) + offset, axis=1)
        columns = {
            "prediction": self.classes_[codes],
            "probability": np.exp(normalize(log_joint))[row, codes],
            "lower": found["interval"][row, codes, 0],
            "upper": found["interval"][row, codes, 1],
            "top": found["top"],
            "total": total,
            "aleatoric": aleatoric,
            "epistemic": total - aleatoric,
            "novelty": novelty,
        }
        if learned is not None:
            columns["novelty_rank"] = self._novelty_rank(novelty, *learned)
        largest = {name: float(error.max(initial=0.0)) for name, error in errors.items()}
        return self._noted(pd.DataFrame(columns, index=_index(X)), {"mcse": largest})

    def _novelty_rank(self, novelty: Array, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """The share of the learned rows that were less novel when each was left out."""
        left_out = -logsumexp(self._left_out(X, y, sample_weight, "predictive")[0], axis=1)
        weight = np.ones(len(left_out)) if sample_weight is None else np.asarray(sample_weight, float)
        order = np.argsort(left_out)
        share = np.concatenate([[0.0], weight[order].cumsum() / weight.sum()])
        return share[np.searchsorted(left_out[order], novelty)]

    def _ensemble(self, method: str, draws: int) -> uncertainty.Ensemble | None:
        """The draws that answer, or ``None`` where the saddlepoint formula does."""
        if method not in ("auto", "saddlepoint", "draws"):
            raise ValueError(f"Expected method to be 'auto', 'saddlepoint' or 'draws'; got {method!r}")
        two, model = len(self.classes_) == 2, self.posterior_.model
        if method == "saddlepoint":
            if not two:
                raise ValueError(f"the saddlepoint formula is for two classes, and there are {len(self.classes_)}")
            model.require_exact("the saddlepoint formula", 'use method="draws"')
        if method == "saddlepoint" or (method == "auto" and two and model.exact and uncertainty.close(self.posterior_)):
            return None
        if draws < 2:
            raise ValueError(f"Expected at least 2 draws for an interval; got {draws!r}")
        return uncertainty.Ensemble(self.posterior_, draws, 0 if self.random_state is None else self.random_state)

    # Deciding and explaining

    def decide(self, X: Any, costs: pd.DataFrame, reject_cost: float | None = None) -> pd.DataFrame:
        """The decision of least expected cost for each row.

        Parameters
        ----------
        X : table
        costs : DataFrame (class, decision)
            What each decision costs where each class is true. Decisions may be classes, or anything else.
        reject_cost : float, optional
            Cost of not deciding; rows whose every decision is expected to cost more are left undecided.

        Returns
        -------
        DataFrame (row, ...)
            ``decision`` (None where undecided), ``expected_cost``, ``abstained``.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> import pandas as pd
        >>> costs = pd.DataFrame({"play": [10.0, 0.0], "stay": [0.0, 4.0]}, index=["no", "yes"])
        >>> clf.decide(X[:3], costs, reject_cost=1.5).round(2)
          decision  expected_cost  abstained
        0     stay           1.18      False
        1     stay           0.61      False
        2     None           1.50       True
        """
        return decisions.decide(self.predict_proba(X), self.classes_, costs, reject_cost, _index(X))

    def predict_set(self, X: Any, mass: float = 0.9) -> pd.DataFrame:
        """The smallest set of classes that has this probability by the chosen estimate, (row, class) of bool.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.predict_set(X[:2], mass=0.7)
             no    yes
        0  True  False
        1  True  False
        """
        return decisions.smallest_set(self.predict_proba(X), self.classes_, mass, _index(X))

    def explain(
        self, X: Any, label: Any = None, against: Any = None, unit: str = "nats", prob: float | None = None
    ) -> pd.DataFrame:
        """The ledger of each row: what each of its values adds to the log-odds of two classes.

        Parameters
        ----------
        X : table
        label, against : optional
            The two classes: by default the most probable one and the next; given one, the most probable other.
        unit : {"nats", "bits", "decibans"}
            A deciban is a tenth of a factor of ten.
        prob : float, optional
            Of the intervals.

        Returns
        -------
        DataFrame ((row, entry), ...)
            ``label``, ``against``, ``value``, ``log_odds``, ``lower``, ``upper``, ``missing``. First the entry
            "(prior)", then one a column (a word, of bags of words), then "(total)", which the others sum to: the
            log-odds of the chosen estimate. The interval is that of the entry under the posterior of the
            parameters, equal-tailed, by the saddlepoint approximation, or by draws where a feature is sampled.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.explain(X[:1])[["value", "log_odds"]].round(2).droplevel("row")
                     value  log_odds
        entry
        (prior)       None     -0.51
        outlook      sunny      0.69
        temperature    hot      0.41
        humidity      high      0.68
        wind          weak     -0.40
        (total)       None      0.87
        """
        if unit not in explain.UNITS:
            raise ValueError(f"Expected unit to be one of {list(explain.UNITS)}; got {unit!r}")
        data, n = self._encoded(X)
        if not n:
            raise ValueError("there are no rows to explain")
        tail = (1 - uncertainty.probability_of_interval(prob)) / 2
        pairs = self._contrast(self._log_joint_of(data, n), label, against)
        drawn = None if self.posterior_.model.exact else self._ensemble("draws", 4000)
        found = explain.ledger(
            self.schema_, self.posterior_, self._plug_in, data, pairs, (tail, 1 - tail), drawn, self._offset(n)
        )
        found[["log_odds", "lower", "upper"]] *= explain.UNITS[unit]
        found.attrs["unit"] = unit
        return found if _index(X) is None else explain.by_index(found, _index(X))

    def _require_two_classes(self) -> None:
        if len(self.classes_) < 2:
            raise ValueError(f"there are no odds with one class, {labels_of(self.classes_)[0]!r}")

    def _contrast(self, log_joint: Array, label: Any, against: Any) -> Array:
        """The two classes of each row's ledger, as codes (row, 2)."""
        self._require_two_classes()
        normalize(log_joint)
        given = [None if c is None else int(codes_of(self.classes_, np.asarray([c]))[0]) for c in (label, against)]
        if None not in given and given[0] == given[1]:
            raise ValueError(f"Expected two different classes; got {label!r} twice")
        pairs, rest, row = np.empty((len(log_joint), 2), np.intp), log_joint.copy(), np.arange(len(log_joint))
        for place, code in enumerate(given):
            if code is not None:
                pairs[:, place], rest[:, code] = code, np.nan
        for place, code in enumerate(given):
            if code is None:
                pairs[:, place] = np.nanargmax(rest, axis=1)
                rest[row, pairs[:, place]] = np.nan
        return pairs

    # Rows that were learned

    def loo(self, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
        """Exact leave-one-out predictive of rows that were learned.

        Parameters
        ----------
        X, y, sample_weight
            The rows, as they were learned. The estimator keeps no rows, so they are asked for again.

        Returns
        -------
        DataFrame (row, ...)
            ``log_density``, log p(x_i, y_i | D without row i); and under ``probability`` one column a class,
            p(c | x_i, D without row i). By the chosen estimate. A prior that was scaled to the data keeps
            that scale.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.loo(X, y).head(2).round(2)
          log_density probability
                               no   yes
        0        -4.7        0.48  0.52
        1        -4.3        0.71  0.29
        """
        log_joint, codes = self._left_out(X, y, sample_weight, self.estimate)
        proba = np.exp(normalize(log_joint))
        columns = {("log_density", ""): log_joint[np.arange(len(codes)), codes]}
        columns |= {("probability", label): proba[:, c] for c, label in enumerate(self.classes_)}
        return pd.DataFrame(columns, index=_index(X))

    def _left_out(self, X: Any, y: Any, sample_weight: Any, estimate: Estimate) -> tuple[Array, Array]:
        self._require_one_prior("leave-one-out")
        self._require_counted("leave-one-out is exact for rows that were counted")
        table, target, weight = self._rows(X, y, sample_weight, known=True)
        _, data = self.schema_.read(table)
        codes = target.among(self.classes_)
        labels = Labels(codes, weight, len(self.classes_))
        return self.posterior_.log_left_out(data, labels, estimate), codes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # `sparse` promises any floats and `string` any object; counts and text are welcome all the same.
        return tags


def _index(X: Any) -> pd.Index | None:
    """The index of a pandas table."""
    return X.index if isinstance(X, pd.DataFrame) else None
