"""Ctrl-C is for the process that the user sees; its workers, who get it too, are ended by that one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_from_workers() -> Iterator[None]:
    """Processes that begin in this block never hear Ctrl-C: what is ignored stays ignored in them.

    Nor does this process while the block lasts, which should be as long as it takes to begin them.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():  # it is not ours to change
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
