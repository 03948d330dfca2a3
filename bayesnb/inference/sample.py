"""Draw new rows from the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data.targets import codes_of
from bayesnb.dependence.drawn_forests import DrawnForests
from bayesnb.inference.classifier import Classifier, index_of
from bayesnb.inference.parameters import tables
from bayesnb.inference.questions import question
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data
from bayesnb.numerics import Array, drawn_codes
from bayesnb.wording import require_whole


@question("new rows", "draws and PyMC", "draws")
def sample(classifier: Classifier, n: int = 1, label: Any = None) -> pd.DataFrame:
    """Draw new rows, with a column for the class. Even with a ``dependence``, rows are drawn from naive Bayes alone.

    Parameters
    ----------
    n : int
        Number of rows.
    label : optional
        The class of all rows. By default, the class of each row is drawn.

    Returns
    -------
    DataFrame (n, ...)
        The label, then the fitted columns. The label's column has the name of the fitted labels; without a name it is
        called ``y`` (``y_`` if a fitted column is called "y"). A binned column holds the names of bins. Dates are
        written as in the table. With ``estimate="predictive"``, each row has its own draw of the parameters.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, draws
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> draws.sample(clf, 2, label="yes")
      play   outlook temperature humidity  wind
    0  yes     sunny         hot     high  weak
    1  yes  overcast         hot     high  weak
    """
    require_whole(0, n=n)
    classifier.require_one_class_prior("sample")
    classifier.posterior.warn_of_chains()
    chosen = None if label is None else int(codes_of(classifier.classes, np.asarray([label]))[0])
    rng, parts = classifier.generator(), []
    for cut in slices(n, 1024):
        encoded, codes = _sample_encoded(classifier, cut.stop - cut.start, chosen, rng)
        frame = classifier.schema.decode(encoded)
        name = classifier.target
        if name is None or name in frame:
            name = "y"
            while name in frame:
                name += "_"
        frame.insert(0, name, classifier.classes[codes])
        parts.append(frame)
    return _dated(classifier, pd.concat(parts, ignore_index=True))


def _dated(classifier: Classifier, frame: pd.DataFrame) -> pd.DataFrame:
    schema, found = classifier.schema, tables(classifier) if classifier.schema.dates else {}
    for name, reading in schema.dates.items():
        if frame[name].dtype.kind != "f":  # A binned column has levels.
            continue
        fine = bool((found.get(name, frame[:1]).get("sd", np.ones(1)) < 1).any())
        column = schema.owner[name]
        texts = reading.written(reading.rounded(frame[name].to_numpy(float), fine))
        frame = frame.assign(**{name: pd.Series(texts, frame.index, dtype=object)}).rename(columns={name: column})
        frame = frame.drop(columns=[*reading.names(column)[1:]])
    return frame


def _sample_encoded(classifier: Classifier, n: int, chosen: int | None, rng: np.random.Generator) -> tuple[Data, Array]:
    point = classifier.believed.plug_in
    theta = classifier.posterior.draw(rng, (n,)) if point is None else point.repeated(n)
    drawn = drawn_codes(theta.log_pi, rng)
    codes = drawn if chosen is None else np.full(n, chosen)
    own = theta.at((np.arange(n), codes))
    encoded = {
        name: family.sample(own.features[name], rng, classifier.statistics.features[name])
        for name, family in classifier.posterior.model.features.items()
    }
    if classifier.believed.of_forests:
        drawn = DrawnForests(classifier.dependence.terms, classifier.posterior, theta)
        drawn.connect(encoded, np.arange(n), codes, rng, lambda name, x: classifier.schema.features[name].read(x))
    return classifier.schema.blanked(encoded), codes


def drawn_rows(classifier: Classifier, n: int, rng: np.random.Generator) -> tuple[Data, Array]:
    """Encoded rows drawn from the model, and the codes of their classes."""
    encoded, codes = _sample_encoded(classifier, n, None, rng)
    return {name: classifier.schema.features[name].read(cells) for name, cells in encoded.items()}, codes


def rows_to_ask(classifier: Classifier, X: Any, rows: int) -> tuple[Data, int, pd.Index | None]:
    """Encode the rows of X, or draw rows if X is None; return the data, the number of rows and the index."""
    if X is None:
        rng = np.random.default_rng(classifier.fixed_seed)
        return drawn_rows(classifier, rows, rng)[0], rows, None
    data, n = classifier.read(X)
    if not n:
        raise ValueError("there are no rows to ask about")
    return data, n, index_of(X)
