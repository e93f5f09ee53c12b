"""Tests that Hypothesis drives: a few examples when all tests are run, many in ``make fuzz``."""

import functools
import math
import os
import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import UnsatisfiedAssumption

#: The profile of ``make fuzz``.
NIGHTLY = "nightly"

#: Seconds that each test may take in ``make fuzz``; examples that come later are not tried, nor counted.
SECONDS = float(os.environ.get("FUZZ_SECONDS", "inf"))

#: How many examples of each test passed, in this process.
TRIED: Counter[str] = Counter()


def fuzz(*, few, **strategies):
    """A test of drawn arguments, with ``few`` examples, or as many as the profile of ``make fuzz`` says."""

    def decorate(test):
        at_night = settings.default.max_examples >= 10_000
        deadline = []

        @functools.wraps(test)
        def counted(*args, **kwargs):
            if not deadline:
                deadline.append(time.monotonic() + SECONDS if at_night else math.inf)
            if time.monotonic() > deadline[0]:
                return
            try:
                test(*args, **kwargs)
            except UnsatisfiedAssumption:
                raise
            except Exception:
                deadline[0] = math.inf  # Hypothesis will repeat and simplify the example
                raise
            TRIED[test.__name__] += 1

        examples = settings.default.max_examples if at_night else few
        drawn = given(**strategies)(counted)
        return pytest.mark.fuzz(settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])(drawn))

    return decorate
