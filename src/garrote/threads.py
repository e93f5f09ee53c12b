"""Threads: none in the small linear algebra, all of them in the passes over X.

The factorisations here are of small matrices, for which a threaded BLAS costs more than it gains (ten times more, when
other work keeps the cores busy). So BLAS is held to one thread while a path is traced, and the passes over X are split
by columns over as many threads as BLAS was allowed before. The split does not depend on their number, so neither do the
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from operator import iadd
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from garrote.arrays import Array

T = TypeVar("T")
R = TypeVar("R")

#: Seconds after which a lock, which is held for milliseconds, counts as lost.
PATIENCE = 1.0

#: Threads that a pass over X may use.
_allowed: ContextVar[int] = ContextVar("allowed", default=1)


class _HeldBlas:
    """BLAS with one thread, for as long as anyone holds it.

    Its number of threads belongs to the process. So of several fits at once, in threads of the user, the first to come
    takes them and the last to go gives them back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders: set[object] = set()
        self._controller: ThreadpoolController | None = None
        self._limit: Any = None

    def hold(self, holder: object) -> int:
        """Hold BLAS to one thread; how many threads that took from it, at least one."""
        lock = self._taken_lock()
        try:
            self._holders.add(holder)
            if len(self._holders) > 1:
                return 1
            if self._controller is None:
                self._controller = ThreadpoolController().select(user_api="blas")
            had = max((library.num_threads for library in self._controller.lib_controllers), default=1)
            if had == 1:  # there is nothing to take
                return 1
            self._let_any_thread_limit()
            self._limit = self._controller.limit(limits=1)
            return had
        finally:
            lock.release()

    def release(self, holder: object) -> None:
        """Let go, if the holder came as far as holding it; to let go twice does no harm."""
        if holder not in self._holders and (self._holders or self._limit is None):
            return
        lock = self._taken_lock()
        try:
            self._holders.discard(holder)
            if not self._holders and self._limit is not None:
                self._let_any_thread_limit()
                self._limit.restore_original_limits()
                self._let_any_thread_limit()
                self._limit = None
        finally:
            lock.release()

    def _let_any_thread_limit(self) -> None:
        """Newer threadpoolctl ignores all threads but the first that limits OpenBLAS, for as long as that one lives.

        Here the thread that takes BLAS's threads and the one that gives them back may differ.
        """
        assert self._controller is not None
        for library in self._controller.lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)

    def _taken_lock(self) -> Lock:
        """The lock, taken; a new one where an interrupt, just before a release, left the old one taken for ever."""
        lock = self._lock
        if not lock.acquire(timeout=PATIENCE):
            lock = self._lock = Lock()
            lock.acquire()
        return lock


_blas = _HeldBlas()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; passes over X may use the threads that it had."""
    holder, before = object(), _allowed.get()
    try:
        try:
            _allowed.set(max(_blas.hold(holder), before))
            yield
        finally:
            _blas.release(holder)
    finally:
        _blas.release(holder)  # an interrupt may have come before the first was done
        _allowed.set(before)


def over_threads(function: Callable[[T], R], parts: Sequence[T]) -> list[R]:
    """function(part) for every part, in order."""
    return list(one_by_one(function, parts))


def one_by_one(function: Callable[[T], R], parts: Sequence[T]) -> Iterator[R]:
    """function(part) for every part, in order, for whoever does not want to keep them all."""
    n_threads = min(_allowed.get(), len(parts))
    if n_threads <= 1:
        yield from map(function, parts)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(function, parts)


def sum_over_threads(function: Callable[[T], Array], parts: Sequence[T]) -> Array:
    """The sum of the new arrays function(part), of at least one part."""
    with np.errstate(over="ignore", invalid="ignore"):  # whoever asked refuses what is not finite
        return reduce(iadd, one_by_one(function, parts))
