"""The docs: the whole site builds without a warning, its links lead somewhere, its home page works in a browser."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from browser import DESKTOP, PHONE, browser, visit  # noqa: F401  (browser is a fixture)

ROOT = Path(__file__).parent.parent


def build(folder):
    """The site, built by the commands of ``make docs`` from a copy: Sphinx writes beside its sources."""
    made = shutil.ignore_patterns("_build", "_generated", "auto_gallery")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=made)
    for name in ("README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder / name)
    rule = re.search(r"^docs:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for line in rule[1].splitlines():
        command = line.strip().replace("$(BIN)/python", sys.executable).split()
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
    return folder / "docs" / "_build" / "html"


def test_the_site(browser, tmp_path):  # noqa: F811
    """One test, because tests run in several processes and the site is worth building only once."""
    site = build(tmp_path)
    check_gallery(site)
    for width in (PHONE, DESKTOP):
        check_home_page(browser, site, width)
    for name in ("theory", "api", "auto_gallery/plot_path", "benchmarks", "design"):
        with visit(browser, site / f"{name}.html", width=DESKTOP) as seen:
            assert (seen.errors, seen.network_requests) == ([], []), name


def check_gallery(site):
    """Every example ran and made a picture."""
    examples = {file.stem for file in (ROOT / "docs" / "gallery").glob("plot_*.py")}
    assert len(examples) >= 8
    for name in examples:
        assert list((site / "_images").glob(f"sphx_glr_{name}_001*.png")), name


def check_home_page(browser, site, width):  # noqa: F811
    with visit(browser, site / "index.html", width=width) as seen:
        page = seen.page
        assert page.locator("h1").inner_text().startswith("garrote")
        assert page.locator("article img").evaluate("(image) => image.naturalWidth") > 1000
        assert page.locator("article .sd-card").count() == 7
        assert seen.overflow <= 0
        page.locator("article .sd-card").first.click()
        assert page.locator("h1").inner_text().startswith("User guide")
        assert seen.errors == []
        assert seen.network_requests == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "index.html").write_text('<a href="other.html#here">x</a> <a href="gone.html">y</a>', encoding="utf-8")
    (tmp_path / "other.html").write_text('<p id="there"></p>', encoding="utf-8")
    command = [sys.executable, ROOT / "docs" / "check_links.py", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stdout.splitlines() == [
        "index.html links to other.html#here, which has no such anchor",
        "index.html links to gone.html, which is not there",
    ]
