"""Threads that learn into one estimator take turns."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from weakref import WeakKeyDictionary, WeakSet

_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_LEARNING: WeakSet[Any] = WeakSet()


def _without_locks() -> None:
    """Forget the locks in a forked process, in which the threads that held them do not run."""
    _LOCKS.clear()
    _LEARNING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_without_locks)


def one_at_a_time[Verb: Callable[..., Any]](verb: Verb) -> Verb:
    """Let one thread at a time learn into an estimator: the next one waits, and adds to what the first has learned.

    Rows that come from an iterator cannot be read again, so a verb that finds the estimator changed could not start
    over; hence a lock. The locks stand beside the estimators, which can so still be copied and pickled.
    The type is that of the verb itself, so that an editor knows what ``fit`` returns.

    Raises
    ------
    RuntimeError
        If rows are learned while the same thread learns into the same estimator, as an iterator of frames might: they
        would be lost.
    """

    @wraps(verb)
    def learn(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        with _LOCKS.setdefault(estimator, threading.RLock()):
            if estimator in _LEARNING:
                raise RuntimeError(
                    f"{verb.__name__} was called while this thread was learning into the same estimator: call it "
                    "before or after"
                )
            _LEARNING.add(estimator)
            try:
                return verb(estimator, *args, **kwargs)
            finally:
                _LEARNING.discard(estimator)

    return cast("Verb", learn)
