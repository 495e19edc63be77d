"""Real HTCondor daemons: machines publish what agents say, and jobs choose by it.

Whoever changes what an agent says waits until the collector has it: a second or two here, where
everything is asked for every second.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from condor_pool import trixie
from condor_pool.pool import MANAGER, Pool, namespace, processes_with
from forestall.sharing.agent.guests import registered_guests
from forestall.sharing.api.condor import condor_config, register_condor, submit_lines, write_ad

SOURCES = Path(sys.modules["forestall"].__path__[0])
pytestmark = pytest.mark.slow
SAID = ("State", "Available", "Reliability1h", "Reliability4h", "Mttf", "Load", "Updated", "Host")

_COMMAND = """\
#!/usr/bin/python3
import sys
sys.path.insert(0, "/pool/src")
from forestall.sharing.api.condor import read_ad
assert sys.argv[1:4] == ["agent", "ad", "--folder"]
sys.stdout.write(read_ad(sys.argv[4]))
"""


def active(lines: str, name: str) -> str:
    """Take away the # before one of the lines."""
    assert lines.count(f"\n#{name} =") == 1
    return lines.replace(f"\n#{name} =", f"\n{name} =")


def manager_lines() -> str:
    told = active(condor_config("/agent"), "NEGOTIATOR_PRE_JOB_RANK")
    return "".join(line for line in told.splitlines(True) if line.startswith("NEGOTIATOR"))


@pytest.fixture(scope="module")
def running() -> Iterator[Pool]:
    """Alpha publishes by the file, beta by the command and heeds START, gamma has no agent and less
    memory."""
    if reason := trixie.why_not():
        pytest.skip(reason)
    alpha = condor_config(Pool.agent_inside("alpha"), every=1)
    beta = active(
        condor_config(
            Pool.agent_inside("beta"), every=1, way="command", command="/pool/forestall-command"
        ),
        "START",
    )
    machines: dict[str, dict[str, object]] = {
        "alpha": {"config": alpha},
        "beta": {"config": beta},
        "gamma": {"memory": 1000},
    }
    made = Pool(machines, manager=manager_lines())
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCES, made.folder / "src" / "forestall", ignore=skipped)
    command = made.folder / "forestall-command"
    command.write_text(_COMMAND)
    command.chmod(0o755)
    with made:
        yield made


@pytest.fixture
def pool(running: Pool) -> Pool:
    """The pool without the jobs of a test that failed."""
    if running.command("condor_q", "-allusers", "-af", "ClusterId").split():
        running.command("condor_rm", "-all", check=False)
    return running


def status(
    *reliability: float, state: str = "S1", age: int = 0, **more: object
) -> dict[str, object]:
    """Return what an agent says, as of `age` seconds ago, for 1, 2, 4 and 8 hours; a single number
    stands for all."""
    each = reliability * 4 if len(reliability) == 1 else reliability
    told = dict(zip(("1h", "2h", "4h", "8h"), each, strict=True)) if each else None
    time_of = int(time.time()) - age
    known = {"reliability": told, "mttf": 3600.4 if each else None}
    return {"host": "some", "time": time_of, "state": state, "cpu": 0.125} | known | more


def say(pool: Pool, **statuses: dict[str, object]) -> None:
    """Have the agents of machines say something, and wait until the collector has it."""
    wanted = {}
    for name, told in statuses.items():
        folder = pool.agent(name)
        (folder / "status.json").write_text(json.dumps(told))
        write_ad(folder)
        each = told["reliability"]
        assert each is None or isinstance(each, dict)
        wanted[name] = [
            str(told["time"]),
            told["state"],
            f"{each['4h']:g}" if each else "undefined",
        ]
    names = ("ForestallUpdated", "ForestallState", "ForestallReliability4h")

    def there() -> bool:
        now = pool.slots(*names)
        return all(now.get(name) == each for name, each in wanted.items())

    pool.until(f"{' and '.join(wanted)} publish", there)


def chosen(pool: Pool, *hours: float) -> list[str]:
    """Run a job of each number of hours, one after the other; returns where they ran."""
    return [pool.said(pool.submit(submit_lines(each))) for each in hours or (4,)]


def test_every_machine_has_a_network_of_its_own(pool: Pool) -> None:
    networks: dict[str, set[str]] = {}
    for process in pool.processes():
        with contextlib.suppress(OSError):  # it has just ended
            name = Path(f"/proc/{process}/comm").read_text().strip()
            networks.setdefault(name, set()).add(os.readlink(f"/proc/{process}/ns/net"))
    assert len(networks["condor_startd"]) == len(pool.machines)
    assert len(networks["condor_schedd"]) == 1
    assert not networks["condor_startd"] & networks["condor_schedd"]
    told = pool.slots("MyAddress")
    assert len({each.split(":")[0] for (each,) in told.values()}) == len(pool.machines)


def test_the_machine_that_is_likelier_to_stay_is_taken_whichever_it_is(pool: Pool) -> None:
    say(pool, alpha=status(0.9, 0.8, 0.7, 0.6), beta=status(0.9, 0.8, 0.5, 0.6))
    assert chosen(pool, 4, 4) == ["alpha", "alpha"]
    say(pool, beta=status(0.9, 0.8, 0.75, 0.6))
    assert chosen(pool) == ["beta"]


def test_a_job_asks_for_as_long_as_it_takes(pool: Pool) -> None:
    say(pool, alpha=status(0.99, 0.8, 0.6, 0.2), beta=status(0.9, 0.8, 0.7, 0.6))
    assert chosen(pool, 1, 8) == ["alpha", "beta"]
    # 0.99 ** 0.4 * 0.8 ** 0.6 = 0.871, 0.9 ** 0.4 * 0.8 ** 0.6 = 0.839; and with squares at 16 h
    assert chosen(pool, 1.6, 16) == ["alpha", "beta"]


def test_everything_said_is_published_and_what_is_not_known_is_undefined(pool: Pool) -> None:
    names = [f"Forestall{name}" for name in SAID]
    say(pool, alpha=status(0.9, 0.8, 0.7, 0.6, host='al"pha\\lab é', state="S2"))
    now = pool.slots(*names)["alpha"]
    assert now[:6] == ["S2", "true", "0.9", "0.7", "3600", "0.125"]
    assert now[7] == 'al"pha\\lab é'
    assert abs(int(now[6]) - time.time()) < 60
    say(pool, alpha=status(state="S4"))
    now = pool.slots(*names)["alpha"]
    assert now[:6] == ["S4", "false", "undefined", "undefined", "undefined", "0.125"]
    assert now[7] == "some"
    assert pool.slots(*names)["gamma"] == ["undefined"] * len(names)


def test_what_is_stale_counts_as_not_known(pool: Pool) -> None:
    say(pool, alpha=status(0.99, age=700), beta=status(0.2))
    assert chosen(pool) == ["beta"]
    (pool.agent("alpha") / "condor.ad").unlink()  # the startd keeps what it read before
    assert chosen(pool) == ["beta"]
    say(pool, alpha=status(0.99, age=300))
    assert chosen(pool) == ["alpha"]


def test_a_machine_without_an_agent_or_with_a_silent_one_is_used(pool: Pool) -> None:
    say(pool, alpha=status(0.9, state="S3", age=700))
    for name in ("gamma", "alpha"):
        only = submit_lines(4).rstrip("\n") + f' && Machine == "{name}"\n'
        assert pool.said(pool.submit(only)) == name


def test_a_machine_in_use_by_its_owner_is_left_alone_until_it_is_free(pool: Pool) -> None:
    say(pool, alpha=status(0.9, state="S3"), beta=status(0.1))
    only = submit_lines(4).rstrip("\n") + ' && Machine == "alpha"\n'
    waiting = pool.submit(only)
    assert chosen(pool) == ["beta"]  # so there was a cycle in which it could have been taken
    assert not pool.ran(waiting)
    say(pool, alpha=status(0.9))
    assert pool.said(waiting) == "alpha"


def test_start_keeps_away_jobs_that_ask_for_nothing_while_the_owner_needs_it(pool: Pool) -> None:
    say(pool, beta=status(0.9, state="S4"))
    waiting = pool.submit('requirements = Machine == "beta"')
    assert pool.said(pool.submit()) != "beta"
    assert not pool.ran(waiting)
    say(pool, beta=status(0.9, state="S4", age=700))
    assert pool.said(waiting) == "beta"


def test_by_its_default_the_manager_prefers_less_memory_to_the_rank_of_a_job(pool: Pool) -> None:
    """What the printed configuration is there for; where this fails it can go."""
    say(pool, alpha=status(0.9))
    assert chosen(pool) == ["alpha"]
    default = "(10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED))"
    part = " - (100000 * Cpus) - Memory"
    there = pool.command("condor_config_val", "-dump", "NEGOTIATOR_PRE_JOB_RANK", name="alpha")
    assert f"{default}{part}" in there
    try:
        pool.configure(MANAGER, f"NEGOTIATOR_PRE_JOB_RANK = {default}{part}\n")
        pool.until("gamma is taken", lambda: chosen(pool) == ["gamma"], 20)
    finally:
        pool.configure(MANAGER, manager_lines())
        pool.until("alpha is taken", lambda: chosen(pool) == ["alpha"], 20)


def test_what_an_agent_at_work_says_is_published(pool: Pool) -> None:
    folder = pool.agent("alpha")
    call = (sys.executable, "-m", "forestall", "agent", "--folder", str(folder), "--no-listen")
    begin = int(time.time())
    agent = subprocess.Popen(
        (*call, "--period", "1s", "--quiet", "--beside"),
        env=environment(),
        stdin=subprocess.DEVNULL,
    )
    try:
        names = ("ForestallUpdated", "ForestallState", "ForestallAvailable", "ForestallLoad")

        def there() -> bool:
            updated, *_, host = pool.slots(*names, "ForestallHost")["alpha"]
            return updated.isdigit() and int(updated) >= begin and host != "some"

        pool.until("the agent's word is published", there)
        _, state, available, load = pool.slots(*names)["alpha"]
    finally:
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(20) == 0
    assert state in {"S1", "S2", "S3", "S4"}
    assert available == ("true" if state in {"S1", "S2"} else "false")
    assert 0 <= float(load) <= 1
    mine = {guest.pid for guest in registered_guests(folder)} & set(pool.processes())
    assert len(mine) == 1 + len(pool.machines)


def test_jobs_of_htcondor_are_guests_of_the_agent(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "guests").mkdir()
    gone = tmp_path / "guests" / "htcondor-1.json"
    gone.write_text('{"pid": 1, "pgid": 1, "cgroup": null, "created": 0.0}')
    mine = set(register_condor(tmp_path)) & set(pool.processes())
    assert len(mine) == 1 + len(pool.machines)
    assert mine <= {guest.pid for guest in registered_guests(tmp_path)}
    assert not gone.exists()


def test_nothing_is_left_of_a_pool() -> None:
    if reason := trixie.why_not():
        pytest.skip(reason)
    with Pool({}) as small:
        space = namespace(small.processes()[0])
        assert len(small.processes()) > 4
        inside = small.folder
    assert not processes_with(space)
    assert not inside.exists()
    assert str(inside) not in Path("/proc/self/mountinfo").read_text()


def test_a_pool_dies_with_whoever_started_it() -> None:
    if reason := trixie.why_not():
        pytest.skip(reason)
    script = (
        "import time; from condor_pool.pool import Pool, namespace\n"
        "with Pool({}) as pool:\n"
        "    print(namespace(pool.processes()[0]), pool.folder, flush=True)\n"
        "    time.sleep(60)\n"
    )
    owner = subprocess.Popen(
        (sys.executable, "-c", script), env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    try:
        space, folder = owner.stdout.readline().split()
        assert processes_with(space)
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.communicate()
    until(lambda: not processes_with(space))
    trixie.remove(Path(folder))


def environment() -> dict[str, str]:
    """Return variables by which another Python finds the same modules."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


# ------------------------------------------------------------------------------- the programs


def test_without_root_or_programs_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "needs root" in trixie.why_not.__wrapped__()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(trixie, "PATH", "/nowhere")
    assert "debootstrap" in (said := trixie.why_not.__wrapped__())
    assert "Debian: debootstrap" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="a folder of Debian's trixie needs root")
def test_a_mirror_that_does_not_answer_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FORESTALL_CONDOR", str(tmp_path / "kept" / "trixie"))
    monkeypatch.setattr(trixie, "mirror", lambda: "http://127.0.0.1:9/debian")
    if "could not be made" not in (said := trixie.why_not.__wrapped__()):
        pytest.skip(said)  # no programs here, or no namespaces
    assert "http://127.0.0.1:9/debian/dists/trixie/InRelease does not answer" in said
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["trixie.lock"]
