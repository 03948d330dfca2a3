"""Five small example data sets, each with a table of features and a target.

Each call returns a new frame. Sources and licences are in the ``README.md`` of this folder.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

type Table = tuple[pd.DataFrame, pd.Series]

__all__ = [
    "buys_computer", "heights", "load", "names", "penguins", "play_tennis", "posts", "target",
]  # fmt: skip

_TARGETS = {
    "play-tennis": "play", "buys-computer": "buys_computer", "posts": "abusive", "heights": "gender",
    "penguins": "species",
}  # fmt: skip


def names() -> list[str]:
    """The names of the data sets, as written on the command line.

    >>> names()
    ['play-tennis', 'buys-computer', 'posts', 'heights', 'penguins']
    """
    return list(_TARGETS)


def target(name: str) -> str:
    """The name of the target column of the data set ``name``.

    >>> target("play-tennis")
    'play'
    """
    return _TARGETS[_known(name)]


def load(name: str) -> Table:
    """The features and the target of the data set ``name``.

    Parameters
    ----------
    name
        One of :func:`names`, with hyphens or underscores.

    Returns
    -------
    X : pandas.DataFrame
        The features. Only empty cells are missing values.
    y : pandas.Series
        The target, named after its column.

    Raises
    ------
    ValueError
        If no data set has this name.

    Examples
    --------
    >>> X, y = load("buys-computer")
    >>> list(X), y.name
    (['age', 'income', 'student', 'credit_rating'], 'buys_computer')
    """
    import pandas as pd  # here, so that importing bayesnb does not import pandas

    known = _known(name)
    with (files(__name__) / f"{known.replace('-', '_')}.csv").open(encoding="utf-8") as file:
        X = pd.read_csv(file, keep_default_na=False, na_values=[""])
    y = X.pop(_TARGETS[known])
    return X, y


def play_tennis() -> Table:
    """Fourteen days: the weather, and whether tennis was played.

    Shape (14, 4): ``outlook`` (sunny, overcast, rain), ``temperature`` (hot, mild, cool),
    ``humidity`` (high, normal), ``wind`` (weak, strong). Target ``play`` (9 yes, 5 no).
    Source: Quinlan (1986), in the wording of Mitchell (1997), Table 3.2.

    >>> X, y = play_tennis()
    >>> X.shape
    (14, 4)
    """
    return load("play-tennis")


def buys_computer() -> Table:
    """Fourteen customers of a shop, and whether each bought a computer.

    Shape (14, 4): ``age`` (youth, middle_aged, senior), ``income`` (low, medium, high),
    ``student`` (yes, no), ``credit_rating`` (fair, excellent). Target ``buys_computer`` (9 yes,
    5 no). Source: Han, Kamber and Pei (2012), Table 8.1.

    >>> X, y = buys_computer()
    >>> X.shape
    (14, 4)
    """
    return load("buys-computer")


def posts() -> Table:
    """Six short posts, three of which are rude. A word may occur twice in a post.

    Shape (6, 1): ``text``, lower-case words and spaces. Target ``abusive`` (3 yes, 3 no).
    Source: written for this package.

    >>> X, y = posts()
    >>> X["text"][1], y[1]
    ('silly silly idea go home', 'yes')
    """
    return load("posts")


def heights() -> Table:
    """Made-up heights and weights of forty people.

    Shape (40, 2): ``height_cm`` (centimetres), ``weight_kg`` (kilograms). Target ``gender`` (20 female, 20 male).
    Source: invented for this package.

    >>> X, y = heights()
    >>> X.shape
    (40, 2)
    """
    return load("heights")


def penguins() -> Table:
    """Penguins of three species, measured near Palmer Station, Antarctica, with missing values.

    Shape (344, 7): ``island`` (Biscoe, Dream, Torgersen), ``bill_length_mm``, ``bill_depth_mm``,
    ``flipper_length_mm`` (millimetres), ``body_mass_g`` (grams), ``sex`` (female, male), ``year``
    (2007 to 2009). Two rows lack all four measurements, eleven lack ``sex``. Target ``species``
    (152 Adelie, 68 Chinstrap, 124 Gentoo).
    Source: Gorman, Williams and Fraser (2014), as in palmerpenguins (Horst, Hill and Gorman 2020).

    >>> X, y = penguins()
    >>> X.shape, int(X["sex"].isna().sum())
    ((344, 7), 11)
    """
    return load("penguins")


def _known(name: str) -> str:
    known = name.strip().lower().replace("_", "-")
    if known in _TARGETS:
        return known
    close = get_close_matches(known, _TARGETS, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"no data set is named {name!r}; there are {', '.join(_TARGETS)}.{hint}")


__all__ = ["buys_computer", "heights", "load", "names", "penguins", "play_tennis", "posts", "target"]


def __dir__() -> list[str]:
    return __all__
