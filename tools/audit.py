"""Asks for known vulnerabilities of every package in requirements/dev.lock, and says how many could be asked about.

pip-audit calls packages that its service does not answer for "skipped" and ends well; here they count as not checked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[1] / "requirements" / "dev.lock"
UNREACHABLE = ("ConnectionError", "NameResolutionError", "ConnectTimeout", "ReadTimeout", "could not connect")


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--require-hashes", "--disable-pip"]
    run = subprocess.run(
        [*command, "--progress-spinner=off", "--format=json"], capture_output=True, text=True, check=False
    )
    try:
        packages = json.loads(run.stdout)["dependencies"]
    except ValueError:
        if any(sign.lower() in run.stderr.lower() for sign in UNREACHABLE):
            print("Not checked: the vulnerability service cannot be reached from here.")
            return 0
        sys.exit(f"pip-audit failed:\n{run.stderr}")
    return report(packages)


def report(packages: list[dict[str, Any]]) -> int:
    """Print what was found, and of how many packages it is known; 1 if any is vulnerable."""
    answered = [package for package in packages if "skip_reason" not in package]
    vulnerable = [package for package in answered if package["vulns"]]
    for package in vulnerable:
        for found in package["vulns"]:
            remedy = f"fixed in {', '.join(found['fix_versions'])}" if found["fix_versions"] else "not fixed yet"
            print(f"{package['name']} {package['version']}: {found['id']}, {remedy}")
    if not answered:
        print(f"Not checked: the vulnerability service answered for none of the {len(packages)} locked packages.")
        return 0
    print(f"{len(answered)} of {len(packages)} locked packages checked, {len(vulnerable)} with known vulnerabilities.")
    return int(bool(vulnerable))


if __name__ == "__main__":
    sys.exit(main())
