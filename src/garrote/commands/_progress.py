"""A bar with the time left, on stderr, when that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from garrote.arrays import Array
from garrote.watch import Checkpoint, Watch


class Bar:
    """Steps out of a total; without a terminal it only counts."""

    def __init__(self, progress: Progress, label: str, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task(label, total=total)
        self.done = 0.0

    def restart(self, total: int) -> None:
        self.done = 0.0
        self._progress.reset(self._task, total=total)

    def reach(self, done: float, label: str | None = None) -> None:
        """So many steps are done."""
        self.done = max(self.done, done)
        self._progress.update(self._task, completed=self.done, description=label)


@contextmanager
def bar(label: str, *, total: int | None = None, quiet: bool = False) -> Iterator[Bar]:
    """A bar that disappears when the block ends; without a total it only shows that something happens."""
    columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}")]
    columns += [BarColumn(), MofNCompleteColumn(), TextColumn("time left"), TimeRemainingColumn()]
    hidden = quiet or not sys.stderr.isatty()
    console = Console(stderr=True, quiet=hidden)  # older rich ends a bar with a new line, even one that is disabled
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        yield Bar(progress, label, total)


class FoldWatch(Watch):
    """Shows the folds of a cross-validation on a bar, and keeps their errors, so that an interrupted fit can go on."""

    live = True

    def __init__(self, bar: Bar, checkpoint: Checkpoint | None) -> None:
        self.bar, self.checkpoint = bar, checkpoint
        self.finished: set[int] = set()
        self.n_parts = 0
        self.n_recalled = 0
        self._identity = ""

    def begin(self, n_parts: int, identity: str, shape: tuple[int, ...]) -> list[Array | None]:
        self._identity, self.n_parts = identity, n_parts
        known = [self._recall(part, shape) for part in range(n_parts)]
        self.finished = {part for part, errors in enumerate(known) if errors is not None}
        self.n_recalled = len(self.finished)
        self.bar.restart(n_parts + 1)  # the last step is the fit to all samples
        self.bar.reach(self.n_recalled)
        return known

    def step(self, share: float) -> None:
        self.bar.reach(self.bar.done + share)

    def done(self, part: int, result: Array) -> None:
        if self.checkpoint is not None:
            self.checkpoint.keep(self._key(part), result.tolist())
        self.finished.add(part)
        self.bar.reach(len(self.finished))

    def _recall(self, part: int, shape: tuple[int, ...]) -> Array | None:
        import numpy as np

        kept = None if self.checkpoint is None else self.checkpoint.recall(self._key(part))
        if self.checkpoint is None or kept is None:
            return None
        try:
            result = np.asarray(kept, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            result = np.empty(())
        if result.shape == shape:
            return result
        self.checkpoint.refuse(self._key(part))
        return None

    def _key(self, part: int) -> str:
        return f"fold-{part + 1}-{self._identity[:24]}"
