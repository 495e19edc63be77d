"""Actions as commands: every word, and nothing of a user's that could become another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forestall.slurm.cluster.actions import (
    DrainNode,
    Exclude,
    Hold,
    RebootNode,
    Requeue,
    Reserve,
    ResumeNode,
    SignalJob,
    StartNow,
    Submit,
)
from forestall.slurm.control import orders
from forestall.slurm.simulation.moves import waiting
from forestall.slurm.simulation.state import SlurmState

JOB = waiting(SlurmState(1000), "u", "x", 1, 60)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=80)


def test_submit() -> None:
    action = Submit(
        "p17", "#!/bin/sh\ntrue\n", 16, 21_601, name="train", words="my words", partition="main",
        account="science", qos="high", features="ib&big", reservation="forestall_p17",
        excluded=("n3", "n4", "n7"), begin=1_800_000_000, requeue="expedite", signal="B:USR1@300",
        directory="/home/ada", output="/dev/null",
    )  # fmt: skip
    order = orders.submit(action)
    assert order.given == b"#!/bin/sh\ntrue\n"
    assert order.words == (
        "sbatch", "--parsable", "--job-name=train", "--comment=forestall:p17 my words",
        "--nodes=16",
        "--time=361", "--partition=main", "--account=science", "--qos=high", "--constraint=ib&big",
        "--reservation=forestall_p17", "--exclude=n[3-4,7]", "--begin=uts1800000000",
        "--signal=B:USR1@300", "--chdir=/home/ada", "--output=/dev/null", "--requeue=expedite",
    )  # fmt: skip
    plain = orders.submit(Submit("p1", "#!/bin/sh\n", 1, 60, requeue="no"))
    assert plain.words == (
        "sbatch", "--parsable", "--job-name=forestall", "--comment=forestall:p1", "--nodes=1",
        "--time=1", "--no-requeue",
    )  # fmt: skip


def test_reserve() -> None:
    action = Reserve("p17", 1_800_000_000, 3601, 16, ("ada", "bob"), ("science",), "main", "ib*2")
    assert orders.reserve(action).words == (
        "scontrol", "create", "reservation", "ReservationName=forestall_p17",
        "StartTime=uts1800000000", "Duration=61", "NodeCnt=16", "Users=ada,bob", "Accounts=science",
        "PartitionName=main", "Features=ib*2",
        "Flags=FLEX,REPLACE_DOWN,PURGE_COMP,NO_HOLD_JOBS_AFTER",
    )  # fmt: skip
    deleted = orders.delete_reservation("p17")
    assert deleted.words == ("scontrol", "delete", "ReservationName=forestall_p17")


def test_the_others() -> None:
    told = {
        orders.requeue(Requeue("q1", 7, 0)): ("scontrol", "requeue", "7"),
        orders.start_now(StartNow("w1", 7)): ("scontrol", "update", "JobId=7", "StartTime=now"),
        orders.hold(Hold("h1", 7), JOB): (
            "scontrol", "update", "JobId=7", "Priority=0",
            "AdminComment=forestall:hold=h1 forestall:act=h1",
        ),
        orders.release(7): ("scontrol", "release", "7"),
        orders.signal(SignalJob("s1", 7, "USR1")): ("scancel", "--batch", "--signal=USR1", "7"),
        orders.exclude(Exclude("e1", 7, ("n9",)), JOB, ("n8",)): (
            "scontrol", "update", "JobId=7", "ExcNodeList=n[8-9]", "AdminComment=forestall:act=e1",
        ),
        orders.drain(DrainNode("d1", "n1", "fails: 31 %")): (
            "scontrol", "update", "NodeName=n1", "State=DRAIN",
            "Reason=forestall: fails: 31 % [d1]",
        ),
        orders.resume(ResumeNode("r1", "n1", "d1")): (
            "scontrol", "update", "NodeName=n1", "State=RESUME",
        ),
        orders.reboot(RebootNode("b1", "n1", "d1", "sick")): (
            "scontrol", "reboot", "ASAP", "nextstate=RESUME", "reason=forestall: sick [b1]", "n1",
        ),
    }  # fmt: skip
    for order, words in told.items():
        assert order.words == words
        assert order.given == b""


@given(TEXT, TEXT, TEXT)
def test_free_text_stays_within_its_word(name: str, words: str, output: str) -> None:
    action = Submit("p1", "#!/bin/sh\n", 1, 60, name=name, words=words, output=output)
    told = orders.submit(action).words
    options = [word.partition("=")[0] for word in told[1:]]
    known = {"--parsable", "--job-name", "--comment", "--nodes", "--time", "--output", "--requeue"}
    assert set(options) <= known
    assert len(options) == len(set(options))
    assert not name or f"--job-name={name}" in told
    reason = orders.drain(DrainNode("d1", "n1", words)).words[-1]
    assert reason.startswith("Reason=forestall: ")
    assert len(reason.splitlines()) == 1
