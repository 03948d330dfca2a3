"""Read a column of text as a bag of words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
from scipy import sparse

from bayesnb.data.columns import Column, Names
from bayesnb.data.readings import marks
from bayesnb.families.columns import united
from bayesnb.families.multinomial import Bag, Multinomial
from bayesnb.priors import Array, Dirichlet
from bayesnb.wording import require_choice, warn


def composed(text: str) -> str:
    """Convert to Unicode's form NFC, in which an accented letter is one character."""
    return unicodedata.normalize("NFC", text)


class NoKnownWordWarning(UserWarning):
    """Most texts contain no known word, so these texts are uninformative.

    To silence the warning: ``warnings.simplefilter("ignore", bayesnb.errors.NoKnownWordWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> clf = nb.BayesianNB({"text": "text"}).fit(*nb.datasets.posts())
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     proba = clf.predict_proba({"text": ["今天天气很好", "早上好"]})
    >>> print(said[0].message)
    column 'text': 2 of 2 texts contain no known word; for a script without spaces between words, count characters, as
    nb.Text(analyzer="char", ngram_range=(1, 2))
    """


def warn_of_most(column: Column, some: Array, what: str, few: int = 0) -> None:
    """Warn if most texts, of more than ``few``, lack a word; ``some`` holds whether each text has one."""
    codes, distinct = column.coded
    # An empty text is like a missing cell: its script is not the reason why it has no word.
    held = np.array([*(str(text).strip() != "" for text in distinct), False])[codes]
    texts, without = int(held.sum()), int((held & ~some).sum())
    if 2 * without > texts > few:
        said = f"column {column.name!r}: {without:,} of {texts:,} texts contain no {what}; for a script without spaces "
        warn(f"{said}between words, {BY_CHARACTERS}", NoKnownWordWarning)


BY_CHARACTERS = 'count characters, as nb.Text(analyzer="char", ngram_range=(1, 2))'


@dataclass(frozen=True, eq=False)
class Text:
    """A column of text, read as a bag of words.

    Words are counted as in scikit-learn's ``CountVectorizer``: in lower case, with at least two letters or digits.
    Combining marks count as letters. The family is :class:`bayesnb.Multinomial`. A missing cell, or a text without
    words, is uninformative. Rows learned later may add new words.

    Parameters
    ----------
    min_df : int or float
        Count only words that occur in at least this number (int) or fraction (float) of the rows.
    max_features : int, optional
        Count only this number of the most frequent words.
    ngram_range : (int, int)
        The smallest and the largest number of words or characters in a counted sequence.
    binary : bool
        Count a word at most once per text.
    stop_words : "english" or list of str, optional
        Words to ignore.
    vocabulary : sequence of str, optional
        The words to count; by default all words.
    prior : Dirichlet or {class: Dirichlet}
        Prior of the word probabilities.
    analyzer : {"word", "char", "char_wb"}
        Count words ("word"), sequences of characters ("char"), or sequences of characters within words ("char_wb").
    token_pattern : str, optional
        A regular expression for words.

    Raises
    ------
    ValueError
        For an option that ``CountVectorizer`` does not accept.

    Notes
    -----
    ``min_df`` and ``max_features`` select words by their counts in the rows of the first fit. If the table is read in
    parts, pass ``vocabulary`` instead.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posts, abusive = nb.datasets.posts()
    >>> clf = nb.BayesianNB({"text": nb.Text(stop_words="english")}).fit(posts, abusive)
    >>> clf.predict_proba({"text": ["Go home, clown!", "a good read"]}).round(2)
    array([[0.2 , 0.8 ],
           [0.89, 0.11]])
    """

    min_df: float = 1
    max_features: int | None = None
    ngram_range: tuple[int, int] = (1, 1)
    binary: bool = False
    stop_words: Any = None
    vocabulary: Any = None
    prior: Any = field(default_factory=Dirichlet)
    analyzer: Literal["word", "char", "char_wb"] = "word"
    token_pattern: str | None = None

    def __post_init__(self) -> None:
        require_choice("analyzer", self.analyzer, ("word", "char", "char_wb"))
        if self.vocabulary is not None:
            words = (composed(word) if isinstance(word, str) else word for word in self.vocabulary)
            object.__setattr__(self, "vocabulary", tuple(words))
        Multinomial(self.prior)  # Raises an error if it is not a prior of words.
        counter = self._counter()
        counter._validate_params()
        counter._validate_ngram_range()
        counter.build_analyzer()("a text of many words to try")

    @property
    def family(self) -> Multinomial:
        return Multinomial(self.prior)

    @property
    def selects(self) -> bool:
        return self.vocabulary is None and (self.min_df != 1 or self.max_features is not None)

    @property
    def grows(self) -> bool:
        return self.vocabulary is None and not self.selects

    def require_words(self, column: Any, words: Names) -> None:
        if not words:
            raise ValueError(f"column {column!r} holds no word in any row: leave it out, or {BY_CHARACTERS}")

    def read(self, column: Column, words: Names, learn: bool) -> Bag:
        """Count the words of a column. If ``learn`` is true, new words are appended to ``words``."""
        if column.kind not in ("text", "empty"):
            raise ValueError(
                f"column {column.name!r} holds numbers, and its words shall be counted: write text there, or give it "
                "another family"
            )
        codes, distinct = column.coded
        distinct = [composed(str(text)) for text in distinct]
        texts = [distinct[code] if code >= 0 else "" for code in codes]
        counts, words = self.counted(texts, words, learn)
        return Bag(counts, words, codes >= 0)

    def counted(self, texts: Sequence[str], words: Names = (), learn: bool = True) -> tuple[sparse.csr_array, Names]:
        """Return the word counts of texts, (row, word), and the words. The given ``words`` come first."""
        if not learn or (words and not self.grows):
            counts = self._counter(words).transform(texts) if words else sparse.csr_array((len(texts), 0))
            return sparse.csr_array(counts, dtype=float), words
        counter = self._counter()
        try:
            counts = sparse.csr_array(counter.fit_transform(texts), dtype=float)
        except ValueError:
            # CountVectorizer raises an error if no text has a word, which is possible in a part of a table.
            if any(map(self._counter().build_analyzer(), texts)):
                raise
            return self.counted(texts, words, learn=False)
        found = counter.get_feature_names_out().tolist()
        every = united(words, tuple(found))
        place = {word: k for k, word in enumerate(every)}
        places = np.array([place[word] for word in found], np.intp)
        known = sparse.csr_array((counts.data, places[counts.indices], counts.indptr), (len(texts), len(every)))
        known.sort_indices()
        return known, every

    def _counter(self, words: Names | None = None) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        options = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "prior"}
        if self.token_pattern is None:
            # Characters are counted without a pattern, and scikit-learn would warn of a pattern.
            options["token_pattern"] = rf"(?u)\w[\w{marks()}]+" if self.analyzer == "word" else None
        return CountVectorizer(**options | ({} if words is None else {"vocabulary": words}))


def texts_of(counts: Array, words: Names) -> list[str | None]:
    """Make a text from each row of word counts, (row, word); ``None`` if a count of the row is missing."""
    named, missing = np.array(words, object), np.isnan(counts).any(axis=1)
    return [
        None if gone else " ".join(np.repeat(named, row.astype(int)).tolist())
        for gone, row in zip(missing, np.where(missing[:, None], 0.0, counts), strict=True)
    ]
