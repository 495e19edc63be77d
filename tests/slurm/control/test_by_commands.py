"""Slurm's commands played by scripts of ours: what is asked, and what is made of answers that are
cut short, late, too large, doubled or no. What real ones do is in `test_real_cluster`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.slurm.cluster.actions import DrainNode, Hold, Submit
from forestall.slurm.cluster.nouns import ClusterSnapshot
from forestall.slurm.control.by_commands import SlurmCommands, SlurmLimits

RECORDED = Path(__file__).parents[1] / "recorded"
RESERVATIONS = (
    "ReservationName=maint StartTime=1795296398 EndTime=1795299998 Nodes=n1 NodeCnt=1 "
    "Flags=MAINT Users=root Accounts=(null)\n"
)


class Played:
    """A folder of programs that answer from files and write down what they were asked."""

    def __init__(self, folder: Path, version: str) -> None:
        self.folder = folder
        self.version = version
        recorded = RECORDED / version
        nodes = "scontrol.node.json" if version > "23" else "scontrol.node.epoch.txt"
        self.put("squeue", (recorded / "squeue.json").read_bytes())
        self.put("sacct", b"")
        self.put("reservation", RESERVATIONS.encode())
        self.put("node", (recorded / nodes).read_bytes())
        self.program("sinfo", f"echo 'slurm {version}.1'")
        self.program("sacct", 'cat "$0.told"')
        self.program("squeue", 'cat "$0.told"')
        self.put("partition", (recorded / "scontrol.partition.txt").read_bytes())
        held = f'case " $* " in *" reservation"*) exec cat {folder}/reservation.told;; esac'
        parts = f'case " $* " in *" partition "*) exec cat {folder}/partition.told;; esac'
        self.program("scontrol", f"{held}\n{parts}\ncat {folder}/node.told")

    def put(self, name: str, raw: bytes) -> None:
        (self.folder / f"{name}.told").write_bytes(raw)

    def told(self, name: str) -> bytes:
        return (self.folder / f"{name}.told").read_bytes()

    def program(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.folder}/asked\n{script}\n')
        path.chmod(0o755)

    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().splitlines()


@pytest.fixture(params=["22.05", "24.11", "26.05"])
def played(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Played:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Played(tmp_path, request.param)


NOW = 1_795_293_000


def cluster(clock: Callable[[], float] = lambda: NOW, **limits: float) -> SlurmCommands:
    return SlurmCommands(SlurmLimits(**limits), clock)  # type: ignore[arg-type]


def fault(before: ClusterSnapshot | None = None, **limits: float) -> LookFault:
    with pytest.raises(LookError) as raised:
        cluster(**limits).look(before)
    assert "\n" not in str(raised.value)
    return raised.value.fault


def test_a_look_asks_each_question_once(played: Played) -> None:
    first = cluster().look()
    assert first.version == f"{played.version}.1"
    assert len(first.nodes) == 6
    assert list(first.reservations) == ["maint"]
    assert first.default == "main"
    assert "fill1" in {job.name for job in first.jobs.values()}
    programs = [line.split()[0] for line in played.asked()]
    assert programs == ["sinfo", *3 * ["scontrol"], "squeue", "sacct", "scontrol"]
    assert first.limits is None, "the last question, for the configuration, had no answer"
    assert "squeue --all --states=all --json" in played.asked()
    again = cluster(lambda: NOW + 30).look(first)
    assert again.mark == NOW + 30


def test_a_site_may_have_no_default_partition(played: Played) -> None:
    played.put("partition", played.told("partition").replace(b"Default=YES", b"Default=NO"))
    assert cluster().look().default == ""
    played.put("partition", b"slurm_load_partitions error\n")
    assert fault() is LookFault.UNREADABLE


@pytest.mark.parametrize("name", ["squeue", "node", "reservation", "partition"])
def test_cut_short(played: Played, name: str) -> None:
    raw = played.told(name)
    for share in (0.0, 0.3, 0.9):
        played.put(name, raw[: int(share * len(raw))])
        assert fault() in (LookFault.CUT, LookFault.UNREADABLE)


def test_cut_accounting_is_no_accounting(played: Played) -> None:
    first = cluster().look()
    played.put("sacct", b"12f")
    after = cluster(lambda: NOW + 30).look(first)
    assert after.accounting is not None
    assert after.accounting.fault is LookFault.CUT
    assert after.mark == first.mark


def test_doubled(played: Played) -> None:
    whole = json.loads(played.told("squeue"))
    whole["jobs"].append(whole["jobs"][0])
    played.put("squeue", json.dumps(whole).encode())
    assert fault() is LookFault.DOUBLED
    played.put("reservation", 2 * RESERVATIONS.encode())
    whole["jobs"].pop()
    played.put("squeue", json.dumps(whole).encode())
    assert fault() is LookFault.DOUBLED


def test_fewer_nodes(played: Played) -> None:
    before = cluster().look()
    raw = played.told("node")
    if raw.startswith(b"{"):
        whole = json.loads(raw)
        del whole["nodes"][3]
        played.put("node", json.dumps(whole).encode())
    else:
        played.put("node", b"".join(raw.splitlines(keepends=True)[:5]))
    assert fault(before) is LookFault.FEWER_NODES
    assert len(cluster().look().nodes) == 5


def test_an_answer_that_complains(played: Played) -> None:
    played.put(
        "squeue", b'{"jobs": [], "errors": [{"error": "Unable to contact slurm controller"}]}'
    )
    assert fault() is LookFault.UNREACHABLE


def test_late(played: Played) -> None:
    played.program("squeue", "exec sleep 30")
    assert fault(read=0.5) is LookFault.LATE


def test_too_large(played: Played) -> None:
    played.program("squeue", "exec head -c 3000000 /dev/zero")
    assert fault(most=1_000_000) is LookFault.TOO_LARGE


def test_away(played: Played) -> None:
    words = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    played.program("squeue", f"echo '{words}' >&2; exit 1")
    assert fault() is LookFault.UNREACHABLE


def test_no_accounting_here(played: Played) -> None:
    played.program("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    after = cluster().look()
    assert after.accounting is not None
    assert after.accounting.fault is LookFault.UNAVAILABLE


def test_signs_that_are_not_utf8(played: Played) -> None:
    played.put("squeue", played.told("squeue").replace(b'"fill1"', b'"f\xfcll1"'))
    after = cluster().look()
    assert after.replaced == 1
    assert "f\ufffdll1" in {job.name for job in after.jobs.values()}


# Actions -----------------------------------------------------------------------------------------


def write_fault(action: Submit | DrainNode | Hold, **limits: float) -> WriteFault:
    with pytest.raises(WriteError) as raised:
        cluster(**limits).act(action)
    assert "\n" not in str(raised.value)
    return raised.value.fault


SUBMIT = Submit("p1", "#!/bin/sh\ntrue\n", 1, 60)


def test_the_script_arrives_as_it_is(played: Played) -> None:
    played.put("squeue", b"")
    played.program("sbatch", f"cat > {played.folder}/script; echo '17;cluster'")
    assert cluster().act(SUBMIT).job == 17
    assert (played.folder / "script").read_text() == SUBMIT.script


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("exec sleep 30", WriteFault.AMBIGUOUS),
        ("echo submitted", WriteFault.AMBIGUOUS),
        ("exit 3", WriteFault.AMBIGUOUS),
        ("kill -9 $$", WriteFault.AMBIGUOUS),
        ("echo 'Socket timed out on send/recv operation' >&2; exit 1", WriteFault.AMBIGUOUS),
        ("echo 'Unable to contact slurm controller' >&2; exit 1", WriteFault.UNREACHABLE),
        ("echo 'Invalid partition name specified' >&2; exit 1", WriteFault.REFUSED),
    ],
)
def test_what_becomes_of_a_submission(played: Played, script: str, fault: WriteFault) -> None:
    played.put("squeue", b"")
    played.program("sbatch", script)
    assert write_fault(SUBMIT, write=0.6) is fault


def test_without_a_fresh_look_nothing_is_done(played: Played) -> None:
    played.program("sbatch", "echo 17")
    for words, kind in (
        ("Unable to contact slurm controller", WriteFault.UNREACHABLE),
        ("Access/permission denied", WriteFault.NOT_PERMITTED),
    ):
        played.program("squeue", f"echo '{words}' >&2; exit 1")
        assert write_fault(SUBMIT) is kind
    assert not any(line.startswith("sbatch") for line in played.asked())


def test_a_job_that_is_gone(played: Played) -> None:
    played.program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    assert write_fault(Hold("h1", 7)) is WriteFault.UNKNOWN_ID
