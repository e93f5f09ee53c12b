"""Hypothesis profiles: the same few examples in every run of the tests, ten thousand new ones in ``make fuzz``."""

from fuzzing import NIGHTLY, TRIED
from hypothesis import settings

settings.register_profile("tests", derandomize=True, deadline=None)
settings.register_profile(NIGHTLY, max_examples=10_000, deadline=None, print_blob=True)
settings.load_profile("tests")


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--hypothesis-profile") == NIGHTLY:
        terminalreporter.section("examples tried")
        for name, count in sorted(TRIED.items()):
            terminalreporter.write_line(f"{count:8,} {name}")
        terminalreporter.write_line(f"{TRIED.total():8,} in all")
