"""A pytest plugin: mutmut 3.8 asks a test for ``_nodeid``, which newer versions of pytest call ``nodeid`` only."""

import pytest

if not hasattr(pytest.Item, "_nodeid"):
    pytest.Item._nodeid = property(lambda item: item.nodeid)
