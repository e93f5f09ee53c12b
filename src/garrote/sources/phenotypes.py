"""Phenotype and covariate files as PLINK reads them: FID, IID, then numbers; −9 and NA are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from garrote.arrays import Array
from garrote.checks import brief, some

SampleId = tuple[str, str]

#: How PLINK writes a value that is not known, in lower case; and −9 in any notation.
MISSING_WORDS = frozenset({"na", "nan", "n/a", ".", ""})
MISSING_NUMBER = -9.0


@dataclass(frozen=True)
class SampleTable:
    """What a file says about each sample, as text."""

    source: str
    ids: list[SampleId]
    names: list[str]
    rows: list[list[str]]
    has_family: bool = True  #: whether FID is given; otherwise samples are known by their IID alone

    @classmethod
    def read(cls, source: Any) -> SampleTable:
        """A file, or a data frame with columns FID and IID."""
        if hasattr(source, "columns"):
            header = [str(name) for name in source.columns]
            return cls._of(
                "the data frame",
                header,
                [[str(x) for x in row] for row in zip(*(source[c] for c in source.columns), strict=True)],
            )
        path = Path(source)
        lines = [line.split() for line in read_text(path).splitlines() if line.strip()]
        if not lines:
            raise ValueError(f"{path} is empty; give a file with the columns FID, IID and at least one value.")
        if path.suffix == ".fam":
            header = ["FID", "IID", "father", "mother", "sex", "phenotype"]
        elif lines[0][0].lstrip("#").upper() in ("FID", "IID"):
            header = lines.pop(0)
        else:  # PLINK 1 files need no header
            header = ["FID", "IID", *(f"P{k}" for k in range(1, len(lines[0]) - 1))]
        return cls._of(str(path), header, lines)

    @classmethod
    def _of(cls, source: str, header: list[str], rows: list[list[str]]) -> SampleTable:
        header = [header[0].lstrip("#"), *header[1:]]
        upper = [name.upper() for name in header]
        if "IID" not in upper[:2] or upper[0] not in ("FID", "IID"):
            shown = [brief(name) for name in header[:2]]
            raise ValueError(f"{source} begins with the columns {shown}; the first ones must be FID and IID.")
        has_family = upper[0] == "FID"
        first = 2 if has_family else 1
        for number, row in enumerate(rows, start=1):
            if len(row) != len(header):
                raise ValueError(
                    f"{source} has {len(row)} values for sample {number} ({brief(' '.join(row[:first]))}) but "
                    f"{len(header)} columns; write NA where a value is missing."
                )
        ids = [(row[0] if has_family else "", row[first - 1]) for row in rows]
        refuse_duplicates(ids, source)
        return cls(source, ids, header[first:], [row[first:] for row in rows], has_family)

    def values(self, names: Sequence[str] | None, ids: Sequence[SampleId]) -> Array:
        """The named columns (all, if not given) for these samples, joined by id; NaN where a value is missing."""
        columns = [self._position(name) for name in (self.names if names is None else names)]
        row_of = {key: k for k, key in enumerate(self.ids)}
        out = np.full((len(ids), len(columns)), np.nan)
        for target, (family, individual) in zip(out, ids, strict=True):
            k = row_of.get((family if self.has_family else "", individual))
            if k is not None:
                target[:] = [self._number(k, column) for column in columns]
        return out

    def _position(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"{self.source} has no column {name!r}; its columns are {some(self.names, most=10)}.")
        return self.names.index(name)

    def _number(self, k: int, column: int) -> float:
        text = self.rows[k][column]
        if text.lower() in MISSING_WORDS:
            return np.nan
        try:
            value = float(text)
        except ValueError:
            raise ValueError(
                f"{self.source} has {brief(text)!r} in column {brief(self.names[column])} of sample "
                f"{brief(' '.join(self.ids[k]).strip())}; "
                "write categories as numbers, and NA where a value is missing."
            ) from None
        return np.nan if value == MISSING_NUMBER else value


def read_text(path: Path) -> str:
    """A text file as PLINK writes it."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text file in UTF-8 (byte {error.start}); write it again.") from None


def refuse_duplicates(ids: Sequence[Any], source: str) -> None:
    """Ids must be unique: nothing can be joined by an id that two rows share."""
    seen: set[Any] = set()
    for key in ids:
        if key in seen:
            shown = " ".join(key).strip() if isinstance(key, tuple) else key
            raise ValueError(
                f"{source} has the id {brief(shown)!r} twice; make the ids unique or remove one of the rows."
            )
        seen.add(key)
