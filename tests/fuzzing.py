"""Tests that Hypothesis drives: a few examples when all tests are run, many in ``make fuzz``."""

import functools
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

#: The profile of ``make fuzz``.
NIGHTLY = "nightly"

#: How many examples of each test passed, in this process.
TRIED: Counter[str] = Counter()


def fuzz(*, few, nightly=None, **strategies):
    """A test of drawn arguments, with ``few`` examples, or as many as the profile of ``make fuzz`` says.

    ``nightly`` is less than that for a test whose examples are slow.
    """

    def decorate(test):
        @functools.wraps(test)
        def counted(*args, **kwargs):
            test(*args, **kwargs)
            TRIED[test.__name__] += 1

        at_night = settings.default.max_examples >= 10_000
        examples = min(nightly or settings.default.max_examples, settings.default.max_examples) if at_night else few
        drawn = given(**strategies)(counted)
        return pytest.mark.fuzz(settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])(drawn))

    return decorate
