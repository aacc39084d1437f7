"""Fits at the same time in threads and processes: equal to the bit, settings restored, no deadlock.

A round is one fit or one exact minimisation that others run beside, are forked from, or interrupt.
"""

import multiprocessing
import os
import signal
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import threadpoolctl
from joblib import Parallel, delayed
from scipy import sparse

from leml_solver import AlternatingOptions, LEMLClassifier, TraceBall, fit_factors, minimise
from leml_solver._linalg.threads import _held, limit_threads
from leml_solver.baselines import BinaryRelevanceClassifier, CPLSTClassifier
from leml_solver.blocks import fit_blocks
from leml_solver.problem import Problem

ROUNDS = [24, pytest.param(200, marks=pytest.mark.long)]
PATIENCE = 120  # seconds after which a child counts as hanging; a round takes milliseconds
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")


def work(seed):
    """Return factors and an exact minimiser of a problem that depends on the seed, as bytes."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((60, 12)), (rng.random((60, 9)) < 0.3).astype(float)
    Y[rng.random(Y.shape) < 0.2 * (seed % 2)] = np.nan
    loss = ("squared", "logistic")[seed // 2 % 2]
    options = AlternatingOptions(max_iter=4, intercept=seed % 3 == 0)
    fit = fit_factors(X, Y, rank=3, penalty=0.5, loss=loss, random_state=seed, options=options)
    exact = minimise(Problem("squared", X, Y), TraceBall(1.0))
    return fit.W.tobytes() + fit.H.tobytes() + exact.Z.tobytes()


def blas_threads():
    pools = threadpoolctl.threadpool_info()
    return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]


@pytest.fixture(scope="module")
def serial():
    return [work(seed) for seed in range(8)]


@pytest.fixture(autouse=True)
def settings_come_back():
    with threadpoolctl.threadpool_limits(2):
        before = blas_threads()
        yield
        assert blas_threads() == before


@pytest.mark.parametrize("rounds", ROUNDS)
def test_eight_threads_at_once(serial, rounds):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, [k % 8 for k in range(rounds)]))
    assert found == [serial[k % 8] for k in range(rounds)]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_limits_that_overlap_are_given_back(rounds):
    """Two threads whose limits overlapped left BLAS at one thread for the rest of the process."""
    before, rng = blas_threads(), np.random.default_rng(0)
    pauses = rng.uniform(0, 2e-3, rounds)

    def hold(pause):
        with limit_threads(1):
            time.sleep(pause)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hold, pauses))
    assert blas_threads() == before


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib(serial, backend):
    found = Parallel(n_jobs=2, backend=backend)(delayed(work)(seed) for seed in range(8))
    assert found == serial


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_process_pools(serial, method):
    context = multiprocessing.get_context(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from 3.12
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            assert list(pool.map(work, range(8), timeout=PATIENCE)) == serial


def forked(seed, expected):
    """Fork a child that works, and return its exit status: 0 if its result is the expected one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work(seed) == expected else 1)
        finally:
            os._exit(2)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


@pytest.mark.parametrize("rounds", ROUNDS)
def test_forks_while_another_thread_fits(serial, rounds):
    """A child forked while another thread held the lock of a cached property waited forever."""
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            work(5)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        statuses = [forked(k % 8, serial[k % 8]) for k in range(rounds // 2)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert statuses == [0] * (rounds // 2)


def test_a_limit_holds_whichever_thread_sets_it():
    """threadpoolctl ignored all threads but the first that had ever set a limit."""

    def limited():
        with limit_threads(1):
            return blas_threads()

    ones = limited()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(limited).result() == ones == [1] * len(ones)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_fork_stops_no_thread_that_fits_or_predicts(rounds):
    """A fork ends the threads of OpenBLAS, and whoever waited for one of them waited forever."""
    rng, stop = np.random.default_rng(0), threading.Event()
    X, Y = rng.standard_normal((300, 40)), (rng.random((300, 30)) < 0.2).astype(float)

    def busy(model):
        while not stop.is_set():
            model.fit(X, Y).decision_function(X)

    models = CPLSTClassifier(9), BinaryRelevanceClassifier(), LEMLClassifier(9, max_iter=3)
    threads = [threading.Thread(target=busy, args=(model,), daemon=True) for model in models]
    for thread in threads:
        thread.start()
    for _ in range(rounds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)


def test_a_fork_waits_until_no_thread_is_inside_the_setter_of_blas():
    """Such a setter may hold a lock of the library, which nobody in the child could release."""
    inside, entered, left, seen = threading.Event(), [], [], []

    class SlowLibrary:
        filepath, num_threads = "slow", 2

        def set_num_threads(self, count):
            entered.append(count)
            inside.set()
            time.sleep(0.3)
            left.append(count)

    def hold():
        with _held.at_most(1, SimpleNamespace(lib_controllers=[SlowLibrary()])):
            pass

    def fork():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os._exit(len(entered) - len(left))
        seen.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(PATIENCE)
    fork()
    fork()  # the lock was given back, to both processes
    thread.join()
    assert seen == [0, 0]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_interrupts_at_random_moments(serial, rounds):
    rng, interrupted = np.random.default_rng(1), 0
    before, handler = blas_threads(), signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for k in range(rounds):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 2e-2))
                while True:
                    work(k % 8)
            except KeyboardInterrupt:
                interrupted += 1
            assert blas_threads() == before
            assert work(k % 8) == serial[k % 8]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert interrupted == rounds


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a __del__
@pytest.mark.parametrize("rounds", ROUNDS)
def test_interrupts_while_threads_share_rows_in_blocks(rounds):
    """In a pool of `concurrent.futures` they left locks held: some later fit never ended."""
    rng = np.random.default_rng(2)
    X, Y = (sparse.csr_array(rng.random((600, size)) < 0.2, dtype=float) for size in (20, 9))
    blocks = [(X[start : start + 100], Y[start : start + 100]) for start in range(0, 600, 100)]
    options = AlternatingOptions(max_iter=3, tol=0.0, certify=False)

    def fit():
        return fit_blocks(blocks, rank=3, penalty=1.0, options=options).W.tobytes()

    expected, handler = fit(), signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(20 * rounds):
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the alarm may ring anywhere
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 1e-2))
                while True:
                    fit()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert fit() == expected
