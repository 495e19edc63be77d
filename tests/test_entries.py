"""Everything that can be chosen by name is documented, and keeps the contract of its kind."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forestall as fs
from forestall.core.model.entries import Entries, Entry
from forestall.core.model.errors import ParameterError
from forestall.logs.failures.formats import FORMATS
from forestall.machines.rules import placement_kernels
from forestall.machines.rules.entries import MIGRATIONS, SOURCES, STRATEGIES
from forestall.machines.simulation.run import choosing_of
from forestall.prediction.models.entries import LEARNERS, TRIVIAL
from forestall.prediction.models.registry import learner_class
from forestall.reliability.lifetimes.registry import FAMILIES
from forestall.runs.certify import certify
from forestall.runs.models import MODELS
from forestall.scheduling.engine.policies import POLICIES
from forestall.scheduling.rules.entries import CHECKPOINTS, FORECASTS, ONLY_SHARED, PLACEMENTS
from forestall.sharing.engine import state as cycle_state
from forestall.sharing.engine.engine import number_of
from forestall.sharing.rules.entries import SCHEDULERS
from forestall.site.report import SECTIONS
from studies import STUDIES

DOCS = Path(__file__).resolve().parents[1] / "docs"
TABLES: dict[str, Entries[Any]] = {
    "policies": POLICIES,
    "strategies": STRATEGIES,
    "migrations": MIGRATIONS,
    "sources": SOURCES,
    "schedulers": SCHEDULERS,
    "checkpoints": CHECKPOINTS,
    "placements": PLACEMENTS,
    "forecasts": FORECASTS,
    "learners": LEARNERS,
    "studies": STUDIES,
}
ALL = [(kind, one) for kind, table in TABLES.items() for one in table.every]
RUN = {
    "policies": ("scheduling/engine/test_policies.py", r"EVERY = \(\*POLICIES"),
    "learners": ("prediction/models/test_learners.py", r"params=list\(LEARNERS\)"),
    "studies": ("studies/test_commands.py", r"NAMES = sorted\(STUDIES\)"),
    "formats": ("logs/failures/test_failure_logs.py", r'parametrize\("name", SAMPLES\)'),
    "families": ("reliability/lifetimes/test_contract.py", r"set\(LAWS\) == set\(FAMILIES\)"),
    "sections": ("test_entries.py", r'parametrize\("key", SECTIONS\)'),
    **{
        kind: ("test_entries.py", rf'parametrize\("\w+", {kind.upper()}\)')
        for kind in (
            "strategies", "migrations", "sources", "schedulers", "checkpoints", "placements",
            "forecasts",
        )
    },
}  # fmt: skip
"""By table: the file whose contract tests run with all of it, and what shows that they do."""
OF_MODEL = {"policies": "promise", "strategies": "virtual", "schedulers": "cycle"}


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower().strip()).replace(" ", "-")


def section(docs: str) -> str:
    """The heading that `docs` names, with what stands below it."""
    page, _, anchor = docs.partition("#")
    if not anchor:
        return (DOCS / page).read_text(encoding="utf-8")
    text = (DOCS / page).read_text(encoding="utf-8")
    code = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    text = code.sub(lambda block: block[0].replace("\n#", "\n #"), text)  # no headings
    parts = re.split(r"^(#+ .*)$", text, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    [heading] = [one for one in found if slug(one.lstrip("# ")) == anchor]
    return heading + found[heading]


@pytest.mark.parametrize(("kind", "one"), ALL, ids=lambda one: getattr(one, "name", one))
def test_every_entry_is_documented(kind: str, one: Entry) -> None:
    text = section(one.docs)
    name = one.name if not one.own else MODELS[OF_MODEL[kind]].decider.partition(":")[2]
    assert re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE), kind
    assert one.label
    assert one.about


def test_the_page_of_learners_reads_their_entries() -> None:
    page = (DOCS / "models" / "learners" / "index.md").read_text(encoding="utf-8")
    for one in LEARNERS.values():
        place = one.docs.removeprefix("models/learners/")
        assert f"| [`{one.name}`]({place}) | {one.about} |" in page


@pytest.mark.parametrize("kind", [*TABLES, "formats", "families", "sections"])
def test_every_table_has_contract_runs(kind: str) -> None:
    file, shown = RUN[kind]
    assert re.search(shown, (DOCS.parent / "tests" / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("one", [*MODELS.values()], ids=lambda one: one.name)
def test_every_model_is_an_entry_of_the_reference(one: Any) -> None:
    pages = (DOCS / "reference" / "parameters").glob("*.md")
    texts = [page.read_text(encoding="utf-8") for page in pages]
    assert any(f"<!-- parameters: {one.name} -->" in text for text in texts)
    assert one.label


def test_formats_families_and_sections_are_documented() -> None:
    formats = section("reference/traces/failures.md#failure-logs")
    assert not [one.name for one in FORMATS if f"`{one.name}`" not in formats]
    families = section("models/lifetimes/index.md#the-families")
    assert not [name for name in FAMILIES if f"`{name}`" not in families]
    pages = (DOCS / "reference" / "report").glob("*.md")
    report = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert not [key for key in SECTIONS if f"`{key}`" not in report]


def test_kernels_know_every_entry() -> None:
    live = {one.number for one in STRATEGIES.every if not one.knows}
    assert live == {placement_kernels.RANDOM, placement_kernels.FIRST_FIT,
                    placement_kernels.BEST_FIT, placement_kernels.OWN}  # fmt: skip
    known = ("FALCON", "SLIDES", "CONDOR", "OMNISCIENT", "OWN")
    assert {one.number for one in SCHEDULERS.every} == {getattr(cycle_state, k) for k in known}
    assert set(TRIVIAL) < set(LEARNERS)
    for name in LEARNERS:
        assert learner_class(name).name == name


def test_a_table_refuses_what_it_does_not_have() -> None:
    with pytest.raises(ParameterError, match=r"best-fit, omniscient$"):
        STRATEGIES.chosen("worst-fit")
    assert STRATEGIES.chosen("random").label == "random"
    assert len({hash(table) for table in TABLES.values()}) == len(TABLES)


# ------------------------------------------------------------------------------- contracts


class FirstFit(fs.Strategy):
    """First-fit as a strategy of one's own."""

    def choose(self, nodes: Any, task: Any) -> int | None:
        good = (nodes.free > 0) & ~nodes.doubtful & (nodes.lasts >= task.left)
        return int(np.argmax(np.where(good, nodes.free, 0.0))) if good.any() else None


class Falcon(fs.HostScheduler):
    """Falcon as a scheduler of one's own."""

    def choose(self, hosts: Any) -> int | None:
        lives = (hosts.jct <= hosts.mttf) & np.isfinite(hosts.jct)
        some = bool(lives.any())
        first = np.where(lives, hosts.jctf, np.inf) if some else -hosts.etl
        return int(np.lexsort((-hosts.mttf, first, ~lives if some else lives))[0])


JOBS = fs.generate_jobs(16, 1, days=2, load=0.6)
FAILURES = fs.generate_failures(16, 6, 1, rate_per_year=4000)


def virtual(**more: Any) -> Any:
    given = {"nodes": 16, "processors_per_node": 4, "log_events": True, **more}
    return fs.simulate_virtual(JOBS, FAILURES, **given)


def promises(**more: Any) -> Any:
    return fs.simulate(JOBS, FAILURES, **{"nodes": 16, "log_events": True, **more})


def trained(kind: str) -> Any:
    """What a run's predictor of this kind is given as: its name, or what has learnt."""
    made = {"hazard": fs.HazardPredictor, "learned": lambda: fs.new_learner("rate")}
    if kind not in made:
        return kind
    predictor: Any = made[kind]()
    past = fs.generate_failures(16, 30, 2, rate_per_year=4000)
    return predictor.fit(past, nodes=16, end=0) or predictor


@pytest.fixture(scope="module")
def report() -> Any:
    recorded = DOCS.parent / "tests" / "slurm" / "recorded" / "24.11"
    names = ("sacct.jobs.epoch.txt", "sacctmgr.event.epoch.txt", "squeue.json")
    return fs.site_report(*(recorded / name for name in names))


@pytest.fixture(scope="module")
def report_page(report: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    page: Path = report.save(tmp_path_factory.mktemp("report") / "report.html")
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hosts() -> Any:
    return fs.generate_hosts(5, 40, 1)


def cycle(hosts: Any, **more: Any) -> Any:
    jobs = fs.generate_guests(40, 1, days=5)
    return fs.simulate_cycle(jobs, hosts, **{"log_events": True, **more})


def kept(result: Any, folder: Path, **own: Any) -> None:
    """A run is certified and replayed."""
    result.save(folder, report=False)
    found = certify(folder)
    assert found.passed, [one for one in found.checks if not one.passed]
    assert fs.replay(folder, **own).same


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_keeps_the_contract(strategy: str, tmp_path: Path) -> None:
    result = virtual(strategy=strategy)
    assert result.summary["parameters"]["strategy"] == strategy
    kept(result, tmp_path / "run")


def test_an_own_strategy_keeps_the_contract(tmp_path: Path) -> None:
    result = virtual(strategy=FirstFit())
    assert result.summary["parameters"]["strategy"] == f"{__name__}:FirstFit"
    kept(result, tmp_path / "run", strategy=FirstFit())


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
def test_every_checkpoint_rule_keeps_the_contract(checkpoint: str, tmp_path: Path) -> None:
    kept(promises(checkpoint=checkpoint), tmp_path / "run")


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_placement_keeps_the_contract(placement: str, tmp_path: Path) -> None:
    if placement not in ONLY_SHARED:
        kept(promises(placement=placement), tmp_path / "run")
        return
    line = "nodes=16 cores=8 memory=64G gpus=2"
    asked = JOBS.table().with_columns(cores=3, gpus=1)
    result = fs.simulate(asked, FAILURES, machine=line, policy="easy", placement=placement)
    assert result.summary["parameters"]["placement"] == placement
    assert fs.certify(result.save(tmp_path / "run")).passed


@pytest.mark.parametrize("forecast", FORECASTS)
def test_every_forecast_keeps_the_contract(forecast: str, tmp_path: Path) -> None:
    result = promises(predictor=trained(forecast), risk=0.0)
    assert result.summary["parameters"]["predictor"] == forecast
    kept(result, tmp_path / "run")


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_of_predictions_keeps_the_contract(source: str, tmp_path: Path) -> None:
    told = {"recorded": replace(FAILURES, predicted=FAILURES.time)}.get(source, FAILURES)
    result = fs.simulate_virtual(
        JOBS, told, nodes=16, processors_per_node=4, log_events=True, predictor=trained(source)
    )
    assert result.summary["parameters"]["predictor"] == source
    kept(result, tmp_path / "run")


@pytest.mark.parametrize("key", SECTIONS)
def test_every_section_is_told_in_every_way(key: str, report: Any, report_page: str) -> None:
    told = report.json["sections"][key]
    assert told["title"]
    assert escape(told["title"]) in report_page


@pytest.mark.parametrize("migration", MIGRATIONS)
def test_every_way_to_move_keeps_the_contract(migration: str, tmp_path: Path) -> None:
    kept(virtual(migration=migration), tmp_path / "run")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_every_scheduler_keeps_the_contract(scheduler: str, hosts: Any, tmp_path: Path) -> None:
    result = cycle(hosts, scheduler=scheduler)
    assert result.summary["parameters"]["scheduler"] == scheduler
    kept(result, tmp_path / "run")


def test_an_own_scheduler_keeps_the_contract(hosts: Any, tmp_path: Path) -> None:
    result = cycle(hosts, scheduler=Falcon())
    assert result.summary["parameters"]["scheduler"] == f"{__name__}:Falcon"
    kept(result, tmp_path / "run", scheduler=Falcon())


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".csv"}


def test_first_fit_in_python_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, strategy in (("built-in", "first-fit"), ("own", FirstFit())):
        virtual(strategy=strategy, checkpoint="periodic").save(tmp_path / name, report=False)
    assert files(tmp_path / "built-in") == files(tmp_path / "own")


@pytest.mark.parametrize("restart", ["scratch", "checkpoint"])
def test_falcon_in_python_gives_the_same_bytes(restart: str, hosts: Any, tmp_path: Path) -> None:
    for name, scheduler in (("built-in", "falcon"), ("own", Falcon())):
        result = cycle(hosts, scheduler=scheduler, restart=restart)
        result.save(tmp_path / name, report=False)
    one, other = files(tmp_path / "built-in"), files(tmp_path / "own")
    for said in ("decisions.csv", "candidates.csv"):  # they tell ranks and another reason
        assert one.pop(said) != other.pop(said)
    assert one == other


class Wrong(fs.Strategy, fs.HostScheduler):
    """Answers what it was made with, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def choose(self, *known: Any) -> int | None:
        if isinstance(self.answer, BaseException):
            raise self.answer
        answer: int | None = self.answer
        return answer


@pytest.mark.parametrize("answer", [16, -1])
def test_a_node_that_cannot_be_is_refused(answer: int) -> None:
    with pytest.raises(ParameterError, match=f"strategy: {answer} is not allowed"):
        virtual(strategy=Wrong(answer))


def test_a_host_that_is_not_free_is_refused(hosts: Any) -> None:
    with pytest.raises(ParameterError, match="scheduler: 5 is not allowed"):
        cycle(hosts, scheduler=Wrong(5))


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt()])
def test_what_an_own_one_raises_comes_through(error: BaseException, hosts: Any) -> None:
    with pytest.raises(type(error)):
        virtual(strategy=Wrong(error))
    with pytest.raises(type(error)):
        cycle(hosts, scheduler=Wrong(error))


def test_none_leaves_the_task_to_the_engine_and_lets_the_guest_wait(hosts: Any) -> None:
    assert virtual(strategy=Wrong(None)).measures["jobs_dropped"] == 0
    assert len(cycle(hosts, scheduler=Wrong(None)).outcome.stays) == 0


def test_an_own_one_is_needed_where_it_is_meant(hosts: Any) -> None:
    with pytest.raises(ParameterError, match=r"strategy: 'own' is not allowed"):
        virtual(strategy="own")
    with pytest.raises(ParameterError, match=r"scheduler: 'own' is not allowed"):
        cycle(hosts, scheduler="own")
    parameters = fs.VirtualParameters(strategy="mine:Tightest")
    with pytest.raises(ParameterError, match="a Strategy, as it was given"):
        choosing_of(parameters)
    with pytest.raises(ParameterError, match="a HostScheduler, as it was given"):
        number_of("mine:Careful", None)
