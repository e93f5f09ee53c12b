"""PLINK 1 files (.bed, .bim, .fam): genotypes that stay packed, joined with phenotypes and covariates by sample id.

A genotype is the number of copies of **A1**, the first of the two alleles in the .bim file, as bed-reader and PLINK's
own --recode A count it; some readers count A2 instead, which changes the sign of every coefficient.
``cohort.variants.counted`` names the allele.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from garrote.arrays import Array, Index
from garrote.covariates import Beside
from garrote.design import DenseDesign
from garrote.sources.genotypes import Genotypes
from garrote.sources.phenotypes import SampleId, SampleTable, read_text, refuse_duplicates

__all__ = ["Cohort", "Variants", "open"]

MAGIC = b"\x6c\x1b"
BY_VARIANT, BY_SAMPLE = 1, 0


@dataclass(frozen=True)
class Variants:
    """Where each variant is, and which of its alleles is counted."""

    id: NDArray[Any]
    chromosome: NDArray[Any]
    position: NDArray[Any]  #: in base pairs
    counted: NDArray[Any]  #: A1 of the .bim file
    other: NDArray[Any]  #: A2

    def __len__(self) -> int:
        return len(self.id)

    def __getitem__(self, index: Any) -> Variants:
        return Variants(*(column[index] for column in self.columns().values()))

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def to_frame(self) -> Any:
        """A pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.columns())


class Cohort(Beside):
    """Genotypes of some samples, with covariates in the last columns; a Design, accepted wherever X is.

    Covariates are always in the model of whatever is fitted to a Cohort.
    """

    def __init__(
        self,
        genotypes: Genotypes,
        variants: Variants,
        samples: NDArray[Any],
        y: Array | None,
        covariates: Array,
        covariate_names: Sequence[str],
        n_monomorphic: int = 0,
        n_without_values: int = 0,
    ) -> None:
        super().__init__(genotypes, DenseDesign(covariates))
        self.genotypes = genotypes
        self.variants = variants  #: one for each of the first columns
        self.samples = samples  #: FID and IID of each row
        self.y = y  #: phenotypes, or None if there are none
        self.covariates = covariates
        self.covariate_names = list(covariate_names)
        self.n_monomorphic = n_monomorphic  #: variants left out because they do not vary among the samples used
        self.n_without_values = n_without_values  #: samples left out for want of a phenotype or covariate
        self.feature_names: NDArray[Any] = np.array([*variants.id.tolist(), *self.covariate_names], dtype=object)

    def take(self, rows: Index | slice) -> Cohort:
        return Cohort(
            self.genotypes.take(rows),
            self.variants,
            self.samples[rows],
            None if self.y is None else self.y[rows],
            self.covariates[rows],
            self.covariate_names,
            self.n_monomorphic,
            self.n_without_values,
        )

    def __repr__(self) -> str:
        return (
            f"<Cohort of {self.shape[0]:,} samples and {len(self.variants):,} variants, counting A1; "
            f"{len(self.covariate_names)} covariates; left out: {self.n_monomorphic:,} monomorphic variants, "
            f"{self.n_without_values:,} samples without phenotype or covariates>"
        )


def open(
    prefix: str | os.PathLike[str],
    *,
    pheno: Any = None,
    pheno_name: str | None = None,
    covar: Any = None,
    covar_names: Sequence[str] | None = None,
    samples: Any = None,
    variants: Any = None,
    in_memory: bool = False,
) -> Cohort:
    """Open PLINK 1 files as a Design of 2-bit genotypes.

    Samples are matched between the files by FID and IID, never by their order. Missing calls have the mean of their
    variant over the samples used; variants that do not vary among those are left out and counted.

    Parameters
    ----------
    prefix : what the names of the .bed, .bim and .fam files have in common; with or without ".bed"
    pheno : a file with FID, IID and phenotypes (−9 and NA are missing), or a data frame with these columns; samples
        without phenotype are left out. Without it, ``y`` is the last column of the .fam file, if no sample misses it
    pheno_name : which phenotype, if the file has several
    covar : the same for covariates, which are always in the model; samples that miss one are left out
    covar_names : which of the covariates; all, if not given
    samples : the samples to use, in this order: (FID, IID) pairs, IIDs alone where these are unique, or a file of them
    variants : the variants to use, in this order, whether they vary or not: ids; or the ``variants`` of another cohort,
        whose alleles must agree
    in_memory : whether to read the genotypes into memory; otherwise the file is memory-mapped
    """
    bed = _bed_path(prefix)
    ids, from_fam, table = _read_metadata(bed)
    packed = _packed_genotypes(bed, len(table), len(ids), in_memory)
    rows = np.arange(len(ids)) if samples is None else _sample_rows(samples, ids, bed)
    used = [ids[k] for k in rows]

    y: Array | None = from_fam[rows]
    if np.isnan(from_fam[rows]).any() or not from_fam[rows].any():  # 0 is how PLINK marks unknown cases
        y = None
    has_all = np.ones(len(rows), dtype=bool)
    if pheno is not None:
        y = _phenotypes(pheno, pheno_name, used)
        has_all &= ~np.isnan(y)
    covariates, names = np.empty((len(rows), 0)), list[str]()
    if covar is not None:
        covariates, names = _covariates(covar, covar_names, used)
        has_all &= ~np.isnan(covariates).any(axis=1)
        if not has_all.any():
            raise ValueError("no sample has a phenotype and all covariates; compare the ids of the files.")

    genotypes, varies = Genotypes.of(packed, rows[has_all], len(ids))
    if variants is None:
        wanted = np.flatnonzero(varies)
        if not len(wanted):
            raise ValueError(f"{bed} has no variant that varies among the {has_all.sum()} samples used.")
        n_monomorphic = len(table) - len(wanted)
    else:
        wanted, n_monomorphic = _variant_positions(variants, table, bed), 0
    return Cohort(
        genotypes.keep(wanted),
        table[wanted],
        np.array(used, dtype=object).reshape(-1, 2)[has_all],
        None if y is None else y[has_all],
        covariates[has_all],
        names,
        n_monomorphic,
        int((~has_all).sum()),
    )


def _bed_path(prefix: str | os.PathLike[str]) -> Path:
    path = Path(prefix)
    return path if path.suffix == ".bed" else path.with_name(path.name + ".bed")


def _read_metadata(bed: Path) -> tuple[list[SampleId], Array, Variants]:
    """Sample ids and phenotypes from .fam, variants from .bim."""
    try:
        from bed_reader import open_bed
    except ImportError as error:
        raise ImportError("PLINK files need bed-reader; install it with: pip install 'garrote[plink]'.") from error
    fam = SampleTable.read(bed.with_suffix(".fam"))
    reader = open_bed(bed, skip_format_check=True)
    try:
        columns = [reader.sid, reader.chromosome, reader.bp_position, reader.allele_1, reader.allele_2]
    except (ValueError, IndexError, OverflowError) as error:
        reason = " ".join(str(error).split())[:100]
        raise ValueError(
            f"{bed.with_suffix('.bim')} cannot be read ({reason}); it must have six columns: chromosome, id, "
            "centimorgan, base pair, allele 1, allele 2."
        ) from error
    variants = Variants(*columns)
    unnamed = variants.id == "."
    if unnamed.any():
        places = [":".join(map(str, place)) for place in zip(*columns[1:], strict=True)]
        variants = Variants(np.where(unnamed, places, variants.id), *columns[1:])
    refuse_duplicates(variants.id.tolist(), str(bed.with_suffix(".bim")))
    return fam.ids, fam.values(["phenotype"], fam.ids)[:, 0], variants


def _packed_genotypes(bed: Path, n_variants: int, n_samples: int, in_memory: bool) -> NDArray[np.uint8]:
    """The packed bytes, one row per variant, after a check that the three files fit together."""
    with bed.open("rb") as file:
        start = file.read(3)
    if start[:2] != MAGIC or len(start) < 3:
        raise ValueError(f"{bed} is not a PLINK 1 .bed file: it does not begin with the bytes 6c 1b.")
    if start[2] == BY_SAMPLE:
        raise ValueError(f"{bed} is stored sample by sample; convert it with: plink --bfile {bed.stem} --make-bed.")
    if start[2] != BY_VARIANT:
        raise ValueError(f"{bed} has the unknown mode {start[2]:#04x} in its third byte; write it again with PLINK.")
    n_bytes = (n_samples + 3) // 4
    expected, size = 3 + n_variants * n_bytes, bed.stat().st_size
    if size != expected:
        raise ValueError(
            f"{bed} has {size:,} bytes, but {n_variants:,} variants in the .bim and {n_samples:,} samples in the .fam "
            f"file need {expected:,}: it is {'truncated' if size < expected else 'too long'}, or the three files do "
            "not belong together."
        )
    if n_variants == 0 or n_samples == 0:
        raise ValueError(f"{bed} has {n_variants} variants of {n_samples} samples; there is nothing to fit.")
    if in_memory:
        return np.fromfile(bed, dtype=np.uint8, offset=3).reshape(n_variants, n_bytes)
    return np.memmap(bed, dtype=np.uint8, mode="r", offset=3, shape=(n_variants, n_bytes))


def _phenotypes(source: Any, name: str | None, ids: Sequence[SampleId]) -> Array:
    table = SampleTable.read(source)
    if name is None:
        if table.source.endswith(".fam"):
            name = "phenotype"
        elif len(table.names) == 1:
            name = table.names[0]
        else:
            raise ValueError(
                f"{table.source} has {len(table.names)} phenotypes ({', '.join(table.names)}); say which one with "
                "pheno_name."
            )
    y = table.values([name], ids)[:, 0]
    if np.isnan(y).all():
        shared = len(set(table.ids) & set(ids)) if table.has_family else "some"
        raise ValueError(
            f"{table.source} has no phenotype {name} for any sample: all are missing (−9 or NA), or the ids differ; "
            f"{shared} of its {len(table.ids)} ids are among the genotyped samples."
        )
    return y


def _covariates(source: Any, names: Sequence[str] | None, ids: Sequence[SampleId]) -> tuple[Array, list[str]]:
    table = SampleTable.read(source)
    values = table.values(names, ids)
    names = table.names if names is None else list(names)
    missing = np.isnan(values).all(axis=0)
    if missing.any():
        raise ValueError(
            f"{table.source} has no value of {names[int(np.flatnonzero(missing)[0])]} for any sample: all are missing "
            "(−9 or NA), or the ids differ from those of the .fam file."
        )
    return values, names


def _sample_rows(samples: Any, ids: Sequence[SampleId], bed: Path) -> Index:
    """Rows of the .fam file with these ids, in the order of the ids."""
    if isinstance(samples, str | os.PathLike):
        wanted: list[Any] = [tuple(line.split()[:2]) for line in read_text(Path(samples)).splitlines() if line.strip()]
        wanted = wanted[1:] if wanted and wanted[0][0].lstrip("#") == "FID" else wanted
    else:
        wanted = [key if isinstance(key, str) else tuple(map(str, key)) for key in samples]
    if not wanted:
        raise ValueError("samples is empty; give at least two ids.")
    by_id: dict[Any, int] = {key: k for k, key in enumerate(ids)}
    if any(isinstance(key, str) for key in wanted):
        individuals = [individual for _, individual in ids]
        if len(set(individuals)) < len(individuals):
            raise ValueError(
                f"{bed.with_suffix('.fam')} has the same IID in several families; give samples as (FID, IID) pairs."
            )
        by_id |= {individual: k for k, individual in enumerate(individuals)}
    refuse_duplicates(wanted, "samples")
    return _positions(wanted, by_id, "samples", bed.with_suffix(".fam"))


def _variant_positions(variants: Any, table: Variants, bed: Path) -> Index:
    """Where these variants are in the .bim file."""
    wanted = list(variants.id if isinstance(variants, Variants) else variants)
    refuse_duplicates(wanted, "variants")
    positions = _positions(wanted, {key: k for k, key in enumerate(table.id)}, "variants", bed.with_suffix(".bim"))
    if isinstance(variants, Variants):
        other = (table.counted[positions] != variants.counted) | (table.other[positions] != variants.other)
        if other.any():
            k = int(np.flatnonzero(other)[0])
            raise ValueError(
                f"{bed.with_suffix('.bim')} has the alleles {table.counted[positions[k]]}/{table.other[positions[k]]} "
                f"for {wanted[k]}, not {variants.counted[k]}/{variants.other[k]} ({other.sum()} such variants); make "
                "A1 the same allele in both, with: plink --a1-allele."
            )
    return positions


def _positions(wanted: Sequence[Any], position: dict[Any, int], name: str, where: Path) -> Index:
    absent = [key for key in wanted if key not in position]
    if absent:
        shown = " ".join(absent[0]) if isinstance(absent[0], tuple) else absent[0]
        raise ValueError(f"{name} has {len(absent)} ids that {where} does not have, the first of them {shown!r}.")
    return np.array([position[key] for key in wanted], dtype=np.intp)
