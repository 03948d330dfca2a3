"""Check the closed form against draws of a sampler."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesnb.inference.classifier import Classifier
from bayesnb.inference.questions import question
from bayesnb.inference.sample import drawn_rows
from bayesnb.inference.to_pymc import second_stage

if TYPE_CHECKING:
    from xarray import DataTree

    from bayesnb.dependence.program import Verdict
    from bayesnb.sampling.agreement import Agreement


@question("to compare the closed form with a sampler", "is the model right")
def verify(
    classifier: Classifier,
    X: Any = None,
    sampler: Literal["exact", "nuts", "gibbs"] = "nuts",
    draws: int = 1000,
    chains: int = 4,
    random_seed: Any = None,
    tree: DataTree | None = None,
    learned: tuple[Any, ...] | None = None,
    stage: Literal["parameters", "exponents"] = "parameters",
    **arguments: Any,
) -> Agreement | Verdict:
    """Check the closed-form posterior of class probabilities and conjugate features against sampled draws.

    If the model has a ``dependence``, only naive Bayes is checked; to check the exponents, use ``stage="exponents"``.

    Parameters
    ----------
    X : table, optional
        Rows whose predictive probabilities are compared; by default, 20 rows drawn from the model.
    sampler : {"nuts", "gibbs", "exact"}
        "gibbs" is for fits with unlabelled rows. "exact" checks the predictive probabilities but not the posterior.
    draws, chains, random_seed, **arguments
        As in :meth:`sample_posterior`.
    tree : DataTree, optional
        Existing draws of the same model, named as in :meth:`sample_posterior`.
    learned : (X, y), optional
        The learned rows, for fits with unlabelled rows. With unlabelled rows, expect disagreement, because the closed
        form replaces missing labels by expected counts. With ``stage="exponents"``: the rows from which the exponents
        were learned, (X, y) or (X, y, sample_weight).
    stage : {"parameters", "exponents"}
        Check the parameters of the columns or the exponents of a dependence.

    Returns
    -------
    Agreement
        ``.agrees`` is whether draws and closed form agree. ``.to_frame()`` and ``.plot()`` compare all quantities;
        ``.plug_ins`` compares the class probabilities.
    Verdict
        The result with ``stage="exponents"``. ``.parameters`` compares the exponents. ``.probability`` is the largest
        difference of a class probability. ``str`` gives a summary.

    Raises
    ------
    ConvergenceError
        If the chains did not converge.
    ValueError
        If rows without a label were learned and neither ``learned`` nor ``tree`` is given.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> clf.verify(X[:2], sampler="exact").agrees
    True
    """
    from bayesnb.sampling import agreement, layout, trees

    seed = classifier.seed if random_seed is None else random_seed
    if stage == "exponents":
        from bayesnb.dependence import program

        rows, dependence = second_stage(classifier, *(learned or ())), classifier.believed.require_exponents()
        if sampler != "nuts":
            raise ValueError(f'the exponents are judged by sampler="nuts"; got {sampler!r}')
        names = classifier.classes.tolist(), dependence.offset_names(classifier.posterior)
        judge = {"draws": draws, "chains": chains, "random_seed": 0 if seed is None else seed, **arguments}
        return program.verify(rows, dependence.exponents, *names, **judge)
    classifier.require_one_class_prior("verify")
    own, fitted = classifier.posterior, classifier.posterior.fitted
    if not (conjugate := fitted.conjugate_part()).model.features:
        fitted.require_exact(
            "verify to judge, and neither has any other feature",
            "whether its chains converged is in posterior_.features[...].convergence",
        )
    if classifier.expected and tree is None and (learned is None or sampler == "exact"):
        raise ValueError(
            "rows without a label were learned as expected counts, and to sample the posterior of those counts "
            "would only repeat them: pass the learned rows, verify(learned=(X, y)), and NUTS sums the labels out; "
            'with sampler="gibbs" they are drawn, in seconds; or pass draws of sample_posterior(sampler="gibbs", X=X, '
            "y=y) as tree"
        )
    judged = replace(classifier, believed=replace(classifier.believed, posterior=conjugate))
    if X is None:
        n = 20
        data = drawn_rows(judged, n, np.random.default_rng(seed))[0]
    else:
        table = classifier.schema.table_of(X)
        data, n = classifier.encoded_table(table), table.n_rows
        data = {name: data[name] for name in conjugate.model.features}
    if tree is None and own is not fitted:
        tree = trees.build({"posterior": layout.variables(own.drawn, layout.blocks(fitted))}, fitted)
    naive_part = not classifier.believed.naive
    if tree is not None:
        return agreement.check(conjugate, tree, data, n, "given draws", fitted.model.sampled, naive_part)
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # The check itself refuses such chains.
        rows, labels = learned or (None, None)
        judged = replace(judged, believed=judged.believed.with_dependence(None))
        tree = judged.sample_posterior(draws, chains, sampler, seed, rows, labels, (), **arguments)
    return agreement.check(conjugate, tree, data, n, sampler, fitted.model.sampled, naive_part)
