"""Every table and figure of the paper at its smallest size, with the claims that it checks.

Numbers come from the experiments themselves, so a claim that fails here fails on the page as well.
"""

import pytest

from garrote.paper import ITEMS, load
from garrote.paper.item import Settings
from garrote.paper.output import write
from garrote.paper.runner import run
from garrote.paper.style import styled

QUICK = Settings(quick=True)
#: Item → how many runs of the quick size are enough for its claims.
RUNS = {
    "table1": 3,
    "table2": 3,
    "fig-noise": 1,
    "fig-consistency": 10,
    "table-consistency": 10,
    "fig-scaling": 1,
}
#: Claims that need more instances than that, or that do not hold; what the full size says is in docs/reproduction.md.
NOT_AT_THIS_SIZE = {
    "table1": ["cells beyond two standard errors"],
    "table2": ["cells beyond two standard errors"],
    "fig-scaling": ["VG is faster than PMF at n = 100"],
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Each item is regenerated once."""
    out, made = tmp_path_factory.mktemp("paper"), {}

    def regenerate(name):
        if name not in made:
            item = load(name)
            instances = [i for i in item.instances(QUICK) if i.parameters.get("run", 0) < RUNS.get(name, 1)]
            small = type(item)(item.name, item.caption, lambda settings: instances, item.report)
            with styled():
                made[name], _ = run(small, QUICK, out, 1)
            write(small, made[name], out)
        return made[name], out

    return regenerate


@pytest.mark.parametrize("name", ITEMS)
def test_claims_hold(reports, name):
    report, _ = reports(name)
    failed = [check for check in report.checks if not check.holds]
    expected = NOT_AT_THIS_SIZE.get(name, [])
    unexpected = [f"{c.claim}: {c.evidence}" for c in failed if not any(c.claim.startswith(e) for e in expected)]
    assert not unexpected
    assert len(report.checks) > len(expected)


@pytest.mark.parametrize("name", ITEMS)
def test_no_instance_warns_and_all_files_are_there(reports, name):
    report, out = reports(name)
    assert not [note for note in report.notes if "warned" in note]
    for suffix in (".csv", ".md", ".png", ".svg"):
        assert (out / f"{name}{suffix}").stat().st_size > 100
    assert all(list(row) == list(report.numbers[0]) for row in report.numbers)


@pytest.mark.parametrize("name", ITEMS)
def test_axes_are_labelled(reports, name):
    report, _ = reports(name)
    axes = [axis for axis in report.figure.axes if axis.get_label() != "<colorbar>"]
    shared = report.figure.get_supxlabel()
    for axis in axes:
        labelled = axis.get_xlabel() or shared or any(other.get_xlabel() for other in axes)
        assert labelled and (axis.get_ylabel() or any(other.get_ylabel() for other in axes) or name.startswith("table"))
