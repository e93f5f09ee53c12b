"""Writes requirements/dev.lock: every package of the development environment, by version and hash.

It holds for every platform and every Python from the oldest supported one on, and names no registry.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "dev.lock"
EXTRAS = ("test", "lint", "docs", "release")


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    oldest = project["project"]["requires-python"].removeprefix(">=")
    LOCK.parent.mkdir(exist_ok=True)
    options = ["--quiet", "--universal", "--upgrade", "--generate-hashes", "--no-header", "--no-annotate"]
    extras = [f"--extra={extra}" for extra in EXTRAS]
    command = [sys.executable, "-m", "uv", "pip", "compile", *options, *extras, f"--python-version={oldest}"]
    # What builds the package comes from the standard input, so that building needs nothing outside the lock.
    building = "\n".join(project["build-system"]["requires"])
    subprocess.run(
        [*command, f"--output-file={LOCK}", "pyproject.toml", "-"], cwd=ROOT, input=building, text=True, check=True
    )
    pinned = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if line[0].isalnum()]
    print(f"{LOCK.relative_to(ROOT)}: {len(pinned)} packages")


if __name__ == "__main__":
    main()
