"""Attacks that a user's day can bring: interruptions, other processes, threads, and long service."""

import copy
import gc
import hashlib
import pickle
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_faults import Interruption, assert_same, moments, numbers

import bayesnb as nb

FRAME = numbers(60)
MORE = numbers(90).iloc[60:].assign(c="late", y="r")
ASK = FRAME.drop(columns="y")


def learned(frame: pd.DataFrame) -> nb.BayesianNB:
    return nb.BayesianNB().fit(frame.drop(columns="y"), frame["y"])


# Ctrl-C during any verb that learns

VERBS = {
    "fit": lambda clf: clf.fit(MORE.drop(columns="y").assign(z=1.0), MORE["c"].where(MORE["x"] > 0, "other")),
    "partial_fit": lambda clf: clf.partial_fit(MORE.drop(columns="y"), MORE["y"]),
    "partial_fit of parts": lambda clf: clf.partial_fit((part for part in (MORE[:9], MORE[9:20], MORE[20:])), "y"),
    "forget": lambda clf: clf.forget(FRAME[:20].drop(columns="y"), FRAME["y"][:20]),
    "merge": lambda clf: clf.merge(learned(MORE)),
    "discount": lambda clf: clf.discount(0.5),
}


# Where it falls into the clean-up of an object Python drops it, and the verb goes on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupted_verb_leaves_the_old_model_or_the_new_one(verb):
    act, states = VERBS[verb], {}
    for state in ("old", "new"):
        states[state] = learned(FRAME)
    act(states["new"])
    for moment in moments(lambda: act(learned(FRAME))):
        clf = learned(FRAME)
        Interruption(moment).during(lambda clf=clf: act(clf))
        one = states["old" if clf.classes_.tolist() == ["p", "q"] and clf.class_count_.sum() == 60 else "new"]
        assert clf.classes_.tolist() == one.classes_.tolist()
        assert clf.classifier_.schema.names == one.classifier_.schema.names
        assert_same(clf.classifier_.statistics, one.classifier_.statistics)
        ask = ASK.assign(z=0.0)[list(one.classifier_.schema.names)]
        np.testing.assert_array_equal(clf.predict_proba(ask), one.predict_proba(ask))


# Processes. (Threads: ``test_any_number_of_threads_gives_the_same_bits`` in test_kernels.)


def bits() -> str:
    """The digest of all that a model of numbers and levels answers."""
    frame = numbers(500)
    clf = learned(frame)
    answers = clf.predict_log_proba(frame[["x", "c"]]), clf.loo(frame[["x", "c"]], frame["y"]).to_numpy()
    return hashlib.sha256(b"".join(answer.tobytes() for answer in answers)).hexdigest()


def test_another_process_gives_the_same_bits(processes):
    with processes.Pool(1) as pool:
        assert pool.apply(bits) == bits()


# Long service


def open_files() -> int:
    held = Path("/proc/self/fd")
    return len(list(held.iterdir())) if held.exists() else 0


def test_predictions_leave_no_memory_and_no_files_behind():
    clf = learned(FRAME)

    def held_after(times: int) -> int:
        for _ in range(times):
            clf.predict_proba(ASK)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    held_after(20)
    opened = open_files()
    tracemalloc.start()
    try:
        # What libraries keep for reuse comes and goes, so the least of several readings is compared.
        before = min(held_after(10) for _ in range(5))
        grown = min(held_after(10) for _ in range(5)) - before
    finally:
        tracemalloc.stop()
    # 50 answers of 60 rows that were kept would hold more.
    assert grown < 40_000
    assert open_files() == opened


# Copies of a model that another thread asks


@pytest.mark.parametrize("dependence", [None, "pairwise"])
def test_a_model_is_copied_and_pickled_while_another_thread_asks_it(dependence):
    """The thread asks a fresh model each time, since parts of it are worked out when they are first needed."""
    fresh = pickle.dumps(nb.BayesianNB(dependence=dependence).fit(FRAME.drop(columns="y"), FRAME["y"]))
    ask, before = FRAME.drop(columns="y")[:3], sys.getswitchinterval()
    said = pickle.loads(fresh).predict_proba(ask)
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(12):
            clf, copies = pickle.loads(fresh), []
            asking = threading.Thread(target=clf.predict_interval, args=(ask,))
            asking.start()
            while asking.is_alive():
                copies = [copy.deepcopy(clf), pickle.loads(pickle.dumps(clf)), copy.copy(clf)]
            asking.join()
    finally:
        sys.setswitchinterval(before)
    for one in copies:
        np.testing.assert_array_equal(one.predict_proba(ask), said)


def test_what_stands_in_two_places_of_a_model_stands_in_both_of_its_copy():
    held = learned(FRAME).classifier_
    other = copy.deepcopy(held)
    assert held.posterior.model.features["x"] is held.schema.features["x"].family
    assert other.posterior.model.features["x"] is other.schema.features["x"].family
