"""What plain ``pip install garrote`` brings in has a licence, and none is of the GPL family."""

import importlib.util
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def licences():
    spec = importlib.util.spec_from_file_location("licences", ROOT / "tools" / "licences.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_runtime_dependencies_state_a_licence_other_than_the_gpl(licences):
    assert licences.faults() == []


def test_dependencies_of_dependencies_count(licences):
    assert {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"} <= licences.needed()
    assert "click" not in licences.needed()
    assert {"click", "jinja2", "markupsafe"} <= licences.needed(("cli",))


@pytest.mark.parametrize(
    "stated", ["GPL-3.0-or-later", "GNU General Public License v3 (GPLv3)", "MIT AND LGPL-2.1-only"]
)
def test_gpl_is_recognised(licences, stated, monkeypatch):
    assert licences.is_gpl(stated)
    monkeypatch.setattr(licences, "licence", lambda name: stated if name == "joblib" else "MIT")
    assert licences.faults() == [f"joblib is under {stated}."]


def test_a_missing_licence_is_a_fault(licences, monkeypatch):
    monkeypatch.setattr(licences, "licence", lambda name: "" if name == "joblib" else "MIT")
    assert licences.faults() == ["joblib states no licence."]


@pytest.mark.parametrize("stated", ["BSD-3-Clause", "BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1"])
def test_permissive_licences_are_no_fault(licences, stated):
    assert not licences.is_gpl(stated)


def test_the_page_lists_every_dependency_that_the_project_names():
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for extra, lines in project["optional-dependencies"].items() if extra != "release" for line in lines]
    names = {Requirement(line).name for line in project["dependencies"] + extras} - {"garrote"}
    assert [name for name in sorted(names) if f"| {name} |" not in page] == []
