"""Guests that HTCondor places: submitted, kept in mind, and asked how far they are and when they
will be done. Gateway and client of Falcon are HTCondor's own schedd and submit."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.files.records import record_of
from forestall.core.model.errors import ForestallError, ParameterError, TraceError, of_system
from forestall.core.model.settings import Declared, Setting
from forestall.core.model.units import format_duration, parse_duration, parse_size
from forestall.core.show.blocks import Table
from forestall.core.show.report import Report, Section
from forestall.core.show.words import or_dash
from forestall.sharing.adapters.condor import commands
from forestall.sharing.adapters.condor.attributes import (
    AVAILABLE,
    HOURS,
    SPEED,
    UPDATED,
    expected_load,
    reliability,
)
from forestall.sharing.adapters.condor.expressions import MAX_AGE
from forestall.sharing.adapters.condor.falcon import JobNeeds
from forestall.sharing.adapters.condor.submit import GuestJob, submit_text
from forestall.sharing.api.condor import own_program
from forestall.sharing.rules.falcon import choose
from forestall.sharing.rules.horizons import CompletionBand, HostHorizons, completion_band

with lazily():  # guests that no vault has do without its extra
    from forestall.sharing.api.guest import outlive as outliving
    from forestall.vaults import runs
    from forestall.vaults.api import checkpoints

if TYPE_CHECKING:
    from forestall.vaults.repository import Vault
    from forestall.vaults.runs import RunHistory

SUBMITTED: Final = "condor"
"""The folder of submitted guests in that of agent and guests."""
LEAVE_BELOW: Final = 0.25
AGAIN: Final = 120.0
"""s that a guest is taken to be without a machine each time that it loses one."""
STATES: Final = {
    1: "waiting", 2: "running", 3: "removed", 4: "finished", 5: "held", 6: "running",
    7: "suspended",
}  # fmt: skip
OVER: Final = ("removed", "finished")
UNKNOWN: Final = "not known"
PLACE: Final = "HTCondor"


def _seconds(text: str) -> float:
    seconds = parse_duration(text, "time")
    if seconds <= 0:
        raise ParameterError("time", text, "a duration above 0")
    return float(seconds)


def _size(text: str) -> int:
    return parse_size(text, "checkpoint_size")


@dataclass(frozen=True)
class SubmitQuestion(Declared):
    """How a guest is placed by HTCondor."""

    time: Annotated[
        float,
        Setting("Run time on an average machine that nobody else uses", shown="DURATION",
                typed="1h", read=_seconds, group=PLACE),
    ] = 3600.0  # fmt: skip
    checkpoint_size: Annotated[
        int,
        Setting("Size of a checkpoint, to account for the speed of the vault where agents know "
                "it",
                shown="SIZE", typed="0", read=_size, group=PLACE),
    ] = 0  # fmt: skip
    leave_below: Annotated[
        Annotated[float, Field(ge=0, le=1)],
        Setting("Save the guest and leave a machine when the probability that it stays "
                "available for an hour falls below this; 0: leave only when its owner needs it",
                shown="P", group=PLACE),
    ] = LEAVE_BELOW  # fmt: skip
    program: Annotated[
        str,
        Setting(
            "Path of forestall on the execution machines (default: as on this one)",
            shown="PATH",
            group=PLACE,
        ),
    ] = ""


@dataclass(frozen=True)
class SubmittedGuest:
    """A guest that was submitted.

    Attributes
    ----------
    name, cluster : its name, and HTCondor's number of its job
    seconds : what it takes at speed 1
    submitted : when, Unix s
    words, stores : its command line; URLs of its vault
    key : file with the vault's key, "" where there is none
    place : folder of its submit file, log and output
    """

    name: str
    cluster: int
    seconds: float
    submitted: float
    words: tuple[str, ...]
    stores: tuple[str, ...]
    key: str
    place: str


def submit_guest(
    words: Sequence[str], outlive: str, asked: SubmitQuestion, folder: Path, *,
    name: str | None = None, lines: Sequence[str] = (),
) -> SubmittedGuest:  # fmt: skip
    """Submit a guest; return what is kept of it.

    Parameters
    ----------
    words : its command line
    outlive : options of `forestall run`, with the stores of its vault
    folder : that of agent and guests
    lines : further lines of the submit file

    Raises ParameterError for unusable input, CondorError where HTCondor does not take it.
    """
    if not words:
        raise ParameterError("CMD", None, "a command to run, after --")
    known = runs.checked_name(name or Path(words[0]).name.strip("._-") or "guest")
    options = outliving.option_words(outlive)
    stores, key = outliving.vault_of(outlive)
    place = (folder / SUBMITTED / known).absolute()
    before = _read(place)
    if before is not None and state_of(_ads([before]).get(before.cluster)) not in (*OVER, UNKNOWN):
        raise ParameterError("name", known, f"a name that is free: job {before.cluster} has it")
    program = asked.program or own_program()
    if not program:
        raise ParameterError("program", None, "the path of forestall on the machines")
    run = outliving.run_words(known, options, asked.leave_below)
    job = GuestJob(
        known, program, run, words, JobNeeds(asked.time / 3600, asked.checkpoint_size),
        str(Path.cwd()), asked.leave_below or None, lines,
    )  # fmt: skip
    text = submit_text(job)
    with of_system(place, "cannot be written"):
        place.mkdir(parents=True, exist_ok=True)
        with atomic_path(place / "guest.sub") as beside:
            beside.write_text(text, encoding="utf-8")
    cluster = commands.submit(place / "guest.sub")
    made = SubmittedGuest(
        known, cluster, asked.time, round(time.time(), 3), tuple(words), stores, str(key or ""),
        str(place),
    )  # fmt: skip
    with of_system(place, "cannot be written"), atomic_path(place / "guest.json") as beside:
        beside.write_text(json.dumps(asdict(made)) + "\n", encoding="utf-8")
    return made


def _read(place: Path) -> SubmittedGuest | None:
    """Return a submitted guest, None where there is none. Raises TraceError."""
    path = place / "guest.json"
    try:
        return record_of(SubmittedGuest, json_of(path.read_bytes()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except (ValueError, ParameterError) as error:
        raise TraceError(path, f"not a submitted guest ({error})") from None


def submitted(folder: Path) -> tuple[list[SubmittedGuest], list[str]]:
    """Return the submitted guests of a folder by name, and what could not be read, a line each."""
    found, troubles = [], []
    for path in sorted((folder / SUBMITTED).glob("*/guest.json")):
        try:
            one = _read(path.parent)
        except TraceError as error:
            troubles.append(str(error))
            continue
        if one is not None:
            found.append(one)
    return found, troubles


# ---------------------------------------------------------------------------------- how they are


def state_of(ad: Mapping[str, Any] | None) -> str:
    """Return in a word what is with a job."""
    return UNKNOWN if ad is None else STATES.get(int(ad.get("JobStatus", 0)), UNKNOWN)


def _ads(guests: Sequence[SubmittedGuest]) -> dict[int, Mapping[str, Any]]:
    return commands.jobs([one.cluster for one in guests]) if guests else {}


def submitted_facts(
    guests: Sequence[SubmittedGuest], now: float | None = None
) -> list[dict[str, Any]]:
    """Return how submitted guests are, in a form for JSON; times in Unix s.

    ``ran``: s that it ran, without what was lost (None: its vault does not answer). ``done``: the
    share of its work, taken at the pace of the machine that it is on. ``early``, ``middle``,
    ``late``: when it is expected to be done, with 10, 50 and 90 %; None: not in sight, or no agent
    tells of a machine. ``stays``: the probability that it ends where it runs. Raises CondorError.
    """
    if not guests:
        return []
    ads, machines, moment = _ads(guests), known_machines(), time.time() if now is None else now
    return [_facts(one, ads.get(one.cluster), machines, moment) for one in guests]


def _facts(
    guest: SubmittedGuest, ad: Mapping[str, Any] | None, machines: Mapping[str, HostHorizons],
    now: float,
) -> dict[str, Any]:  # fmt: skip
    state, told = state_of(ad), ad or {}
    machine = str(told.get("RemoteHost", "")).rpartition("@")[2] if state == "running" else ""
    ran = None if state == UNKNOWN else _ran(guest)
    here = machines.get(machine)
    pace = 1.0 if here is None else here.speed * (1 - here.loads[-1])
    done = None if ran is None else min(ran * pace / guest.seconds, 0.999)
    band = None
    if state in ("waiting", "running"):
        band = expected(guest.seconds * (1 - (done or 0.0)), machine, machines)
    ended = state == "finished"
    return {
        "guest": guest.name,
        "job": guest.cluster,
        "state": state,
        "why": str(told.get("HoldReason", "")) if state == "held" else "",
        "machine": machine or None,
        "starts": int(told.get("NumJobStarts", 0)),
        "submitted": guest.submitted,
        "since": told.get("EnteredCurrentStatus"),
        "exit_code": told.get("ExitCode") if ended else None,
        "ran": ran,
        "done": 1.0 if ended else done,
        **{name: _at(band, name, now) for name in ("early", "middle", "late")},
        "stays": None if band is None or not machine else round(band.stays, 4),
        "folder": guest.place,
    }


def _at(band: CompletionBand | None, name: str, now: float) -> float | None:
    seconds = math.inf if band is None else float(getattr(band, name))
    return None if math.isinf(seconds) else round(now + seconds, 1)


def _ran(guest: SubmittedGuest) -> float | None:
    """Return how long a guest ran so far, by its vault; None where that does not answer."""
    try:
        with checkpoints.open_vault(
            guest.stores, key=Path(guest.key) if guest.key else None
        ) as vault:
            history, sign = runs.look_at_run(vault, guest.name)
    except (ForestallError, OSError):
        return 0.0 if not guest.stores else None
    return max(history.ran, 0.0 if sign is None else sign.ran)


def known_machines() -> dict[str, HostHorizons]:
    """Return what machines tell of their coming day, by name: those that are available by the
    fresh word of their agent, and tell all of it. Raises CondorError."""
    found = {}
    for ad in commands.machines():
        age = abs(time.time() - float(ad.get(UPDATED, 0)))
        told = [[ad.get(name(hours)) for hours in HOURS] for name in (expected_load, reliability)]
        if age > MAX_AGE or ad.get(AVAILABLE) is not True:
            continue
        loads, chances = ([float(x) for x in each if x is not None] for each in told)
        with suppress(ParameterError, TypeError):
            found[str(ad["Machine"])] = HostHorizons(
                HOURS, tuple(loads), tuple(chances), float(ad.get(SPEED, 1.0))
            )
    return found


def expected(
    work: float, machine: str, machines: Mapping[str, HostHorizons]
) -> CompletionBand | None:
    """Return when a guest will be done that runs on a machine ("": on none yet, and will get the
    one that Falcon chooses), and goes on on the one that Falcon chooses of the others; None where
    nothing is known of them."""
    others = {name: host for name, host in machines.items() if name != machine}
    best = _chosen(work, list(others.values()))
    here = machines.get(machine) if machine else best
    return None if here is None else completion_band(work, here, best, away=AGAIN)


def _chosen(work: float, hosts: Sequence[HostHorizons]) -> HostHorizons | None:
    return hosts[choose([one.estimate(work) for one in hosts])[0]] if hosts else None


def submitted_report(facts: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of submitted guests."""
    columns = (
        ("Guest", "guest", str), ("State", "state", str), ("Job", "job", str),
        ("Machine", "machine", or_dash(str)), ("Starts", "starts", str),
        ("Ran", "ran", or_dash(format_duration)),
        ("Done", "done", or_dash(lambda share: f"{100 * share:.0f} %")),
        ("Expected end", "middle", or_dash(_date)), ("80 % band", _band),
    )  # fmt: skip
    return Table.by("submitted", columns, facts, right=(2, 4, 5, 6), most=0)


def submitted_page(facts: Sequence[Mapping[str, Any]]) -> Report:
    """Return what is with submitted guests."""
    section = Section("submitted", "", body=(submitted_report(facts),))
    return Report("Guests in HTCondor", "", (section,), closing=())


def _band(facts: Mapping[str, Any]) -> str:
    early, late = facts["early"], facts["late"]
    if early is None:
        return "-"
    return f"{_date(early)} to {'not in sight' if late is None else _date(late)}"


def _date(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%m-%d %H:%M}"


def watch_guest(
    guest: SubmittedGuest, say: Callable[[str], None], *, every: float = 10.0,
    sleep: Callable[[float], None] = time.sleep,
) -> int:  # fmt: skip
    """Tell how a submitted guest goes, until it is over; returns its exit code, 1 where it was
    removed. Raises CondorError."""
    before: tuple[Any, ...] = ()
    while True:
        (told,) = submitted_facts([guest])
        now = (told["state"], told["machine"], int(10 * (told["done"] or 0.0)))
        if now != before:
            say(f"{guest.name}: {told_line(told)}")
            before = now
        if told["state"] in OVER:
            code = told["exit_code"]
            return int(code) if code is not None else 1
        sleep(every)


def told_line(facts: Mapping[str, Any]) -> str:
    """Return how a submitted guest is, in a line."""
    where = f" on {facts['machine']}" if facts["machine"] else ""
    parts = [f"{facts['state']}{where}"]
    if facts["done"] is not None:
        parts.append(f"{100 * facts['done']:.0f} % done")
    if facts["middle"] is not None:
        parts.append(f"expected end {_date(facts['middle'])} ({_band(facts)}, 80 % band)")
    if facts["why"]:
        parts.append(str(facts["why"]))
    return ", ".join(parts)


def _vault_of(guest: SubmittedGuest) -> Vault:
    return checkpoints.open_vault(guest.stores, key=Path(guest.key) if guest.key else None)


def history_of(guest: SubmittedGuest) -> RunHistory:
    """Return what became of a guest so far. Raises InputError where its vault does not answer."""
    with _vault_of(guest) as vault:
        return runs.look_at_run(vault, guest.name)[0]
