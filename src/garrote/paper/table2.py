"""table2: Example 2, five features of weight 1 among 100 correlated ones."""

from __future__ import annotations

from garrote.paper.examples_table import instances, report
from garrote.paper.item import Item, Report, Row
from garrote.paper.published import TABLE2


def _report(rows: list[Row]) -> Report:
    return report(rows, TABLE2)


ITEM = Item(
    "table2", "Example 2: 50 training, 50 validation, 400 test samples, 100 features, ζ = 0.5.", instances(2), _report
)
