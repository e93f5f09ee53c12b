"""A progress line for long runs at a terminal."""

from __future__ import annotations

import sys
import time
from concurrent.futures import CancelledError

#: Seconds of silence before a run counts as long, and between two updates.
PATIENCE = 2.0
INTERVAL = 0.2


class Progress:
    """Counts steps and, once the run is long and stderr a terminal, shows them on one line."""

    def __init__(self, label: str, total: int) -> None:
        self.label = label
        self.total = total
        self.done = 0
        self.shown = False
        self.closed = False
        self.started = time.monotonic()
        self.next_update = self.started + PATIENCE if sys.stderr.isatty() else float("inf")

    def step(self) -> None:
        """One more step is done; an error after the end, so that threads that nobody waits for do not go on."""
        if self.closed:
            raise CancelledError("the run was interrupted")
        self.done += 1
        now = time.monotonic()
        if now >= self.next_update:
            self.next_update = now + INTERVAL
            self.shown = True
            left = (now - self.started) * (self.total - self.done) / self.done
            sys.stderr.write(f"\r{self.label} {self.done / self.total:4.0%}, {left:.0f} s left ")
            sys.stderr.flush()

    def close(self) -> None:
        """The run is over; clear the line."""
        self.closed = True
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
