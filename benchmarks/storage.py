"""The same path with X in every storage: passes, seconds, and the memory of its own that the process needs.

    python benchmarks/storage.py [--quick] [--folds] [--only memmap ...]

Each storage has a process of its own, which makes or opens X and traces one default path, or with ``--folds`` those of
five folds and of all samples. *Private memory* is what the process has allocated (RssAnon of Linux, without the pages
of a memory-mapped file), sampled meanwhile.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

#: Features and samples of each storage, and with --quick.
SIZES = {
    "float64": ((200_000, 500), (20_000, 200)),
    "float32": ((400_000, 500), (40_000, 200)),
    "sparse": ((400_000, 20_000), (40_000, 2_000)),
    "memmap": ((1_000_000, 500), (40_000, 200)),
}
DENSITY = 0.01
N_NONZERO = 20
SLAB = 1000


def normal(n_features: int, n_samples: int, out: Any = None) -> Any:
    """Standard normal inputs in Fortran order, made a few columns at a time."""
    rng = np.random.default_rng(0)
    out = np.empty((n_samples, n_features), dtype=np.float64, order="F") if out is None else out
    for start in range(0, n_features, SLAB):
        out[:, start : start + SLAB] = rng.standard_normal((min(SLAB, n_features - start), n_samples)).T
    return out


def memory_mapped(n_features: int, n_samples: int, folder: Path) -> Any:
    """The same in a file, opened anew for reading."""
    file = folder / "X.dat"
    writing = np.memmap(file, np.float64, "w+", shape=(n_samples, n_features), order="F")
    normal(n_features, n_samples, writing)
    del writing
    return np.memmap(file, np.float64, "r", shape=(n_samples, n_features), order="F")


MAKE: dict[str, Callable[[int, int, Path], Any]] = {
    "float64": lambda p, n, folder: normal(p, n),
    "float32": lambda p, n, folder: normal(p, n, np.empty((n, p), dtype=np.float32, order="F")),
    "sparse": lambda p, n, folder: sparse.random(n, p, DENSITY, "csc", random_state=np.random.default_rng(0)),
    "memmap": memory_mapped,
}


def size(X: Any) -> int:
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes


def private_bytes() -> int:
    """What this process has allocated."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) * 1024


class PeakPrivate:
    """The largest private memory while the block runs."""

    def __enter__(self) -> PeakPrivate:
        self.bytes, self._stop = private_bytes(), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self.bytes = max(self.bytes, private_bytes())


def measure(storage: str, n_features: int, n_samples: int, folds: bool) -> dict[str, float]:
    """One path, or one cross-validation, in this process."""
    from garrote import VariationalGarroteCV, garrote_path

    with tempfile.TemporaryDirectory() as folder:
        X = MAKE[storage](n_features, n_samples, Path(folder))
        rng = np.random.default_rng(1)
        coef = np.zeros(n_features)
        coef[rng.choice(n_features, N_NONZERO, replace=False)] = 1.0
        signal = np.asarray(X[:, np.flatnonzero(coef)].sum(axis=1), dtype=np.float64).ravel()
        y = signal + np.sqrt(0.5) * signal.std() / np.sqrt(N_NONZERO) * rng.standard_normal(n_samples)
        garrote_path(rng.standard_normal((30, 5)), rng.standard_normal(30))  # what is imported at the first fit
        before, start = private_bytes(), time.process_time()
        with PeakPrivate() as peak:
            path = VariationalGarroteCV(ridges=[0.0]).fit(X, y).path_ if folds else garrote_path(X, y)
        seconds = time.process_time() - start
        found = any(set(solution.selected) == set(np.flatnonzero(coef)) for solution in path)
        return {
            "size": size(X),
            "extra": peak.bytes - before,
            "private": peak.bytes,
            "seconds": seconds,
            "passes": path.n_passes,
            "found": found,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--folds", action="store_true", help="a cross-validation; passes of its last fit")
    parser.add_argument("--only", nargs="+", choices=SIZES, default=list(SIZES), help="storages (all)")
    args = parser.parse_args()
    print(f"{'storage':9}{'features × samples':>22}{'size of X':>12}{'peak/size':>11}", end="")
    print(f"{'private':>11}{'passes':>8}{'time':>9}")
    for storage in args.only:
        n_features, n_samples = SIZES[storage][args.quick]
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            m = pool.apply(measure, (storage, n_features, n_samples, args.folds))
        relative = "" if storage == "memmap" else f"{1.0 + m['extra'] / m['size']:.2f}"
        sizes = f"{m['size'] / 1e6:9,.0f} MB{relative:>11}{m['private'] / 1e6:8,.0f} MB"
        print(f"{storage:9}{f'{n_features:,} × {n_samples:,}':>22}{sizes}{m['passes']:8}{m['seconds']:7.1f} s", end="")
        print("" if m["found"] else "   (the true features were not found)", flush=True)


if __name__ == "__main__":
    main()
