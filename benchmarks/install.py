"""Install the peers one by one into the present environment, so that one that fails does not stop the others.

What fails is recorded with its reason and shown by the benchmark.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
RECORD = Path(sys.prefix) / "peers-not-installed.json"


def failures() -> dict[str, str]:
    """The peers that could not be installed, and why."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def requirements() -> list[str]:
    """The lines of the requirements file, without comments."""
    lines = (line.split("#")[0].strip() for line in REQUIREMENTS.read_text().splitlines())
    return [line for line in lines if line]


def install(requirement: str) -> str:
    """Install one requirement, with all others as constraints; returns why it failed, or ''."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--constraint", str(REQUIREMENTS), requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
    return (errors or done.stderr.splitlines() or ["pip failed"])[-1].removeprefix("ERROR:").strip()


def main() -> None:
    failed = {}
    for requirement in requirements():
        why = install(requirement)
        print(f"{requirement:20} {'not installed: ' + why if why else 'installed'}", flush=True)
        if why:
            failed[re.split(r"[<>=!~\[ ]", requirement)[0]] = why
    RECORD.write_text(json.dumps(failed, indent=1))


if __name__ == "__main__":
    main()
