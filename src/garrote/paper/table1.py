"""table1: Example 1, one feature of weight 1 among 100 independent ones."""

from __future__ import annotations

from garrote.paper.examples_table import instances, report
from garrote.paper.item import Item, Report, Row
from garrote.paper.published import TABLE1


def _report(rows: list[Row]) -> Report:
    return report(rows, TABLE1)


ITEM = Item("table1", "Example 1: 50 training, 50 validation, 400 test samples, 100 features.", instances(1), _report)
