"""How many nodes a site has: those that its inventory, its outages and its runs name."""

from __future__ import annotations

from typing import Any

from books_cases import accounts, outages
from forestall.site.losses import losses as losses_section
from forestall.site.summary import headline, known_nodes
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked

DAY = 86_400
ASKED = Asked(0, DAY)
RUNS: list[dict[str, Any]] = [
    {"start": 0, "end": DAY, "nodes": 2, "nodelist": "n[1-2]", "state": "COMPLETED"},
    {"start": 0, "end": DAY, "nodes": 1, "nodelist": "n3", "state": "COMPLETED"},
]


def sited(**more: Any) -> SiteRecords:
    events = outages([{"node": "n3", "begin": 0, "end": 9}, {"node": "n4", "begin": 0, "end": 9}],
                     (0, DAY))  # fmt: skip
    return SiteRecords(accounts(RUNS, until=DAY, **more), events)


def test_nodes_are_those_of_outages_and_of_runs() -> None:
    assert known_nodes(sited()) == 4
    assert known_nodes(SiteRecords(sited().accounting)) == 3
    assert known_nodes(SiteRecords(events=sited().events)) == 2
    assert ", 4 nodes;" in headline(sited(), ASKED)


def test_a_machine_said_to_be_larger_is_larger() -> None:
    assert known_nodes(sited(machine_nodes=9)) == 9
    assert known_nodes(sited(machine_nodes=3)) == 4


def test_nodes_without_outages_count_as_idle_or_held() -> None:
    table = next(one for one in losses_section.section(sited(), ASKED).tables
                 if one.key == "capacity")  # fmt: skip
    assert table.title == "How the time of 4 nodes in the window was used"
