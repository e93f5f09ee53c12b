"""Print pip constraints with the oldest version that pyproject.toml allows of every package the library may use.

With the argument ``core``: of every package that it needs. What only tests, lints or documents the library is left
out: its users never install that.
"""

import re
import sys
import tomllib
from pathlib import Path

#: A requirement with a lower bound, such as dask[array]>=2024.8 or arviz>=0.17,<1.
BOUNDED = re.compile(r"(?P<name>[\w-]+)(\[[\w,]+\])?>=(?P<version>[\d.]+)(,<[\d.]+)?")

#: Extras for those who develop the library.
DEVELOPMENT = {"test", "lint", "docs", "release"}


def oldest(project: dict, *, core: bool) -> list[str]:
    """name==version of each requirement; of the library itself, as an extra of an extra, none."""
    extras = {} if core else project["optional-dependencies"]
    requirements = [*project["dependencies"], *(r for name in extras if name not in DEVELOPMENT for r in extras[name])]
    return [_pinned(requirement) for requirement in requirements if not requirement.startswith(f"{project['name']}[")]


def _pinned(requirement: str) -> str:
    bounded = BOUNDED.fullmatch(requirement)
    if bounded is None:
        sys.exit(f"{requirement!r} in pyproject.toml has no lower bound; write it as name>=version.")
    return f"{bounded['name']}=={bounded['version']}"


if __name__ == "__main__":
    pyproject = Path(__file__).parent.parent / "pyproject.toml"
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    print(*oldest(project, core=sys.argv[1:] == ["core"]), sep="\n")
