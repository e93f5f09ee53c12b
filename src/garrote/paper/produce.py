"""From names to files: runs items, writes their reports and the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import click

from garrote.paper import load
from garrote.paper.item import Settings
from garrote.paper.output import Page, verdicts, write, write_page
from garrote.paper.runner import run
from garrote.paper.style import styled


def produce(names: Sequence[str], *, quick: bool, seed: int, out: Path, n_jobs: int) -> list[Page]:
    """Regenerate the named items; one line each, and the page when all are done."""
    settings = Settings(seed, quick)
    out.mkdir(parents=True, exist_ok=True)  # first, so that a wrong path costs no waiting
    pages = []
    for item in map(load, names):
        start = monotonic()
        with styled():
            report, computed = run(item, settings, out, n_jobs)
        write(item, report, out)
        pages.append(Page(item, report))
        failed = "".join(f"\n    does not hold: {c.claim}: {c.evidence}" for c in report.checks if not c.holds)
        spent = f"({computed} instances computed, {monotonic() - start:.0f} s)"
        click.echo(f"{item.name:<20} {verdicts(report.checks)} {spent}{failed}")
    write_page(pages, settings, out)
    click.echo(f"written to {out / 'index.html'}")
    return pages
