"""Computes the instances of an item in parallel and keeps each as soon as it is finished."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from threadpoolctl import threadpool_limits

from garrote.interrupts import kept_from_workers
from garrote.paper.item import Instance, Item, Report, Row, Settings
from garrote.paper.store import Store

#: Where the finished instances are, below the output directory.
CACHE = ".instances"


def compute(instance: Instance, store: Store) -> None:
    """Run one instance with one BLAS thread, and keep its record with the processor time and warnings it made."""
    start = process_time()
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        record = instance.experiment(**instance.parameters)
    said = sorted({f"{warning.category.__name__}: {warning.message}" for warning in caught})
    store.save(instance, record | {"cpu": process_time() - start, "warnings": said})


def run(item: Item, settings: Settings, out: Path, n_jobs: int = -1) -> tuple[Report, int]:
    """The report of an item and the number of instances that had to be computed."""
    store = Store(out / CACHE, item.name)
    instances = item.instances(settings)
    missing = [instance for instance in instances if store.load(instance) is None]
    if missing:
        _compute_all(item.name, missing, store, n_jobs)
    rows = [instance.parameters | _loaded(store, instance) for instance in instances]
    report = item.report(rows)
    report.notes.extend(_warned(rows))
    return report, len(missing)


def _compute_all(name: str, missing: list[Instance], store: Store, n_jobs: int) -> None:
    with parallel_config("loky", inner_max_num_threads=1), _progress(name, len(missing)) as step:
        n_processes = min(effective_n_jobs(n_jobs), len(missing))
        parallel = Parallel(n_jobs=n_processes, batch_size=1, return_as="generator_unordered")
        with kept_from_workers():
            results = parallel(delayed(compute)(instance, store) for instance in missing)
        for _ in results:
            step()


def _loaded(store: Store, instance: Instance) -> Row:
    record = store.load(instance)
    if record is None:
        raise FileNotFoundError(
            2, "a finished instance has disappeared; run the same command again", str(store.path(instance))
        )
    return record


def _warned(rows: list[Row]) -> list[str]:
    """One sentence if any instance warned: nothing is hidden, nothing printed in between."""
    said = [row["warnings"] for row in rows if row["warnings"]]
    if not said:
        return []
    return [f"{len(said)} of {len(rows)} instances warned; the first: {said[0][0]}"]


@contextmanager
def _progress(name: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar with the time left on a terminal, nothing elsewhere; yields what to call after each instance."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = not sys.stderr.isatty()
    console = Console(stderr=True, quiet=hidden)  # older rich ends a bar with a new line, even one that is disabled
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(name, total=total)
        yield lambda: bar.advance(task)
