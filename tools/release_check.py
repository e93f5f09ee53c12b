"""Builds the wheel and the sdist, looks into them, and runs what they install in empty environments."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "garrote"

#: What a user with nothing but the core dependencies does.
FIT = """
import importlib.util
import numpy as np
from garrote import VariationalGarroteCV
from garrote._loops import COMPILED

assert COMPILED, "the compiled loops are missing"
extras = [name for name in ("click", "matplotlib", "pandas", "plotly") if importlib.util.find_spec(name)]
assert not extras, f"an empty environment has {extras}"
X = np.random.default_rng(0).standard_normal((100, 20))
y = 2 * X[:, 3] + np.random.default_rng(1).standard_normal(100)
model = VariationalGarroteCV().fit(X, y)
assert list(np.flatnonzero(model.inclusion_ > 0.5)) == [3], model.inclusion_
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        wheel, sdist = step("build sdist and wheel", build, work)
        step("twine check", twine, wheel, sdist)
        step("contents of the wheel", check_wheel, wheel)
        step("contents of the sdist", check_sdist, sdist)
        core = step("wheel with core dependencies: install", install, work / "core", str(wheel))
        step("wheel with core dependencies: fit", fit, core)
        step("wheel with core dependencies: the command names its extra", command_without_extra, core)
        cli = step("wheel[cli]: install", install, work / "cli", f"{wheel}[cli]")
        step("wheel[cli]: garrote demo", demo, cli)
        compiled = step("sdist[cli]: compile and install", install, work / "sdist", f"{sdist}[cli]")
        step("sdist[cli]: garrote demo", demo, compiled)
    print("The release is fit to publish.")
    return 0


def step(name, action, *arguments):
    """Do one part of the check, and say so."""
    start = perf_counter()
    try:
        result = action(*arguments)
    except subprocess.CalledProcessError as error:
        said = f"{error.stdout}\n{error.stderr}".splitlines()
        sys.exit("\n".join([f"FAILED {name}: {' '.join(error.cmd)}", *said[-40:]]))
    except AssertionError as error:
        sys.exit(f"FAILED {name}: {error}")
    print(f"ok  {name} ({perf_counter() - start:.0f} s)", flush=True)
    return result


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command, which knows nothing of the sources here."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=True).stdout


def build(work: Path) -> tuple[Path, Path]:
    """The sdist from the sources, the wheel from the sdist."""
    run(sys.executable, "-m", "build", "--outdir", work / "dist", ROOT, cwd=work)
    (wheel,), (sdist,) = (work / "dist").glob("*.whl"), (work / "dist").glob("*.tar.gz")
    return wheel, sdist


def twine(*files: Path) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=files[0].parent)


def check_wheel(wheel: Path) -> None:
    """Every module, compiled loop, stub, template and the licence; nothing else; no source names a folder of here."""
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    shipped = [file for suffix in ("py", "pyi") for file in SOURCES.rglob(f"*.{suffix}")]
    shipped += [SOURCES / "py.typed", *(SOURCES / "report" / "templates").iterdir()]
    missing = {str(file.relative_to(SOURCES.parent)) for file in shipped} - contents.keys()
    assert not missing, f"missing: {sorted(missing)}"
    loops = {file.stem for file in SOURCES.glob("*.pyx")}
    built = {Path(name).name.partition(".")[0] for name in contents if name.endswith((".so", ".pyd"))}
    assert loops == built, f"compiled: {sorted(built)}, not {sorted(loops)}"
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in contents), "no LICENSE"
    strangers = {name for name in contents if not name.startswith(("garrote/", "garrote-"))}
    assert not strangers, f"strangers: {sorted(strangers)}"
    # Compiled modules carry the place of the Python that they were built with; the sources must carry none.
    sources = {name: data for name, data in contents.items() if not name.endswith((".so", ".pyd"))}
    here = [name for name, data in sources.items() if str(ROOT).encode() in data or str(Path.home()).encode() in data]
    assert not here, f"these name a folder of this machine: {here}"


def check_sdist(sdist: Path) -> None:
    """What is needed to compile."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = [file for suffix in ("py", "pyx", "pxd", "pyi") for file in SOURCES.rglob(f"*.{suffix}")]
    needed = {str(file.relative_to(ROOT)) for file in sources} | {"pyproject.toml", "setup.py", "LICENSE", "README.md"}
    assert needed <= names, f"missing: {sorted(needed - names)}"
    made = [name for name in names if name.endswith((".so", ".pyd", ".pyc"))]
    assert not made, f"built files: {made}"


def install(folder: Path, requirement: str) -> Path:
    """An empty environment with one thing installed; its folder of commands."""
    venv.create(folder, with_pip=True)
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    run(commands / "python", "-m", "pip", "install", "--quiet", requirement, cwd=folder)
    run(commands / "python", "-m", "pip", "check", cwd=folder)
    return commands


def fit(commands: Path) -> None:
    run(commands / "python", "-c", FIT, cwd=commands)


def command_without_extra(commands: Path) -> None:
    ended = subprocess.run([commands / "garrote", "demo"], cwd=commands, capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and "pip install 'garrote[cli]'" in ended.stderr, ended.stderr


def demo(commands: Path) -> None:
    printed = run(commands / "garrote", "demo", "--out", "demo", cwd=commands)
    assert "VariationalGarroteCV" in printed, printed
    reports = list((commands / "demo").rglob("*.html"))
    assert reports and all(file.stat().st_size > 10_000 for file in reports), f"reports: {reports}"


if __name__ == "__main__":
    sys.exit(main())
