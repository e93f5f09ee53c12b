"""The commands of the README, run one after the other as they are written there."""

import os
import re
import subprocess
import sys
from pathlib import Path

from command_line import files

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_every_command_of_the_readme_runs(tmp_path):
    commands = re.search(r"```sh\n(.*?)```", README, flags=re.DOTALL)[1].splitlines()
    assert {line.split()[1] for line in commands if line.startswith("garrote")} >= {"fit", "predict", "info", "compare"}
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for line in commands:
        run = subprocess.run(
            line, shell=True, cwd=tmp_path, env=os.environ | path, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, f"{line}\n{run.stderr}"
    assert {"model.json", "coefficients.csv", "path.csv", "report.html"} <= files(tmp_path / "results" / "diabetes")
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 443
