"""Dependence on the number of samples: one method at one number of samples, on independent inputs or on SNPs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from garrote.arrays import Array
from garrote.datasets import Example, correlated_inputs, outputs, random_support
from garrote.datasets_genetics import MUTATION, POPULATION
from garrote.paper.experiments.measures import assess, fit, generator, split
from garrote.paper.item import Record

N_TEST = 400
#: Simulated individuals of a run: enough for twice as many training samples as features, validation and test.
N_INDIVIDUALS = 1500
#: SNPs rarer than this, or more correlated than this (r²) with one already taken, are left out, as in association
#: studies: of two identical columns no method could say which one is active.
SMALLEST_FREQUENCY = 0.05
LARGEST_R2 = 0.9


def independent(
    n_features: int, active: float, n_train: int, n_validation: int, method: str, seed: int, run: int
) -> Record:
    """Independent standard normal inputs."""
    rng = generator(seed, run)
    X = correlated_inputs(n_train + n_validation + N_TEST, n_features, 0.0, rng)
    return _judge(_example(X, active, n_train, n_validation, rng), method)


def genetic(
    n_features: int, active: float, n_train: int, n_validation: int, method: str, seed: int, run: int
) -> Record:
    """Simulated SNPs of one population, from which the samples of a run are drawn whatever their number."""
    X = snps(N_INDIVIDUALS, n_features, seed, run)[: n_train + n_validation + N_TEST]
    return _judge(_example(X, active, n_train, n_validation, generator(seed, run)), method)


def correlations(n_features: int, seed: int, run: int) -> Record:
    """The correlation matrix of simulated SNPs."""
    X = snps(N_INDIVIDUALS, n_features, seed, run)
    return {"correlation": np.corrcoef(X, rowvar=False).round(3).tolist()}


@lru_cache(maxsize=1)  # a simulation takes a second, and serves all instances of its run
def snps(n_individuals: int, n_features: int, seed: int, run: int) -> Array:
    """Genotypes {0, 1, 2} of neighbouring SNPs of one population, simulated by a coalescent with recombination.

    Recombination is concentrated in hotspots 20 kb apart, as in humans: SNPs between two hotspots are inherited
    together and correlated, across hotspots soon independent. The stretch is lengthened until it has enough SNPs.
    """
    import msprime

    rng = generator(seed, run)
    block, n_blocks = 20_000, 2 + n_features // 8
    while True:
        rates = msprime.RateMap(
            position=[0.0, *_hotspot_edges(block, n_blocks), float(block * n_blocks)],
            rate=[1e-9, *[2e-6, 1e-9] * (n_blocks - 1)],
        )
        seeds = rng.integers(1, 2**31, size=2)
        trees = msprime.sim_ancestry(
            n_individuals, recombination_rate=rates, population_size=POPULATION, random_seed=int(seeds[0])
        )
        trees = msprime.sim_mutations(
            trees, rate=MUTATION, model=msprime.BinaryMutationModel(), random_seed=int(seeds[1])
        )
        alleles = trees.genotype_matrix()
        chosen = _informative((alleles[:, ::2] + alleles[:, 1::2]).astype(np.float64), n_features)
        if len(chosen) == n_features:
            genotypes = np.ascontiguousarray(chosen.T)
            genotypes.flags.writeable = False  # shared
            return genotypes
        n_blocks *= 2


def _hotspot_edges(block: int, n_blocks: int) -> list[float]:
    """Start and end of the 1 kb hotspot between each two blocks."""
    return [block * i + half for i in range(1, n_blocks) for half in (-500.0, 500.0)]


def _informative(genotypes: Array, n_wanted: int) -> Array:
    """The first SNPs along the chromosome that are common and not nearly copies of one of the last hundred taken."""
    frequency = genotypes.mean(axis=1) / 2
    common = genotypes[np.minimum(frequency, 1 - frequency) >= SMALLEST_FREQUENCY]
    standard = common - common.mean(axis=1, keepdims=True)
    standard /= np.linalg.norm(standard, axis=1, keepdims=True)
    taken: list[int] = []
    for i in range(len(common)):
        if not taken or np.max((standard[taken[-100:]] @ standard[i]) ** 2) <= LARGEST_R2:
            taken.append(i)
        if len(taken) == n_wanted:
            break
    return common[taken]


def _example(X: Array, active: float, n_train: int, n_validation: int, rng: np.random.Generator) -> Example:
    coef = random_support(X.shape[1], round(active * X.shape[1]), rng)
    return split(X, outputs(X, coef, 1.0, rng), coef, n_train, n_validation)


def _judge(data: Example, method: str) -> Record:
    model, seconds = fit(method, data)
    return assess(model, data) | {"seconds": seconds}
