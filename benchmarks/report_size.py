"""The report of a fit to 100 000 features: its size, and the seconds a browser takes until all its panels are drawn."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
from playwright.sync_api import sync_playwright

from garrote import VariationalGarroteCV
from garrote.report import render

N_SAMPLES, N_FEATURES = 200, 100_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def page() -> str:
    """The report of a simulated problem with ten relevant features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_SAMPLES, N_FEATURES), dtype=np.float32)
    y = X[:, rng.choice(N_FEATURES, 10, replace=False)].sum(axis=1) + rng.standard_normal(N_SAMPLES)
    names = [f"feature {i}" for i in range(N_FEATURES)]
    start = perf_counter()
    model = VariationalGarroteCV(ridges=[0.0]).fit(X, y)
    fitted = perf_counter()
    html = render(model, X, y, names=names, title="10⁵ features", command="python benchmarks/report_size.py", seed=0)
    print(f"fit {fitted - start:.1f} s, report {perf_counter() - fitted:.1f} s, {len(html.encode()) / 1e6:.2f} MB")
    return html


def opening_seconds(file: Path, repeats: int = 5) -> list[float]:
    """Seconds from the address to the load event, by when the panels are drawn; each time in a fresh window."""
    seconds = []
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(
            executable_path=found, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        for _ in range(repeats):
            window = browser.new_page()
            start = perf_counter()
            window.goto(file.as_uri())
            seconds.append(perf_counter() - start)
            assert window.locator(".panel .main-svg").count() > 0
            window.close()
        browser.close()
    return seconds


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        file.write_text(page(), encoding="utf-8")
        seconds = opening_seconds(file)
        print("opens in " + ", ".join(f"{value:.2f}" for value in seconds) + " s")
