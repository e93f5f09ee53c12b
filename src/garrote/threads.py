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
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")

#: Threads that a pass over X may use.
_allowed: ContextVar[int] = ContextVar("allowed", default=1)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; passes over X may use the threads that it had."""
    controller = _controller()
    had = max((library["num_threads"] for library in controller.info()), default=1)
    token = _allowed.set(max(had, _allowed.get()))
    try:
        with controller.limit(limits=1):
            yield
    finally:
        _allowed.reset(token)


def over_threads(function: Callable[[T], R], parts: Sequence[T]) -> list[R]:
    """function(part) for every part, in order."""
    n_threads = min(_allowed.get(), len(parts))
    if n_threads <= 1:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, parts))
