"""Read many hostile files of every format; only a reading, or a refusal in one sentence, is allowed.

    python tests/fuzz_files.py [--count 100000] [--formats npz csv] [--first 0]

The memory of the process is limited to 1 GB more than it has at the start. Prints for each format how many files were
read, refused, or (checkpoints) found damaged and recomputed, and the longest time that one of them took.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from hostile import FORMATS, Format

#: Bytes that reading may need beyond what the process has at the start.
ROOM = 2**30

#: Seconds that one small file may take.
PATIENCE = 5.0

#: Faults that are shown in full.
SHOWN = 3


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def fuzz(kind: Format, seeds: range) -> bool:
    """Try them all; whether there was no fault."""
    seen: Counter[str] = Counter()
    longest = 0.0
    begun = time.monotonic()
    for seed in seeds:
        start = time.monotonic()
        try:
            seen[kind.attempt(seed)] += 1
        except Exception as error:
            seen[f"fault: {type(error).__name__}"] += 1
            if sum(count for key, count in seen.items() if key.startswith("fault")) <= SHOWN:
                print(f"{kind.name}, seed {seed}:", file=sys.stderr)
                traceback.print_exc()
        longest = max(longest, time.monotonic() - start)
    counts = ", ".join(f"{count:,} {what}" for what, count in seen.most_common())
    print(
        f"{kind.name}: {len(seeds):,} files in {time.monotonic() - begun:.0f} s: {counts}; longest {longest:.2f} s",
        flush=True,
    )
    return longest < PATIENCE and not any(key.startswith("fault") for key in seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100_000, help="of files of each format")
    parser.add_argument("--first", type=int, default=0, help="seed of the first file")
    parser.add_argument("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kinds = [FORMATS[name](Path(folder)) for name in options.formats]
        for kind in kinds:
            kind.attempt(0)  # imports are no part of the memory that a file takes
        limit_memory()
        fine = [fuzz(kind, range(options.first, options.first + options.count)) for kind in kinds]
    sys.exit(not all(fine))


if __name__ == "__main__":
    main()
