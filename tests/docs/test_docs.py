"""The documentation is true: examples run, tables are complete, links lead somewhere.

In README.md and docs/, blocks of `console` (commands begin with "$ ") and `python` run in order,
a page at a time, in a folder that holds nothing but `jobs.swf` and `failures.csv`. A block of
`toml` that begins with "# NAME.toml", or whose title is a file name, is written there. Those below
``<!-- real logs -->`` run where the real logs are, others below ``<!-- not run: WHY -->`` never.
Output that is shown must come out: numbers may differ, the words that begin a line may not.
"""

from __future__ import annotations

import doctest
import importlib
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import typer

import forestall
import study_calls
from core.commands.calls import call
from forestall.core.commands.questions import REACHING
from forestall.core.commands.registry import placed
from forestall.core.kit.model import Model
from forestall.core.show.result import ShownResult
from forestall.live.serving.settings import LiveSettings, read_live_settings
from forestall.machines.fleet.fleet import read_fleet
from forestall.machines.fleet.hosts_file import read_hosts
from forestall.machines.report.result import VirtualResult
from forestall.machines.settings import VIRTUAL
from forestall.runs.commands.application import app
from forestall.runs.commands.entry import main
from forestall.runs.settings import settings_of
from forestall.scheduling.machine import read_machine
from forestall.scheduling.report.result import Result
from forestall.scheduling.settings import PROMISE
from forestall.sharing.report.result import CycleResult
from forestall.sharing.settings import CYCLE
from studies.kit.commands import group

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
REFERENCE = ROOT / "docs" / "reference"
IDS = [str(page.relative_to(ROOT)) for page in PAGES]

REAL_LOGS = {
    "NASA-iPSC-1993-3.1-cln.swf.gz": "nasa-ipsc-1993",
    "KTH-SP2-1996-2.swf.gz": "swf-misc",
    "LA-UR-05-7318-failure-data-1996-2005.csv.gz": "lanl-failures-1996-2005",
}


class Block(NamedTuple):
    """A fenced block: its language, its title, its text, and the comment above it."""

    language: str
    title: str
    text: str
    mark: str


def blocks(page: Path) -> list[Block]:
    found = re.finditer(
        r"(?:^<!-- (?P<mark>.*?) -->\n)?"
        r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$',
        page.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    return [
        Block(one["language"], one["title"] or "", one["text"], one["mark"] or "") for one in found
    ]


def chosen(page: Path, mark: str) -> list[Block]:
    return [b for b in blocks(page) if b.language in {"console", "python"} and b.mark == mark]


def named_files(page: Path) -> dict[str, str]:
    """The files that a page shows: blocks with their name as a title or as a first comment."""
    named = re.compile(r"# ([\w-]+\.(?:toml|py))\n")
    titled = {b.title: b.text for b in blocks(page) if b.title}
    found = (named.match(b.text) for b in blocks(page) if b.language in {"toml", "python"})
    return {one[1]: one.string for one in found if one} | titled


# ------------------------------------------------------------------------------------ examples


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs that the tutorial makes, and that other pages begin with."""
    folder = tmp_path_factory.mktemp("logs")
    for block in blocks(ROOT / "docs" / "tutorial.md"):
        for line in block.text.splitlines():
            if line.startswith("$ forestall traces generate"):
                words = shlex.split(line)[2:]
                out = next(k for k, word in enumerate(words) if "." in word)
                words[out] = str(folder / words[out])
                assert main(words) == 0
    assert {path.name for path in folder.iterdir()} == {"jobs.swf", "failures.csv"}
    return folder


def run_page(page: Path, mark: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "example"}
    for name, text in named_files(page).items():
        Path(name).write_text(text, encoding="utf-8")
    for block in chosen(page, mark):
        if block.language == "python":
            exec(compile(block.text, str(page), "exec"), names)
            continue
        for command, shown in commands_of(block.text):
            words = shlex.split(command)
            if words[:3] == ["python", "-m", "studies"]:
                done = study_calls.call(capsys, *words[3:])
            else:
                assert words[0] == "forestall", command
                done = call(capsys, *words[1:])
            assert done.code == 0, f"{command}\n{done.err}"
            check_shown(command, shown, done.out)


def commands_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a block with the lines of output that are shown below it."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert parts[0].strip() == "", "a console block begins with a command"
    for part in parts[1:]:
        command, *shown = part.splitlines()
        yield command, [line for line in shown if line.strip()]


def beginning(line: str) -> str:
    """The words that begin a line, up to its first figure or column."""
    return re.split(r"\s{2,}|\.\.\.", re.sub(r"[\d,.]*\d", "0", line.strip()))[0].strip()


def check_shown(command: str, shown: list[str], out: str) -> None:
    left = [beginning(line) for line in out.splitlines() if line.strip()]
    for line in shown:
        if line.strip() == "...":
            continue
        wanted = beginning(line)
        place = next((k for k, one in enumerate(left) if one.startswith(wanted)), None)
        assert place is not None, f"{command}: no line begins with {wanted!r} in\n{out}"
        left = left[place + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if chosen(p, "")], ids=lambda p: str(p.relative_to(ROOT))
)
def test_examples_run(
    page: Path,
    logs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for log in logs.iterdir():
        (tmp_path / log.name).write_bytes(log.read_bytes())
    run_page(page, "", capsys)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if chosen(p, "real logs")], ids=lambda p: p.stem)
def test_examples_on_real_logs_run(
    page: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, folder in REAL_LOGS.items():
        if not (data / folder / name).is_file():
            pytest.skip(f"{name} is not among the real traces")
        (tmp_path / name).symlink_to((data / folder / name).resolve())
    run_page(page, "real logs", capsys)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_blocks_are_marked_as_they_should_be(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") % 2 == 0
    for block in blocks(page):
        assert block.language in {"console", "python", "sh", "toml", "csv"}
        assert block.mark in {"", "real logs"} or block.mark.startswith("not run: ")
        if block.language == "python":
            compile(block.text, str(page), "exec")
        if block.language == "console":
            assert list(commands_of(block.text))


def test_toml_examples_are_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = [block.text for page in PAGES for block in blocks(page) if block.language == "toml"]
    shown = [text for text in shown if "[serve]" not in text]  # tests/docs/test_api_page.py
    machines = [text for text in shown if "[[nodes]]" in text]
    shown = [text for text in shown if text not in machines]
    others = ("[[groups]]", "[nodes]", "[migration]", "[warden]", "[messages]", "[hosts.")
    runs = [text for text in shown if not any(name in text for name in others)]
    fleets = [text for text in shown if "[nodes]" in text]
    many = [text for text in shown if "[hosts." in text]
    guards = [text for text in shown if "[warden]" in text]
    live = [text for text in shown if "[messages]" in text]
    assert runs
    assert fleets
    assert guards
    assert many
    assert machines
    for text in machines:
        (tmp_path / "machine.toml").write_text(text)
        assert len(read_machine(tmp_path / "machine.toml")) > 0
    for text in many:
        (tmp_path / "fleet.toml").write_text(text)
        assert read_hosts(tmp_path / "fleet.toml") is not None
    plain = LiveSettings()
    for text in guards:
        (tmp_path / "guard.toml").write_text(text, encoding="utf-8")
        assert replace(read_live_settings(tmp_path / "guard.toml"), given=frozenset()) != plain
    assert live
    for text in live:
        (tmp_path / "forestall.toml").write_text(text, encoding="utf-8")
        assert read_live_settings(tmp_path / "forestall.toml").messages.tells
    for text in fleets:
        (tmp_path / "fleet.toml").write_text(text, encoding="utf-8")
        assert read_fleet(tmp_path).nodes
    for text in runs:
        (tmp_path / "run.toml").write_text(text, encoding="utf-8")
        command = COMMANDS["simulate",]
        context = command.make_context("simulate", ["jobs.swf", "--settings", "run.toml"])
        assert context.default_map.keys() == {one.replace("-", "_") for one in tomllib.loads(text)}
        assert settings_of(Path("jobs.swf"), context.default_map)


# ------------------------------------------------------------------------------------- tables


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all commands, groups that do something by themselves among them."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "plain"):  # one section: what is of a model alone has tables of its own
            yield (*path, name), command.plain
        elif hasattr(command, "commands"):
            if command.invoke_without_command:
                yield (*path, name), command
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))
RESEARCH = dict(commands(placed(typer.main.get_command(group(())), ())))
"""What `python -m studies` has besides studies."""


def whole(page: Path) -> str:
    """The text of a page, or of all the pages of a folder."""
    pages = sorted(page.glob("*.md")) if page.is_dir() else [page]
    return "\n".join(one.read_text(encoding="utf-8") for one in pages)


def sections(page: Path) -> dict[str, str]:
    """Each heading's text with what stands below it, up to the next heading of any level; of a
    page, or of all the pages of a folder."""
    parts = re.split(r"^#+ (.*)$", whole(page), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def with_shared(section: str, pages: Path) -> str:
    """A section and the shared ones on the pages beside it that it takes all or most of."""
    every = {slug(heading): text for heading, text in sections(pages).items()}
    links = re.findall(r"\]\((?:[\w-]+\.md)?#([\w-]+)\)", section)
    return section + "".join(every[link] for link in links)


def rows(text: str) -> set[str]:
    """What stands in backticks in the first cells of tables, without placeholders."""
    cells = re.findall(r"^\| (.*?) \|", text, flags=re.MULTILINE)
    return {word.split()[0] for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize(
    ("program", "path"),
    [*(("forestall", path) for path in COMMANDS),
     *(("python -m studies", path) for path in RESEARCH)],
    ids=str,
)  # fmt: skip
def test_every_command_and_option_is_documented(program: str, path: tuple[str, ...]) -> None:
    pages, heading = REFERENCE / "cli", " ".join((program, *path))
    section = sections(pages).get(heading)
    assert section is not None, f"no page of cli has a heading {heading!r}"
    documented = rows(with_shared(section, pages))
    there = {
        option
        for parameter in (COMMANDS if program == "forestall" else RESEARCH)[path].params
        if parameter.param_type_name == "option" and parameter.name not in {"help", *REACHING}
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert there <= documented, f"not documented: {sorted(there - documented)}"
    stale = rows(section) - there
    assert not stale, f"documented, but not there: {sorted(stale)}"


PARAMETER_TABLES = [
    ("Parameters", PROMISE),
    ("Virtual machines", VIRTUAL),
    ("Cycle sharing", CYCLE),
]


@pytest.mark.parametrize(("heading", "model"), PARAMETER_TABLES)
def test_every_parameter_is_documented(heading: str, model: Model) -> None:
    assert rows(sections(REFERENCE / "parameters")[heading]) == set(model.fields)


@pytest.mark.parametrize(("heading", "model"), PARAMETER_TABLES)
def test_documented_defaults_are_the_true_ones(heading: str, model: Model) -> None:
    text = sections(REFERENCE / "parameters")[heading]
    table = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", text, flags=re.MULTILINE))
    defaults = dict(model.parameters())
    assert set(table) == set(defaults)
    for name, told in table.items():
        value = defaults[name]
        plain = "none" if value is None else str(value).lower()
        if model.declared[name].setting.unit and value is not None:
            plain += f" {model.declared[name].setting.unit}"
        assert re.match(rf"{re.escape(plain)}\b", told.replace("`", "")), f"{name}: {told}"


def small_run(**more: Any) -> Result:
    jobs = forestall.Jobs.build(submit=[0, 10], size=[2, 4], runtime=[600, 60])
    failures = forestall.Failures.build([300], [0], [60])
    result: Result = forestall.simulate(jobs, failures, nodes=4, accuracy=0.0, **more)
    return result


def measures_text(model: str = "promise") -> str:
    """What measures.md says of the measures of a model."""
    page = (REFERENCE / "measures.md").read_text(encoding="utf-8")
    before, _, after = page.partition("## Virtual machines")
    for section in ("## Users who bargain", "## Nodes near each other"):  # of some runs only
        before = before.replace(before.partition(section)[2].partition("\n## ")[0], "")
    virtual, _, cycle = after.partition("## Cycle sharing")
    return {"virtual": virtual, "cycle": cycle}.get(model, before)


def virtual_run(**more: Any) -> VirtualResult:
    jobs = forestall.Jobs.build([0, 10], [2, 1], [100, 500], [150, 900])
    failures = forestall.Failures.build([300], [1], [60], predicted=[290])
    result: VirtualResult = forestall.simulate_virtual(
        jobs, failures, nodes=2, processors_per_node=2, alpha=1, **more
    )
    return result


def test_every_measure_of_virtual_machines_is_documented() -> None:
    measures, result = measures_text("virtual"), virtual_run()
    assert rows(measures) == set(result.measures)
    files = sections(REFERENCE / "files")["Virtual machines"]
    for key in set(result.summary) - set(result.measures):
        assert f"`{key}`" in files, key


def test_every_file_and_column_of_virtual_machines_is_documented(tmp_path: Path) -> None:
    virtual_run(log_events=True).save(tmp_path)
    section = sections(REFERENCE / "files")["Virtual machines"]
    for path in tmp_path.glob("*.csv"):
        header = path.read_text(encoding="utf-8").splitlines()[0]
        assert f"`{path.name}`" in section
        assert f"`{header}`" in section or header in section, header


def cycle_run(scheduler: str = "falcon") -> CycleResult:
    """Return a run on two hosts: the one is left after three hours of each day, the other stays."""
    load = np.zeros((2, 9 * 1440))
    load[0].reshape(9, 1440)[:, 180:] = 0.9
    hosts = forestall.HostTraces(load, None, 60, np.ones(2), ("left", "stays"))
    jobs = forestall.Jobs.build([0, 60, 90], [1, 1, 1], [7200, 3600, 1800])
    result: CycleResult = forestall.simulate_cycle(
        jobs, hosts, scheduler=scheduler, warm_up=7 * 86_400, log_events=True
    )
    return result


@pytest.mark.parametrize("scheduler", ["falcon", "condor"])
def test_every_measure_of_cycle_sharing_is_documented(scheduler: str) -> None:
    text, result = measures_text("cycle"), cycle_run(scheduler)
    assert rows(text) - {"moves"} == set(result.measures)  # that one with `move_below` alone
    for value in result.measures.values():
        inner = value[0] if isinstance(value, list) else value
        for key in inner if isinstance(inner, dict) else ():
            assert key in words_of(text), key
    files = sections(REFERENCE / "files")["Cycle sharing"]
    for key in set(result.summary) - set(result.measures):
        assert f"`{key}`" in files, key
    for key in result.summary["host_traces"]:
        assert f"`{key}`" in files, key


def test_every_file_and_column_of_cycle_sharing_is_documented(tmp_path: Path) -> None:
    cycle_run().save(tmp_path, report=False)
    section = sections(REFERENCE / "files")["Cycle sharing"]
    found = sorted(tmp_path.glob("*.csv"))
    assert len(found) == 8
    for path in found:
        header = path.read_text(encoding="utf-8").splitlines()[0]
        assert f"`{header}`" in line_of(section, path.name), header
    ends = {*cycle_run().stays["ended"], *cycle_run().jobs["outcome"]}
    assert ends <= words_of(section)


def test_every_key_of_an_agents_status_is_documented(tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    from forestall.prediction.availability.status import read_status

    assert main(("agent", "--folder", str(tmp_path), "--no-listen", "--quiet", "--for", "5s",
                 "--period", "1s")) == 0  # fmt: skip
    told = read_status(tmp_path)
    section = sections(REFERENCE / "files")["status.json"]
    assert rows(section) == set(told)
    for hours in (1, 2, 4, 8):
        assert f"`{hours}h`" in section
    written = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert written <= rows(sections(REFERENCE / "files")["An agent's folder"])


def test_every_metric_and_attribute_of_an_agent_is_documented() -> None:
    from forestall.sharing.adapters.condor.attributes import attributes
    from forestall.sharing.agent import exporter

    guides = ROOT / "docs" / "how-to"
    told = sections(guides / "hosts" / "watch-a-host.md")["For Prometheus"]
    known = {re.split(r"[{]", word)[0] for word in words_of(told)}
    metrics = {name for _, name, _ in exporter.GAUGES}
    metrics |= {f"{name}_total" for _, name, _ in exporter.COUNTERS}
    assert metrics <= known, sorted(metrics - known)
    hours = {f"{n}h": 0.5 for n in (1, 2, 4, 8)}
    status = {"time": 1, "host": "a", "state": "S1", "cpu": 0.5, "mttf": 60, "reliability": hours}
    section = sections(guides / "hosts" / "rank-with-htcondor.md")["Attributes"]
    for name in attributes(status):
        assert name in section or f"`{name.removeprefix('ForestallReliability')}`" in section


def test_every_figure_and_key_of_messages_is_documented() -> None:
    from forestall.live.messages.settings import MessageSettings
    from live.web.metrics.metric_cases import told_names

    named = sections(ROOT / "docs" / "how-to" / "live" / "monitor-a-controller.md")
    suffix = re.compile("_(bucket|sum|count)$")
    there = {suffix.sub("", name) for name in told_names() if not name.endswith("_created")}
    assert {name for name in rows(named["Metrics"]) if name.startswith("forestall_")} == there
    assert rows(named["Messages"]) >= {one.name for one in fields(MessageSettings)}
    for one in fields(MessageSettings):
        default = line_of(named["Messages"], one.name).split(" | ")[1].strip("`").removesuffix(" s")
        assert default == (str(one.default) if one.default not in ("", ()) else "none"), one.name


def test_every_file_of_a_site_is_documented() -> None:
    from forestall.live.shipped.write import site_files

    page = ROOT / "docs" / "how-to" / "live" / "monitor-a-controller.md"
    assert dict(site_files()).keys() <= rows(page.read_text(encoding="utf-8"))


def test_every_key_and_column_of_a_calibration_is_documented() -> None:
    from forestall.sharing.api.calibrate.calibrate import ExperimentSettings, HostCalibration
    from forestall.sharing.contention.measure import MeasuredPoints
    from forestall.sharing.contention.memory import MemoryMeasured
    from forestall.sharing.contention.plan import ExperimentPlan
    from forestall.sharing.contention.points import MemoryPoint, Point
    from sharing.contention.contention_cases import linear, memory_points, points

    named = sections(REFERENCE / "files")
    tables = named["A calibration (`forestall calibrate --out DIR`)"]
    assert {*Point._fields, "load"} <= words_of(line_of(tables, "points.csv"))
    assert {*MemoryPoint._fields, "speed"} <= words_of(line_of(tables, "memory.csv"))
    measured = MeasuredPoints(tuple(points(lambda load, guest: linear(load, guest) / 5)), 1, 0)
    plan = ExperimentPlan(cpus=(0,), groups=(4,), loads=(0.2, 0.4, 0.6, 0.8, 1.0))
    lowest = {"nice": True, "idle": True, "autogroup": False}
    memory = MemoryMeasured(tuple(memory_points(2.0)))
    found = HostCalibration(
        ExperimentSettings(), plan, measured, memory, 0.0, lowest, "host", "6.1", "2026-11-22"
    )
    section = named["summary.json of a calibration"]
    assert rows(section) == set(found.summary)
    absent = {key for key in keys_of(found.summary) if not key.isdigit()} - words_of(section)
    assert not absent, sorted(absent)
    assert rows(named["calibration.json"]) == set(found.calibration)


def test_every_file_and_key_of_a_guest_is_documented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("psutil")
    from forestall.core.processes.files import GuestState

    free = ("--th1", "1", "--th2", "1", "--folder", str(tmp_path))
    assert call(capsys, "guest", "run", "--name", "g", *free, "--", "true").code == 0
    section = sections(REFERENCE / "files")["Guests"]
    [told] = json.loads(call(capsys, "guest", "list", "--json", "--folder", tmp_path).out)
    absent = set(told) - words_of(line_of(section, "state.json"))
    assert not absent, sorted(absent)
    entries = json.loads(call(capsys, "guest", "log", "g", "--json", "--folder", tmp_path).out)
    absent = set().union(*entries) - words_of(line_of(section, "log.jsonl"))
    assert not absent, sorted(absent)
    assert {path.name for path in (tmp_path / "guests" / "g").iterdir()} <= rows(section)
    assert set(GuestState) <= words_of(section)


@pytest.mark.parametrize("policy", ["promise", "easy"])
def test_every_measure_is_documented(policy: str) -> None:
    measures = measures_text()
    files = sections(REFERENCE / "files")["summary.json"]
    result = small_run(policy=policy)
    assert set(result.measures) <= rows(measures)
    assert set(result.summary) - set(result.measures) == rows(files)
    for value in result.measures.values():
        inner = value[0] if isinstance(value, list) else value
        for key in inner if isinstance(inner, dict) else ():
            assert f"`{key}`" in measures, key
    for key in result.summary["versions"]:
        assert f"`{key}`" in files


def test_no_measure_is_documented_that_is_not_there() -> None:
    assert rows(measures_text()) == set(small_run().measures)


def test_every_file_and_column_is_documented(tmp_path: Path) -> None:
    small_run(log_events=True).save(tmp_path)
    named = sections(REFERENCE / "files")
    for path in tmp_path.iterdir():
        assert path.name in named, f"no page of files has a heading {path.name!r}"
        if path.suffix == ".csv":
            header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
            section = named[path.name]
            absent = [c for c in header if not re.search(rf"`([\w,]*,)?{c}(,[\w,]*)?`", section)]
            assert not absent, f"{path.name}: {absent}"
            stale = rows(section) - {*header}
            assert not stale, f"{path.name}: {stale}"
    assert json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["policy"]


def words_of(text: str) -> set[str]:
    """What stands in backticks, lists such as `a,b` taken apart."""
    return {part for word in re.findall(r"`([^`]+)`", text) for part in word.split(",")}


def line_of(section: str, name: str) -> str:
    """The row of a table whose first cell names `name`."""
    found = [line for line in section.splitlines() if f"`{name}`" in line.partition(" | ")[0]]
    assert found, f"no row for {name}"
    return found[0]


NAMED_BY_DATA = {
    *("params", "ci", "standard_errors", "left_out", "count", "parameters", "versions"),
    *("efficiency", "overhead", "loss"),
}
"""Keys of JSON below which keys are names of parameters, kinds or the like."""


def keys_of(value: Any) -> set[str]:
    """All keys of a JSON document."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    inner = (keys_of(one) for key, one in value.items() if key not in NAMED_BY_DATA)
    return set(value).union(*inner)


def told_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    done = call(capsys, *arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def check_tables(folder: Path, section: str) -> None:
    """Every file has a row, which has every column of it."""
    for path in folder.iterdir():
        row = line_of(section, path.name)
        if path.suffix == ".csv":
            header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
            absent = set(header) - words_of(row)
            assert not absent, f"{path.name}: {sorted(absent)}"


@pytest.mark.slow
def test_every_file_and_key_of_an_analysis_is_documented(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = sections(REFERENCE / "files")
    out = tmp_path / "report"
    log = str(logs / "failures.csv")
    told = told_by(capsys, "reliability", log, "--out", str(out), "--draws", "19")
    files = named["An analysis (`forestall reliability --out DIR`)"]
    check_tables(out, files.replace("as above, ", line_of(files, "years.csv")))
    keys = named["summary.json of an analysis"]
    assert set(told) == rows(keys) | words_of(" ".join(re.findall(r"^\| (.*?) \|", keys, re.M)))
    below = keys_of(told) - words_of(keys) - words_of(files)
    assert not below, sorted(below)


CLUSTER = """
[[groups]]
name = "nodes"
count = 64
mttf = "46d"
shape = 0.7
[[groups]]
name = "made"
count = 8
components = [{name = "board", mttf = "9000h"}, {name = "supply", mttf = "9000h", count = 2}]
[[queues]]
name = "large"
nodes = 16
limit = "24h"
[checkpoint]
cost = "5m"
[pool]
repair = "1d"
[prices]
power = 0.4
[jobs]
nodes = [4, 16]
runtimes = ["1h", "6h"]
[optimize]
queues = 2
"""


@pytest.mark.slow
def test_every_file_and_key_of_a_design_is_documented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = sections(REFERENCE / "files")
    (tmp_path / "cluster.toml").write_text(CLUSTER, encoding="utf-8")
    arguments = ("design", str(tmp_path / "cluster.toml"), "--optimize")
    told = told_by(capsys, *arguments, "--out", str(tmp_path / "design"))
    check_tables(tmp_path / "design", named["A design (`forestall design --out DIR`)"])
    absent = keys_of(told) - {"large"} - words_of(named["design.json"])
    assert not absent, sorted(absent)
    assert set(told) <= words_of(" ".join(re.findall(r"^\| (.*?) \|", named["design.json"], re.M)))


def test_every_key_of_a_cluster_is_documented() -> None:
    from forestall.reliability.report.design import file as tables

    inner: dict[str, Any] = {
        "groups": tables.GroupTable,
        "queues": tables.QueueTable,
        "checkpoint": tables.CheckpointTable,
        "pool": tables.PoolTable,
        "prices": tables.PricesTable,
        "groups.components": tables.ComponentTable,
        "jobs": tables.JobsTable,
        "optimize": tables.OptimizeTable,
    }
    there = set(tables.ClusterTable.model_fields)
    assert set(inner) - {"groups.components"} < there
    there |= {f"{name}.{key}" for name, table in inner.items() for key in table.model_fields}
    assert rows(sections(REFERENCE / "files")["CLUSTER.toml"]) == there


@pytest.mark.parametrize(
    ("heading", "commands"),
    [
        (
            "forestall fit --json",
            ("fit gaps.csv --family weibull --p-values --draws 19", "fit gaps.csv"),
        ),
        (
            "forestall interval --json",
            (
                "interval --mtbf 4d --checkpoint-overhead 5m --work 2d",
                "interval --mtbf 40d --checkpoint-overhead 5m --shortest 4h",
            ),
        ),
        (
            "forestall spares --json",
            ("spares --nodes 64 --hours 24", "spares --nodes 64 --hours 24 --repair 2d"),
        ),
    ],
)
def test_every_key_of_json_is_documented(
    heading: str,
    commands: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gaps.csv").write_text("gap,censored\n12,0\n40,0\n7,0\n90,1\n33,0\n", encoding="utf-8")
    found = set().union(*(keys_of(told_by(capsys, *shlex.split(one))) for one in commands))
    section = sections(REFERENCE / "files")[heading]
    assert found <= words_of(section), sorted(found - words_of(section))
    stale = words_of(" ".join(re.findall(r"^\| (.*?) \|", section, re.M))) - found
    assert not stale, sorted(stale)


def test_every_column_of_gaps_is_documented() -> None:
    from forestall.logs.gaps import OPTIONAL, REQUIRED

    assert rows(sections(REFERENCE / "files")["Gaps"]) == {*REQUIRED, *OPTIONAL}


def test_every_family_is_documented() -> None:
    from forestall.reliability.lifetimes.registry import FAMILIES

    section = sections(ROOT / "docs" / "models" / "lifetimes")["The families"]
    assert rows(section) == set(FAMILIES)
    for name, family in FAMILIES.items():
        told = tuple(re.findall(r"`([\w-]+)`", line_of(section, name).split(" | ")[1]))
        assert told == family.parameters, name


def test_every_public_name_is_documented() -> None:
    text = whole(REFERENCE / "python-api")
    absent = [name for name in forestall.__all__ if f"`fs.{name}" not in text]
    assert not absent


def test_every_attribute_of_a_result_is_documented() -> None:
    text = sections(REFERENCE / "python-api")["Result"]
    public = {name for name in vars(Result) if not name.startswith("_")}
    public |= {field.name for field in fields(Result)}
    absent = [name for name in public if f"`.{name}" not in text]
    assert not absent


OF_ALL_RESULTS = {name for name in dir(ShownResult) if not name.startswith("_")}
"""What every result has: documented once."""


def public_of(*places: str) -> set[str]:
    """Public attributes of classes, named by module below `reliability` and class."""
    found: set[str] = set()
    for place in places:
        module, _, name = place.rpartition(".")
        thing = getattr(importlib.import_module(f"forestall.reliability.{module}"), name)
        own = {field.name for field in fields(thing)} if is_dataclass(thing) else set()
        found |= own | {one for one in dir(thing) if not one.startswith("_")}
    return found


@pytest.mark.parametrize(
    ("heading", "places", "more"),
    [
        (
            "Fitted",
            ("fits.estimate.Fitted", "fits.goodness.Goodness", "lifetimes.base.Lifetime"),
            set(),
        ),
        ("Ranking", ("fits.ranking.Ranking",), set()),
        (
            "Cluster",
            ("queues.cluster.Cluster", "queues.changes.Change", "systems.systems.MeanLife"),
            {"groups", "queues"},
        ),
        (
            "Checkpoints and completion times",
            (
                "checkpoints.checkpoints.CheckpointInterval",
                "checkpoints.checkpoints.ChosenInterval",
                "checkpoints.completion.CompletionTime",
            ),
            set(),
        ),
    ],
)
def test_attributes_that_are_documented_are_there(
    heading: str, places: tuple[str, ...], more: set[str]
) -> None:
    told = set(re.findall(r"`\.(\w+)", sections(REFERENCE / "python-api")[heading]))
    stale = told - public_of(*places) - more
    assert told
    assert not stale, sorted(stale)


def test_every_attribute_of_a_fit_is_documented() -> None:
    told = re.findall(r"`\.(\w+)", sections(REFERENCE / "python-api")["Fitted"])
    absent = public_of("fits.estimate.Fitted") - set(told) - {"regular", "scaled"} - OF_ALL_RESULTS
    assert not absent, sorted(absent)


def test_every_error_is_documented() -> None:
    text = whole(REFERENCE / "python-api")
    tree = [forestall.errors.ForestallError]
    for error in tree:
        tree += error.__subclasses__()
        assert error.__name__.startswith("_") or f"`{error.__name__}`" in text


def test_every_failure_format_and_preset_is_documented() -> None:
    from forestall.logs.failures.formats import FORMATS
    from forestall.logs.generate import PRESETS

    assert {one.name for one in FORMATS} <= rows(whole(REFERENCE / "traces"))
    generators = ROOT / "docs" / "models" / "generators"
    assert set(PRESETS) == rows(sections(generators)["Presets"])


def test_every_page_is_on_the_map() -> None:
    """The map leads to each page, or to the index of its folder, which does."""
    linked = {path for path, _ in links(ROOT / "docs" / "index.md")}
    linked |= {path for page in linked if page.name == "index.md" for path, _ in links(page)}
    for page in (ROOT / "docs").rglob("*.md"):
        if page != ROOT / "docs" / "index.md" and "reproduce" not in page.parts:
            assert page in linked, page


# ---------------------------------------------------------------------------------------- links


def slug(heading: str) -> str:
    """The anchor of a heading, as forges make it."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower().strip())
    return kept.replace(" ", "-")


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[tuple[Path, str]]:
    """Internal links of a page, as (file, anchor)."""
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if "://" not in target:
            place, _, anchor = target.partition("#")
            found.append(((page.parent / place).resolve() if place else page, anchor))
    return found


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in links(page):
        assert path.exists(), path
        if anchor:
            assert anchor in {slug(heading) for heading in sections(path)}, f"{path}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_images_have_a_text_and_files_that_are_named_are_there(page: Path) -> None:
    assert not re.findall(r"!\[\s*\]", prose(page))
    for named in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./-]+)`", prose(page)):
        assert (ROOT / named).exists(), named


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_no_paths_of_one_machine(page: Path) -> None:
    assert not re.findall(r"(?<![\w.])/(?:home|work|tmp|root|mnt|Users)/", page.read_text("utf-8"))


# ------------------------------------------------------------------------------------- doctests

SOURCES = sorted((ROOT / "src" / "forestall").rglob("*.py"))
WITH_EXAMPLES = [
    path
    for path in SOURCES
    if re.search(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_in_docstrings(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    module = importlib.import_module(".".join(p for p in parts if p != "__init__"))
    assert doctest.testmod(module).failed == 0


def test_citation_names_the_version_and_the_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert "Probabilistic QoS Guarantees for Supercomputing Systems" in text
    assert "cff-version: 1.2.0" in text
    versions = re.findall(r"^version: \"?([^\"\n]+)", text, flags=re.MULTILINE)
    assert versions == [forestall.__version__]
    assert f"## [{forestall.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
