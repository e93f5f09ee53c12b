"""The README's example prints what the README says."""

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_its_output():
    code = re.search(r"```python\n(import numpy.*?)```\n\n```\n(.*?)```", README, flags=re.DOTALL)
    assert code is not None
    printed = subprocess.run([sys.executable, "-c", code[1]], capture_output=True, text=True, check=True).stdout
    assert printed == code[2]


def test_the_demo_runs_and_writes_its_report(tmp_path):
    command = [Path(sys.executable).parent / "garrote", "demo", "--out", tmp_path / "out"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (tmp_path / "out" / "report.txt").read_text(encoding="utf-8").strip() == shown.strip()
    for expected in ("feature", "inclusion", "coefficient", "noise level", "gamma", "LassoCV", "RidgeCV", "test error"):
        assert expected in shown
    for name in ("report.html", "diabetes.html"):
        assert "features carry the signal" in (tmp_path / "out" / name).read_text(encoding="utf-8")


def test_an_unwritable_directory_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    command = [Path(sys.executable).parent / "garrote", "demo", "--out", tmp_path / "file" / "out"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "Not a directory" in run.stderr
    assert "Traceback" not in run.stderr
