"""Writes docs/licences.md: the licence of every package that garrote needs, as the installed packages state it.

It fails when a package that plain ``pip install garrote`` brings in states no licence or one of the GPL family.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).parents[1] / "docs" / "licences.md"
USERS = ("cli", "plot", "report", "gibbs", "plink", "dask", "tables", "paper")
DEVELOPERS = ("test", "lint", "docs")

INTRODUCTION = """\
# Licences

garrote itself is under the BSD 3-clause licence. These are the licences of what it needs, as each package states them
in its metadata; `make licences` writes this page from an installed environment. Plain `pip install garrote` brings in
nothing under the GPL, and `make test` fails if that changes. msprime is under the GPL; only the simulated genomes of
`garrote paper` use it.
"""


def needed(extras: tuple[str, ...] = ()) -> set[str]:
    """garrote's dependencies with these extras, and theirs, as far as they are installed here."""
    found: set[tuple[str, str]] = set()
    todo = [("garrote", extra) for extra in ("", *extras)]
    while todo:
        name, extra = todo.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        for line in metadata.requires(name) or []:
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
                continue
            todo += [(canonicalize_name(requirement.name), inner) for inner in ("", *requirement.extras)]
    return {name for name, _ in found} - {"garrote"}


def licence(name: str) -> str:
    """What a package says its licence is: the SPDX expression, a classifier, or the first line of the text."""
    about = metadata.metadata(name)
    if about.get("License-Expression"):
        return about["License-Expression"]
    classifiers = [c.removeprefix("License :: ") for c in about.get_all("Classifier", []) if c.startswith("License ::")]
    named = [c.removeprefix("OSI Approved :: ") for c in classifiers if c != "OSI Approved"]
    return "; ".join(named) or first_line(about.get("License") or "") or first_line(shipped_licence(name))


def shipped_licence(name: str) -> str:
    """The text of the licence file in a package's metadata."""
    files = [file for file in metadata.files(name) or [] if ".dist-info" in str(file) and "LICENSE" in file.name]
    return files[0].read_text() if files else ""


def first_line(text: str) -> str:
    """The first line that says something; in Markdown, not the heading."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return lines[0] if lines else ""


def is_gpl(stated: str) -> bool:
    """Whether a licence is of the GPL family; the exception for GCC's runtime library, which wheels bundle, is not."""
    return bool(re.search(r"GPL|General Public", re.sub(r"GPL[\w.+-]* WITH GCC-exception[\w.-]*", "", stated)))


def faults() -> list[str]:
    """What is wrong with the licences of the packages that everyone gets."""
    stated = {name: licence(name) for name in sorted(needed())}
    unknown = [f"{name} states no licence." for name, text in stated.items() if not text]
    return unknown + [f"{name} is under {text}." for name, text in stated.items() if is_gpl(text)]


def page() -> str:
    runtime = needed()
    parts = [INTRODUCTION, table("Needed by everyone", runtime)]
    listed = set(runtime)
    for extra in USERS:
        more = needed((extra,)) - listed
        listed |= more
        if more:
            parts.append(table(f"Added by `garrote[{extra}]`", more))
    parts.append(table("For development only", needed(DEVELOPERS) - listed))
    return "\n".join(parts)


def table(title: str, names: set[str]) -> str:
    rows = [f"| {name} | {licence(name) or 'not stated'} |" for name in sorted(names)]
    return "\n".join([f"## {title}\n", "| package | licence |", "|---|---|", *rows, ""])


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    wrong = faults()
    print("\n".join(wrong) or f"{len(needed())} runtime dependencies, none under the GPL.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
