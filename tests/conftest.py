"""Hypothesis profiles: the same few examples in every run of the tests, ten thousand new ones in ``make fuzz``."""

import signal

import pytest
from fuzzing import NIGHTLY, TRIED
from hypothesis import settings

settings.register_profile("tests", derandomize=True, deadline=None)
settings.register_profile(NIGHTLY, max_examples=10_000, deadline=None, print_blob=True)
settings.load_profile("tests")

# A shell that starts the tests in the background has Ctrl-C ignored, by them and by every process that they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Put the number of examples into the report of the test, which may be made in another process."""
    before = TRIED.total()
    try:
        return (yield)
    finally:
        item.user_properties.append(("examples", TRIED.total() - before))


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--hypothesis-profile") != NIGHTLY:
        return
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.stats.get(outcome, ())]
    counts = {r.nodeid: dict(r.user_properties).get("examples", 0) for r in reports if r.when == "call"}
    terminalreporter.section("examples tried")
    for name, count in sorted(counts.items()):
        terminalreporter.write_line(f"{count:10,} {name}")
    terminalreporter.write_line(f"{sum(counts.values()):10,} in all")
