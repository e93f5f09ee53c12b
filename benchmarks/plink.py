"""Packed genotypes: a pass against BLAS, and the default path of a cohort of half a million variants.

python benchmarks/plink.py                    # simulates the cohort with msprime first (six minutes), then fits
python benchmarks/plink.py --prefix COHORT    # uses PLINK files that are there
python benchmarks/plink.py --passes           # only the passes
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from garrote import garrote_path
from garrote.datasets_genetics import simulate_cohort, simulate_trait
from garrote.sources import plink
from garrote.sources.genotypes import Genotypes
from garrote.threads import one_blas_thread

N_SAMPLES = 2000
SLICE = 20_000  # variants, unpacked to 320 MB


def peak_memory() -> float:
    """The most memory that this process ever held, mapped pages of the .bed file included, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fastest(clock: Callable[[], float], *calls: Callable[[], object], repeat: int = 25) -> list[float]:
    """Milliseconds of the fastest of some repetitions of each call, taken in turns."""
    seconds = np.empty((repeat, len(calls)))
    for turn in seconds:
        for k, call in enumerate(calls):
            start = clock()
            call()
            turn[k] = clock() - start
    return (1e3 * seconds.min(axis=0)).tolist()


def compare_passes(missing: float) -> None:
    """Time of Xᵀr over packed genotypes against the same in float64 by BLAS."""
    rng = np.random.default_rng(1)
    n_bytes = N_SAMPLES // 4
    codes = rng.choice(4, (SLICE, N_SAMPLES), p=[0.2 - missing / 2, missing, 0.4 - missing / 2, 0.4]).astype(np.uint8)
    shifts = np.array([0, 2, 4, 6], dtype=np.uint8)
    packed = np.bitwise_or.reduce(codes.reshape(SLICE, n_bytes, 4) << shifts, axis=2)
    del codes
    design, _ = Genotypes.of(packed, np.arange(N_SAMPLES), N_SAMPLES)
    X = design.columns(np.arange(SLICE))
    r = rng.standard_normal(N_SAMPLES)
    assert np.allclose(design.transpose_dot(r), X.T @ r, atol=1e-9)

    @one_blas_thread()  # as in a path: the pass may use the threads that BLAS had
    def packed_pass() -> None:
        design.transpose_dot(r)

    print(
        f"{SLICE} × {N_SAMPLES}, {missing:.0%} missing, {packed.nbytes / 1e6:.0f} MB against {X.nbytes / 1e6:.0f} MB:"
    )
    with threadpool_limits(1):
        times = fastest(time.thread_time, lambda: design.transpose_dot(r), lambda: X.T @ r)
    report("processor time of one thread", *times)
    report("time with all threads", *fastest(time.perf_counter, packed_pass, lambda: X.T @ r))


def report(what: str, packed: float, blas: float) -> None:
    print(f"  {what}: packed {packed:.1f} ms, float64 BLAS {blas:.1f} ms, ratio {packed / blas:.2f}")


def fit(prefix: Path, n_causal: int, heritability: float) -> None:
    """The default path on a cohort, with a simulated trait."""
    start = time.perf_counter()
    cohort = plink.open(prefix)
    print(f"{cohort!r}\nopened in {time.perf_counter() - start:.1f} s, peak memory {peak_memory():.0f} MB")
    y, causal, _ = simulate_trait(cohort, n_causal, heritability, np.random.default_rng(1))
    start = time.perf_counter()
    path = garrote_path(cohort, y)
    seconds = time.perf_counter() - start
    selected = path[-1].selected
    found = sum(best_proxy(cohort, k, selected) > 0.9 for k in causal)
    print(
        f"path of {len(path)} γ in {seconds:.0f} s, {path.n_passes} passes, peak memory {peak_memory():.0f} MB; at the "
        f"end {len(selected)} variants selected, {found} of {n_causal} causal ones among them or with |r| > 0.9 to one"
    )
    print(path.stopped or "the whole grid was solved")


def best_proxy(cohort: plink.Cohort, variant: int, selected: np.ndarray) -> float:
    """The largest |correlation| of a variant with the selected ones."""
    columns = cohort.columns(np.append(selected, variant))
    return float(np.abs(np.corrcoef(columns.T)[-1, :-1]).max(initial=0.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, help="PLINK files to use")
    parser.add_argument("--passes", action="store_true", help="only compare the passes")
    parser.add_argument("--causal", type=int, default=20)
    parser.add_argument("--heritability", type=float, default=0.5)
    args = parser.parse_args()
    if args.passes:
        for missing in (0.0, 0.01, 0.05):
            compare_passes(missing)
        return
    if args.prefix is not None:
        fit(args.prefix, args.causal, args.heritability)
        return
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder) / "cohort"
        start = time.perf_counter()
        n = simulate_cohort(prefix, n_samples=N_SAMPLES, n_chromosomes=22, length=1e7, seed=1, n_jobs=2)
        print(
            f"{n:,} variants of {N_SAMPLES:,} samples simulated in {time.perf_counter() - start:.0f} s", file=sys.stderr
        )
        fit(prefix, args.causal, args.heritability)


if __name__ == "__main__":
    main()
