"""Every table and figure of the paper, regenerated at the smallest size at which its claims can be decided.

The claims are those of the page: what fails there fails here, but for the one that is known not to hold.
"""

import pytest

from garrote.paper import ITEMS, load
from garrote.paper.item import Item, Settings
from garrote.paper.output import write
from garrote.paper.runner import run
from garrote.paper.style import styled

#: Runs of the quick size that are enough; where an item is not named, its first one.
RUNS = {
    "table1": 20,
    "table2": 20,
    "fig-noise": 2,
    "fig-consistency": 20,
    "table-consistency": 10,
    "fig-scaling": 2,
}
#: Claims about processor time belong on the page, not into a test.
TIMINGS = ("VG: CPU time", "VG is faster")
#: The paper's Lasso saturates as noise vanishes; where its minimum is found to 1e-7, it does not.
REFUTED = ("the Lasso saturates",)


@pytest.mark.parametrize("name", ITEMS)
def test_item_is_regenerated_and_its_claims_hold(name, tmp_path):
    settings, item = Settings(quick=True), load(name)
    instances = [i for i in item.instances(settings) if i.parameters.get("run", 0) < RUNS.get(name, 1)]
    small = Item(item.name, item.caption, lambda settings: instances, item.report)
    with styled():
        report, n_computed = run(small, settings, tmp_path, n_jobs=1)
    write(small, report, tmp_path)

    assert n_computed == len(instances)
    claims = [check for check in report.checks if not check.claim.startswith(TIMINGS + REFUTED)]
    assert len(claims) >= 3
    assert not [f"{check.claim}: {check.evidence}" for check in claims if not check.holds]
    assert not [note for note in report.notes if "warned" in note]
    for suffix in (".csv", ".md", ".png", ".svg"):
        assert (tmp_path / f"{name}{suffix}").stat().st_size > 100
    assert all(list(row) == list(report.numbers[0]) for row in report.numbers)
    assert all(axis.get_xlabel() or axis.get_ylabel() or axis.get_title() for axis in report.figure.axes)
