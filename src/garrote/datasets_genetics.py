"""Cohorts simulated with msprime: realistic linkage between neighbouring variants, as PLINK files.

A population of constant size 10⁴, recombination 10⁻⁸ and mutation 1.25·10⁻⁸ per base pair and generation: roughly 2300
variants with a minor allele frequency above 1 % in a million base pairs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.random import Generator
from numpy.typing import NDArray

from garrote.arrays import Array, Index
from garrote.design import Design
from garrote.files import replacing, write_text

POPULATION = 10_000
RECOMBINATION = 1e-8
MUTATION = 1.25e-8

#: The two-bit code of 0, 1 and 2 copies of the derived allele, which is A1.
CODE = np.array([3, 2, 0], dtype=np.uint8)


class Chromosome(NamedTuple):
    """Variants of one chromosome: base-pair positions, and genotypes packed four to a byte, a row per variant."""

    positions: NDArray[np.int64]
    packed: NDArray[np.uint8]


def simulate_chromosome(n_samples: int, length: float, seed: int, min_frequency: float = 0.01) -> Chromosome:
    """Biallelic variants of diploid samples with a minor allele frequency of at least ``min_frequency``."""
    import msprime

    ancestry = msprime.sim_ancestry(
        n_samples,
        population_size=POPULATION,
        recombination_rate=RECOMBINATION,
        sequence_length=length,
        random_seed=seed,
    )
    mutated = msprime.sim_mutations(ancestry, rate=MUTATION, model=msprime.BinaryMutationModel(), random_seed=seed)
    positions, rows = [], []
    for variant in mutated.variants():
        copies = variant.genotypes.reshape(n_samples, 2).sum(axis=1)
        frequency = copies.sum() / (2 * n_samples)
        if min_frequency <= frequency <= 1.0 - min_frequency:
            positions.append(int(variant.site.position) + 1)
            rows.append(pack(copies))
    return Chromosome(np.array(positions, dtype=np.int64), np.array(rows).reshape(len(rows), -(-n_samples // 4)))


def pack(copies: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Copies of A1, one per sample, packed four to a byte; the last byte is filled with zeros."""
    codes = np.zeros(-(-len(copies) // 4) * 4, dtype=np.uint8)
    codes[: len(copies)] = CODE[copies]
    shifts = np.array([0, 2, 4, 6], dtype=np.uint8)
    return np.bitwise_or.reduce(codes.reshape(-1, 4) << shifts, axis=1).astype(np.uint8)


def simulate_cohort(
    prefix: str | os.PathLike[str],
    *,
    n_samples: int,
    n_chromosomes: int,
    length: float,
    seed: int,
    n_jobs: int | None = None,
) -> int:
    """Write PLINK files of chromosomes with ``length`` base pairs each; returns how many variants they have."""
    seeds = np.random.default_rng(seed).integers(1, 2**31, n_chromosomes).tolist()
    simulate = delayed(simulate_chromosome)
    chromosomes: list[Chromosome] = Parallel(n_jobs=n_jobs)(simulate(n_samples, length, each) for each in seeds)
    lines = [
        f"{name}\tv{name}_{k}\t0\t{position}\tG\tA\n"
        for name, chromosome in enumerate(chromosomes, start=1)
        for k, position in enumerate(chromosome.positions)
    ]
    prefix = Path(prefix)
    with replacing(prefix.with_name(f"{prefix.name}.bed")) as bed, bed.open("wb") as file:
        file.write(b"\x6c\x1b\x01")
        for chromosome in chromosomes:
            file.write(chromosome.packed.tobytes())
    write_text(prefix.with_name(f"{prefix.name}.bim"), "".join(lines))
    people = "".join(f"F{k} I{k} 0 0 0 -9\n" for k in range(n_samples))
    write_text(prefix.with_name(f"{prefix.name}.fam"), people)
    return len(lines)


def simulate_trait(design: Design, n_causal: int, heritability: float, rng: Generator) -> tuple[Array, Index, Array]:
    """A trait of unit variance, its causal variants, and their effects, which explain equal shares of the heritability.

    Causal variants are drawn among those that are common (variance of the genotype at least 0.1).
    """
    n_samples = design.shape[0]
    variance = design.moments(np.full(n_samples, 1.0 / n_samples))[1]
    causal = np.sort(rng.choice(np.flatnonzero(variance > 0.1), n_causal, replace=False))
    effects = rng.choice([-1.0, 1.0], n_causal) * np.sqrt(heritability / (n_causal * variance[causal]))
    genetic = design.dot(causal, effects)
    noise = rng.standard_normal(n_samples) * np.sqrt(1.0 - heritability)
    return genetic - genetic.mean() + noise, causal, effects
