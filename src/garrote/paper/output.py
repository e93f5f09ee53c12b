"""Writes a report as CSV, Markdown, PNG and SVG, and one page with all of them."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from garrote.files import replacing, write_text
from garrote.paper.item import Check, Item, Report, Settings, Table
from garrote.paper.style import styled


class Page(NamedTuple):
    """What the page shows of one item."""

    item: Item
    report: Report


def write(item: Item, report: Report, out: Path) -> None:
    """NAME.csv, NAME.md, NAME.png and NAME.svg."""
    write_text(out / f"{item.name}.csv", _csv(report))
    write_text(out / f"{item.name}.md", markdown(item, report) + "\n")
    with styled():
        for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
            with replacing(out / f"{item.name}{suffix}") as temporary:
                report.figure.savefig(temporary, metadata=metadata, bbox_inches="tight")


def write_page(pages: Sequence[Page], settings: Settings, out: Path) -> None:
    """index.md and index.html: every item with its figure, tables, checks and notes."""
    text = [f"# {_TITLE}", _how(settings), markdown_table(_overview(pages))]
    text += [f"{markdown(page.item, page.report)}\n\n![{page.item.name}]({page.item.name}.png)" for page in pages]
    write_text(out / "index.md", "\n\n".join(text) + "\n")
    body = [f"<h1>{_TITLE}</h1>", f"<p>{html.escape(_how(settings))}</p>", _html_table(_overview(pages))]
    body += [_html_item(page) for page in pages]
    write_text(out / "index.html", _HTML.format(title=_TITLE, body="\n".join(body)))


_TITLE = "The paper, regenerated"
_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }}
img {{ max-width: 100%; height: auto }}
table {{ border-collapse: collapse; margin: 1rem 0; font-size: 0.9em; display: block; overflow-x: auto }}
th, td {{ border-bottom: 1px solid #ccc; padding: 0.2rem 0.7rem; text-align: left }}
section {{ border-top: 2px solid #222; margin-top: 3rem }}
</style></head>
<body>
{body}
</body></html>
"""


def _how(settings: Settings) -> str:
    quick = ", with few instances (--quick): verdicts are less certain" if settings.quick else ""
    return f"Written by garrote paper with seed {settings.seed}{quick}. Verdicts are computed from the numbers shown."


def verdicts(checks: Sequence[Check]) -> str:
    """How many checks hold, in words."""
    holding = sum(check.holds for check in checks)
    return f"{holding} of {len(checks)} checks hold"


def _overview(pages: Sequence[Page]) -> Table:
    return Table(["item", "verdict"], [[page.item.name, verdicts(page.report.checks)] for page in pages])


def _check_table(checks: Sequence[Check]) -> Table:
    return Table(["claim", "measured", "verdict"], [[c.claim, c.evidence, c.verdict] for c in checks])


def markdown(item: Item, report: Report) -> str:
    """The item in Markdown, without its figure."""
    parts = [f"## {item.name}", item.caption]
    for table in (*report.tables, _check_table(report.checks)):
        parts += [f"**{table.title}**"] * bool(table.title)
        parts.append(markdown_table(table))
    return "\n\n".join([*parts, *report.notes])


def markdown_table(table: Table) -> str:
    """A table in Markdown."""
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _html_item(page: Page) -> str:
    name, report = page.item.name, page.report
    parts = [f'<section id="{name}"><h2>{name}</h2>', f"<p>{html.escape(page.item.caption)}</p>"]
    parts.append(f'<a href="{name}.svg"><img src="{name}.png" alt="{html.escape(page.item.caption)}"></a>')
    for table in (*report.tables, _check_table(report.checks)):
        parts += [f"<p><b>{html.escape(table.title)}</b></p>"] * bool(table.title)
        parts.append(_html_table(table))
    parts += [f"<p>{html.escape(note)}</p>" for note in report.notes]
    parts.append(f'<p>Numbers: <a href="{name}.csv">{name}.csv</a></p></section>')
    return "\n".join(parts)


def _html_table(table: Table) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    rows = [line(table.header, "th"), *(line(row, "td") for row in table.rows)]
    return "<table>" + "\n".join(rows) + "</table>"


def _csv(report: Report) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(report.numbers[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(report.numbers)
    return text.getvalue()
