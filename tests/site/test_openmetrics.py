"""Figures for Prometheus: names, and labels that tell reports apart and name nobody."""

from __future__ import annotations

from typing import Any

from forestall.core.model.cleaning import Cleaning
from forestall.core.show.as_json import odd_json
from forestall.core.show.facts import Fact
from forestall.core.show.report import Section
from forestall.site.report import RENAMED, SiteFindings, openmetrics
from forestall.slurm.sources.asked import Asked

DAY = 86_400
T0 = 1_700_000_000


def with_figures(*figures: Fact, **asked: Any) -> SiteFindings:
    section = Section("losses", "Losses", "", figures)
    return SiteFindings(
        Asked(T0, T0 + DAY, **asked), True, "", (section,), (), (), Cleaning(), (), {"a": "1"}
    )


def samples(made: SiteFindings) -> dict[str, float]:
    lines = [one for one in openmetrics(made).splitlines() if not one.startswith("#")]
    told = dict(line.rsplit(" ", 1) for line in lines)
    assert len(told) == len(lines)
    return {name: float(value) for name, value in told.items()}


def test_the_cut_is_a_label_of_every_series() -> None:
    """Else two reports of one machine would hold the same series."""
    figures = (
        Fact("down", "Down", 2.0, "node_hours", 3, low=1.0, high=3.0),
        Fact("rate", "Rate", 1.0, "count", 3, labels={"partition": "gpu"}),
    )
    whole, cut = (
        samples(with_figures(*figures)),
        samples(with_figures(*figures, partition="gpu", min_nodes=4)),
    )
    assert not set(whole) & set(cut)
    assert len(whole) == len(cut)
    assert all('min_nodes="4"' in name and 'partition="gpu"' in name for name in cut)
    assert 'forestall_rate{partition="gpu",asked_partition="gpu",min_nodes="4"}' in cut
    assert whole["forestall_capacity_down_node_seconds"] == 7200
    assert whole['forestall_figure_records{figure="capacity_down"}'] == 3


def test_names_of_users_and_jobs_are_no_labels() -> None:
    def saved(value: float | None, low: float | None = None, **labels: str) -> Fact:
        why = "" if value is not None else "not told"
        return Fact("advice_saves", "Would have saved: Have ann stop", value, "node_hours", 1,
                    low=low, high=low, labels=labels, why=why)  # fmt: skip

    made = with_figures(
        saved(1.0, 0.5, kind="limit", user="ann", name="train"),
        saved(2.0, 0.5, kind="limit", user="bob", name="train"),
        saved(None, None, kind="limit", user="eve", name="train"),
        saved(4.0, 1.0, kind="timeout", user="ann", name="post"),
        saved(8.0, 3.0, kind="node", node="n1"),
        Fact("kept", "Kept: ann", 0.5, "ratio", 1, labels={"user": "ann"}),
    )
    text = openmetrics(made)
    assert not any(word in text for word in ("ann", "bob", "eve", "train", "post"))
    told = samples(made)
    assert told['forestall_advice_saves_node_seconds{kind="limit"}'] == 3 * 3600
    assert told['forestall_advice_saves_node_seconds{kind="timeout"}'] == 4 * 3600
    assert told['forestall_advice_saves_node_seconds{kind="node",node="n1"}'] == 8 * 3600
    assert told['forestall_advice_saves_low_node_seconds{kind="node",node="n1"}'] == 3 * 3600
    assert not any("low" in name and "limit" in name for name in told)
    assert not any("kept" in name for name in told)


def test_other_names_in_prometheus_are_no_keys_of_figures_too() -> None:
    assert not set(RENAMED) & set(RENAMED.values())


def test_examples_in_json_name_no_folders() -> None:
    odd = Cleaning().plus("odd", "rows", "kept", ["/home/ann/" + "x" * 200 + "/jobs.txt line 7"])
    assert odd_json(odd)[0]["examples"] == ["jobs.txt line 7"]
