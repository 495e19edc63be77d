"""From a real Slurm to the report: what is told equals what was seen by other means.

A small cluster plays a scenario (see `slurm_cluster.scenario`), in which every job writes down
itself when it begins and ends. The last tests take the servers away.
"""

from __future__ import annotations

import json
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from core.commands.calls import Called, call
from forestall.core.model.hostlist import expand
from forestall.core.model.job_records import NEVER
from forestall.slurm import commands
from forestall.slurm.read import ask
from forestall.slurm.records.node_events import NATURES
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.run import ENVIRONMENT
from slurm_cluster.cluster import GPUS, Cluster, why_not
from slurm_cluster.scenario import TOLERANCE, Run, Scenario, Truth

pytestmark = pytest.mark.slow


class Story(NamedTuple):
    """A cluster, and what truly happened there."""

    slurm: Cluster
    truth: Truth


@pytest.fixture(scope="module")
def played() -> Iterator[Story]:
    """Play the scenario once for all tests."""
    if reason := why_not():
        pytest.skip(reason)
    with Cluster() as slurm:
        yield Story(slurm, Scenario(slurm).play())


@pytest.fixture
def story(played: Story, monkeypatch: pytest.MonkeyPatch) -> Story:
    """Return the story, in an environment in which Slurm's commands find that cluster."""
    monkeypatch.setenv("SLURM_CONF", str(played.slurm.folder / "slurm.conf"))
    return played


@pytest.fixture
def site(story: Story) -> SiteRecords:
    """Return what forestall reads from the live cluster."""
    return ask(int(story.truth.began) - 3600)


@pytest.fixture(scope="module")
def book(played: Story) -> list[dict[str, str]]:
    """Return the rows of sacct in the plainest way, with the names of their jobs."""
    names = {str(job): name for name, job in played.truth.ids.items()}
    rows = played.slurm.book(
        "JobIDRaw", "State", "Submit", "Start", "End", "Suspended", "NNodes", "NodeList"
    )
    rows.sort(key=lambda row: row["Submit"])
    return [row | {"name": names[row["JobIDRaw"]]} for row in rows]


def spent(row: dict[str, str]) -> float:
    """Return the node-seconds of a row of `book` that has ended; its dates are in UTC."""
    if row["NodeList"] == "None assigned" or row["End"] == "Unknown":
        return 0
    begin, end = (int(np.datetime64(row[one], "s").astype(int)) for one in ("Start", "End"))
    hours, minutes, seconds = (int(part) for part in row["Suspended"].split(":"))
    return int(row["NNodes"]) * (end - begin - 3600 * hours - 60 * minutes - seconds)


def told(site: SiteRecords, truth: Truth) -> dict[str, list[int]]:
    """Return the rows of the accounting by name of the job, oldest first."""
    assert site.accounting is not None
    rows = defaultdict(list)
    names = {job: name for name, job in truth.ids.items()}
    for row, job in enumerate(site.accounting.job.tolist()):
        rows[names[job]].append(row)
    return rows


# ------------------------------------------------------------------------------ records


def test_every_run_is_there_and_no_other(story: Story, site: SiteRecords) -> None:
    assert site.accounting is not None
    base = site.accounting.base()
    rows = told(site, story.truth)
    for name in story.truth.ids:
        states = [base.words[base.code[row]] for row in rows[name]]
        assert states == [run.state for run in story.truth.of(name)], name
    assert len(site.accounting) == len(story.truth.runs)
    assert not site.cleanings().counts().keys() & {"not_told", "repeated", "id_again"}


def test_runs_began_ended_and_ran_where_they_did(story: Story, site: SiteRecords) -> None:
    records = site.accounting
    assert records is not None
    for name, rows in told(site, story.truth).items():
        for row, run in zip(rows, story.truth.of(name), strict=True):
            hosts = records.nodelist.words[records.nodelist.code[row]] if run.nodes else ""
            assert tuple(expand(hosts)) == run.nodes, run
            assert max(records.gpus[row], 0) == run.gpus, run
            same_time(int(records.start[row]), run.begin, run)
            same_time(int(records.end[row]), run.end if run.begin else None, run, run.begin is None)
            assert abs(int(records.suspended[row]) - run.stopped) <= TOLERANCE, run
            assert records.user.words[records.user.code[row]] == story.truth.users[name]


def same_time(told: int, seen: float | None, run: Run, free: bool = False) -> None:
    """Check a time against what was seen; `free` leaves the end of what never ran open."""
    if seen is None:
        assert free or told == NEVER, run
    else:
        assert abs(told - seen) <= TOLERANCE, run


def test_node_hours_by_state_equal_those_of_the_books(
    site: SiteRecords, book: list[dict[str, str]]
) -> None:
    """To the second, against a sum made by hand from the rows."""
    records = site.accounting
    assert records is not None
    by_hand: Counter[str] = Counter()
    for row in book:
        by_hand[row["State"].split()[0]] += int(spent(row))
    found: Counter[str] = Counter()
    base = records.base()
    ended = records.ran
    for code, units in zip(base.code[ended], records.node_seconds[ended], strict=True):
        found[base.words[code]] += int(units)
    assert +found == +by_hand


def test_what_users_avoided_is_told(story: Story, site: SiteRecords) -> None:
    assert site.accounting is not None
    (row,) = told(site, story.truth)["not n3"]
    excluded = site.accounting.excluded
    assert set(expand(excluded.words[excluded.code[row]])) == {"n3", "n4"}


def test_outages_are_those_that_were_seen(story: Story, site: SiteRecords) -> None:
    events = site.events
    assert events is not None
    found = {events.names[node]: row for row, node in enumerate(events.node.tolist())}
    assert len(events) == len(found) == len(story.truth.outages)
    for outage in story.truth.outages:
        row = found[outage.node]
        assert NATURES[events.nature[row]] == outage.nature, outage
        assert events.reason.words[events.reason.code[row]] == outage.reason
        assert abs(int(events.begin[row]) - outage.begin) <= TOLERANCE, outage
        if outage.end is None:
            assert int(events.end[row]) == NEVER
        else:
            assert abs(int(events.end[row]) - outage.end) <= TOLERANCE, outage


def test_nodes_are_those_of_the_cluster(story: Story, site: SiteRecords) -> None:
    nodes = site.inventory
    assert nodes is not None
    assert nodes.names == tuple(story.slurm.nodes)
    assert nodes.gpus.tolist() == [0, 0, 0, 0, GPUS, GPUS]
    assert nodes.partitions[0] == ("main", "spare")
    assert nodes.partitions[5] == ("gpu",)
    assert "DOWN" in nodes.state[5]


def test_an_estimate_is_when_the_job_in_the_way_reaches_its_limit(
    story: Story, site: SiteRecords
) -> None:
    estimates = site.estimates
    assert estimates is not None
    for name, start in story.truth.foreseen.items():
        (row,) = np.flatnonzero(estimates.job == story.truth.ids[name])
        # The backfill scheduler rounds up to its resolution, a minute.
        assert -TOLERANCE <= int(estimates.start[row]) - start <= 120
        assert abs(int(estimates.asked[row]) - time.time()) < 60


def test_no_rights_are_needed(story: Story) -> None:
    """Anybody gets the same answers from the commands that are run."""
    since = int(story.truth.began) - 3600
    for command in (
        commands.sacct(commands.SINCE_2020, since),
        commands.events(since),
        commands.nodes(),
        commands.partitions(),
    ):
        ours, theirs = (
            story.slurm.command(*command, env=dict(ENVIRONMENT), user=user).stdout
            for user in ("root", "daemon")
        )
        assert _lasting(theirs) == _lasting(ours)


def _lasting(text: str) -> list[str]:
    """Return the words of what does not change by itself from one second to the next."""
    lines = [line for line in text.splitlines() if "|RUNNING|" not in line]
    passing = ("CPULoad", "FreeMem", "CurrentWatts")
    return [word for word in " ".join(lines).split() if not word.startswith(passing)]


# ------------------------------------------------------------------------------ report


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """Return the report as JSON."""
    told = call(capsys, "report", *arguments, "--json", "--quiet")
    assert told.code == 0, told.err
    return json.loads(told.out)


def by_cause(made: dict[str, Any]) -> dict[str, tuple[int, float]]:
    """Return runs and node-hours by cause, the bound without checkpoints."""
    series = made["sections"]["losses"]["series"]
    units = {
        one["labels"]["cause"]: one["value"]
        for one in series
        if one["key"] == "by_cause"
        and one["unit"] == "node_hours"
        and one["labels"].get("bound", "upper") == "upper"
    }
    runs = {one["labels"]["cause"]: one["value"] for one in series if one["key"] == "runs"}
    return {cause: (runs[cause], units[cause]) for cause in units if runs[cause]}


def rule(run: Run) -> str:
    """Return the cause that the report's rules give: Slurm calls a job whose node an operator set
    down a failure of the node, and the outage that begins then tells whose doing it was."""
    return "operator_down" if run.cause == "operator" else run.cause


def test_the_report_counts_what_a_person_counts(
    story: Story, book: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    found = by_cause(report(capsys, "--slurm"))
    seen = Counter(rule(run) for run in story.truth.runs if run.begin is not None)
    assert {cause: runs for cause, (runs, _) in found.items()} == seen
    # Node-hours to the second, from the rows of the books and the causes that were seen.
    units: Counter[str] = Counter()
    of_job = {name: iter(story.truth.of(name)) for name in story.truth.ids}
    for row in book:
        units[rule(next(of_job[row["name"]]))] += int(spent(row))
    for cause in seen:
        if cause != "running":
            assert found[cause][1] == pytest.approx(units[cause] / 3600, abs=1e-9), cause


def test_the_report_is_near_what_the_clock_saw(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    found = by_cause(report(capsys, "--slurm"))
    causes = (
        "timeout",
        "node_failure",
        "operator_down",
        "preemption",
        "requeue",
        "operator_cancel",
    )
    for cause in causes:
        runs = [run for run in story.truth.runs if rule(run) == cause]
        seen = sum(len(run.nodes) * ((run.end or 0) - (run.begin or 0)) for run in runs)
        off = sum(len(run.nodes) for run in runs) * TOLERANCE
        assert abs(found[cause][1] * 3600 - seen) <= off, cause


def test_gpu_hours_lost_are_told_apart(
    story: Story, book: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    made = report(capsys, "--slurm")
    (found,) = (
        one["value"]
        for one in made["sections"]["losses"]["series"]
        if one["key"] == "by_cause"
        and one["unit"] == "gpu_hours"
        and one["labels"] == {"cause": "node_failure", "bound": "upper"}
    )
    wanted = {run.job for run in story.truth.runs if run.cause == "operator"}
    lost = [row for row in book if row["State"] == "NODE_FAIL" and row["name"] not in wanted]
    gpus = {run.job: run.gpus for run in story.truth.runs}
    assert found == pytest.approx(sum(spent(row) * gpus[row["name"]] for row in lost) / 3600)


def test_files_of_the_printed_commands_tell_the_same(
    story: Story, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The three lines that `forestall report` prints, run by a shell as they stand."""
    lines = commands.printed("$(date -u -d '-1 days' +%F)")
    story.slurm.command("sh", "-ec", "\n".join(lines), cwd=tmp_path)
    files = [tmp_path / name for name in ("jobs.txt", "events.txt", "nodes.txt")]
    live, read = by_cause(report(capsys, "--slurm")), by_cause(report(capsys, *files))
    assert {k: v for k, v in read.items() if k != "running"} == {
        k: v for k, v in live.items() if k != "running"
    }


def test_a_partition_is_reported_alone(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    found = by_cause(report(capsys, "--slurm", "--partition", "gpu"))
    runs = [run for run in story.truth.runs if run.begin and set(run.nodes) <= {"n5", "n6"}]
    assert {cause: count for cause, (count, _) in found.items()} == Counter(map(rule, runs))


def test_imported_traces_tell_the_same_and_hide_names(
    story: Story, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = by_cause(report(capsys, "--slurm"))
    for extra in ((), ("--anonymize",)):
        folder = tmp_path / ("plain" if not extra else "hidden")
        done = call(capsys, "import", "slurm", "--out", folder, *extra)
        assert done.code == 0, done.err
        read = by_cause(report(capsys, folder))
        assert read.keys() == live.keys()
        for cause in live.keys() - {"running"}:
            assert read[cause] == pytest.approx(live[cause]), (cause, extra)
    written = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    for secret in (b"daemon", b"games", b"takes too much", b"check_fs_mount"):
        assert secret not in written


def test_lemons_are_looked_for(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "lemons", "--slurm", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)


def figures(made: dict[str, Any], section: str, key: str) -> dict[str, float]:
    """Return the figures of a key, by their labels written together."""
    part = made["sections"][section]
    return {
        ",".join(one.get("labels", {}).values()): one["value"]
        for one in (*part["figures"], *part["series"])
        if one["key"] == key
    }


def test_outages_are_counted_by_what_they_were(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    made = report(capsys, "--slurm")
    faults = [one for one in story.truth.outages if one.nature == "fault"]
    wanted = [one for one in story.truth.outages if one.nature == "administrative"]
    assert figures(made, "nodes", "node_failures") == {"": len(faults)}
    down = figures(made, "losses", "down")
    seen = sum((one.end or 0) - one.begin for one in wanted)
    assert abs(down["administrative"] * 3600 - seen) <= TOLERANCE
    seen = sum((one.end or time.time()) - one.begin for one in faults)
    assert abs(down["fault"] * 3600 - seen) <= TOLERANCE * len(faults)


@pytest.mark.parametrize(
    "asked",
    [
        ("interval", "--nodes", "2", "--checkpoint-overhead", "5m"),
        ("spares", "--nodes", "2", "--hours", "24", "--target", "0.9"),
    ],
    ids=lambda asked: asked[0],
)
def test_what_follows_rests_on_the_same_failures(
    story: Story, capsys: pytest.CaptureFixture[str], asked: tuple[str, ...]
) -> None:
    done = call(capsys, asked[0], "--slurm", *asked[1:], "--json")
    assert done.code == 0, done.err
    measured = json.loads(done.out)["measured"]
    assert measured["failures"] == sum(one.nature == "fault" for one in story.truth.outages)


def test_a_young_database_is_not_taken_for_an_old_one(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    """Failures in two minutes of books must not be spread over the 90 days asked for."""
    done = call(capsys, "spares", "--slurm", "--nodes", "2", "--hours", "1", "--json")
    assert done.code == 0, done.err
    days = json.loads(done.out)["measured"]["node_days"]
    assert days <= len(story.slurm.nodes) * (time.time() - story.truth.began + 600) / 86_400
    made = report(capsys, "--slurm")
    assert abs(made["window"]["begin"] - story.truth.began) < 600
    assert any("and so the window" in source for source in made["sources"])


# ------------------------------------------------------------------------------ faults


def refused(capsys: pytest.CaptureFixture[str], within: float) -> Called:
    """Ask for a report that cannot be made; it must say so in one line and in time."""
    begin = time.monotonic()
    done = call(capsys, "report", "--slurm", "--quiet", "--timeout", "5s")
    assert time.monotonic() - begin < within
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert "Traceback" not in done.err
    return done


def test_without_the_controller_the_report_is_made_of_the_rest(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    """The accounting has jobs and outages; what the controller did not tell is named."""
    live = by_cause(report(capsys, "--slurm"))
    story.slurm.stop_controller()
    try:
        made = report(capsys, "--slurm", "--timeout", "20s")
    finally:
        story.slurm.start_controller()
    rest = by_cause(made)
    assert {k: v for k, v in rest.items() if k != "running"} == {
        k: v for k, v in live.items() if k != "running"
    }
    (remark,) = (one for one in made["odd"] if one["kind"] == "not_told")
    assert {example.split(":")[0] for example in remark["examples"]} >= {"nodes", "starts"}


def test_a_silent_accounting_is_given_up(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    story.slurm.signal("slurmdbd", signal.SIGSTOP)
    try:
        done = refused(capsys, within=30)
    finally:
        story.slurm.signal("slurmdbd", signal.SIGCONT)
    assert "sacct" in done.err


def test_an_accounting_that_is_gone_is_named(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    story.slurm.stop_accounting()
    try:
        done = refused(capsys, within=30)
    finally:
        story.slurm.start_accounting()
    assert "sacct: " in done.err


def test_a_missing_configuration_is_given_up(
    story: Story, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slurm's own commands try again for a minute."""
    monkeypatch.setenv("SLURM_CONF", str(story.slurm.folder / "nowhere.conf"))
    begin = time.monotonic()
    done = call(capsys, "report", "--slurm", "--quiet")  # with ten minutes of patience
    assert time.monotonic() - begin < 30
    assert done.code == 2
    assert "sacct: Slurm has no configuration here" in done.err
    assert "sacct: " in refused(capsys, within=30).err


def test_all_is_well_afterwards(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    """The servers that were taken away are back. A controller that starts again makes the
    accounting forget who cancelled the jobs that it still remembers."""

    def plain(cause: str) -> str:
        return "cancel" if "cancel" in cause else cause

    found: Counter[str] = Counter()
    for cause, (runs, _) in by_cause(report(capsys, "--slurm")).items():
        found[plain(cause)] += runs
    begun = [run for run in story.truth.runs if run.begin is not None]
    assert found == Counter(plain(rule(run)) for run in begun)
