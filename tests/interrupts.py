"""Interrupt long functions with a real SIGINT at random moments, and measure how soon they return.

    python tests/interrupts.py [--signals 20] [--seed 0]

Prints for each function how many signals landed and the longest time from a signal to the KeyboardInterrupt. Exits
with 1 if any took longer than a second.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import distributed  # noqa: F401 -- dask imports it late, and an interrupted import cannot be repeated
import numpy as np

from garrote import (
    ExactSpikeSlab,
    NonNegativeGarrote,
    PairedMeanField,
    SpikeSlabGibbs,
    VariationalGarrote,
    VariationalGarroteCV,
    garrote_path,
)
from garrote.compare import compare
from garrote.datasets import sparse_regression

#: Seconds from a signal to the end of a call that count as prompt.
PROMPT = 1.0

MANY = 10**7


def interrupted(call: Callable[[], Any], after: float) -> float | None:
    """Call, send SIGINT to this process after some seconds; the seconds until it returned, None if it was done."""
    armed, sent = [True], [0.0]

    def on_signal(number: int, frame: Any) -> None:
        if armed[0]:
            armed[0] = False
            raise KeyboardInterrupt

    def send() -> None:
        sent[0] = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, on_signal)
    timer = threading.Timer(after, send)
    timer.start()
    try:
        call()
        armed[0] = False
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
    return None


def _data(n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = sparse_regression(
        n_samples, n_features, min(n_features // 3, 20), zeta=0.5, sigma=1.0, rng=np.random.default_rng(1)
    )
    return X, y


def _dask_fit() -> None:
    X, y = _data(2000, 60)
    VariationalGarrote(np.float64(5.0)).fit(da.from_array(np.tile(X, (200, 1)), chunks=(4000, 60)), np.tile(y, 200))


def _plink_fit(folder: Path) -> None:
    from garrote.sources import plink

    VariationalGarroteCV(200).fit(cohort := plink.open(folder / "cohort"), cohort.y)


def write_cohort(folder: Path, n_samples: int, n_variants: int) -> Path:
    """Random genotypes with a phenotype, as PLINK 1 files."""
    rng = np.random.default_rng(2)
    codes = rng.choice([0, 2, 3], size=(n_variants, 4 * ((n_samples + 3) // 4)))
    packed = (codes.reshape(n_variants, -1, 4) << np.array([0, 2, 4, 6])).sum(axis=2).astype(np.uint8)
    (folder / "cohort.bed").write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
    (folder / "cohort.bim").write_text("".join(f"1\tv{j}\t0\t{j + 1}\tA\tG\n" for j in range(n_variants)))
    y = codes[0, :n_samples] + rng.standard_normal(n_samples)
    (folder / "cohort.fam").write_text("".join(f"f s{i} 0 0 0 {value}\n" for i, value in enumerate(y.tolist())))
    return folder


def jobs(folder: Path) -> dict[str, Callable[[], Any]]:
    """Calls of ordinary sizes that would take far longer than anybody waits here."""
    small, wide, tall = _data(100, 14), _data(200, 2000), _data(400, 300)
    grid = np.linspace(-40.0, 10.0, 2000)
    return {
        "VariationalGarrote.fit": lambda: [VariationalGarrote(0.0).fit(*tall) for _ in range(MANY)],
        "VariationalGarroteCV.fit": lambda: VariationalGarroteCV(grid).fit(*tall),
        "VariationalGarroteCV.fit, wide": lambda: VariationalGarroteCV(grid).fit(*wide),
        "VariationalGarroteCV.fit, 2 processes": lambda: VariationalGarroteCV(grid, n_jobs=2).fit(*wide),
        "garrote_path": lambda: garrote_path(*wide, gammas=grid),
        "PairedMeanField.fit": lambda: PairedMeanField(n_init=MANY).fit(*tall),
        "SpikeSlabGibbs.fit": lambda: SpikeSlabGibbs(n_draws=100_000).fit(*tall),
        "SpikeSlabGibbs.fit, 2 threads": lambda: SpikeSlabGibbs(n_draws=100_000, n_jobs=2).fit(*tall),
        "ExactSpikeSlab.fit": lambda: [ExactSpikeSlab().fit(*small) for _ in range(MANY)],
        # with some ten thousand α, scikit-learn's lasso_path, which this calls, ends in a stack overflow
        "NonNegativeGarrote.fit": lambda: [NonNegativeGarrote(n_alphas=1000).fit(*tall) for _ in range(MANY)],
        "compare": lambda: compare(*tall),
        "VariationalGarrote.fit, dask": lambda: [_dask_fit() for _ in range(MANY)],
        "VariationalGarroteCV.fit, PLINK": lambda: [_plink_fit(folder) for _ in range(MANY)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--signals", type=int, default=20, help="to each function")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    late = False
    with tempfile.TemporaryDirectory() as folder:
        for name, call in jobs(write_cohort(Path(folder), 500, 5000)).items():
            times = [interrupted(call, rng.uniform(0.05, 1.5)) for _ in range(options.signals)]
            landed = [seconds for seconds in times if seconds is not None]
            print(f"{name}: {len(landed)} signals landed, the longest time to return {max(landed):.3f} s", flush=True)
            late |= max(landed) > PROMPT
    sys.exit(late)


if __name__ == "__main__":
    main()
