"""Actions refuse what could mean more than one thing to Slurm."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forestall.core.model.errors import ParameterError
from forestall.slurm.cluster.actions import (
    Action,
    DrainNode,
    Exclude,
    Hold,
    RebootNode,
    Requeue,
    Reserve,
    ResumeNode,
    SignalJob,
    Submit,
)
from forestall.slurm.cluster.rights import Right, right

WRONG: dict[str, Callable[[], Action]] = {
    "all nodes": lambda: DrainNode("a", "ALL", "x"),
    "all nodes, written small": lambda: Exclude("a", 1, ("all",)),
    "a list of nodes": lambda: ResumeNode("a", "n[1-3]", "d"),
    "two nodes": lambda: DrainNode("a", "n1,n2", "x"),
    "an option as a node": lambda: RebootNode("a", "-n1", "d", "x"),
    "a key as a node": lambda: DrainNode("a", "n1 State=DOWN", "x"),
    "no node": lambda: Exclude("a", 1, ()),
    "job 0": lambda: Hold("a", 0),
    "a job that is no number": lambda: Requeue("a", "1_2", 0),  # type: ignore[arg-type]
    "an option as a signal": lambda: SignalJob("a", 1, "--kill"),
    "an option as a partition": lambda: Submit("a", "#!", 1, 1, partition="-x"),
    "a feature with blanks": lambda: Submit("a", "#!", 1, 1, features="a Flags=MAINT"),
    "a user with a comma": lambda: Reserve("a", 1, 1, 1, users=("root,ALL",)),
    "a reservation for nobody": lambda: Reserve("a", 1, 1, 1),
    "no script": lambda: Submit("a", "sleep 1", 1, 1),
    "NUL in a name": lambda: Submit("a", "#!/bin/sh", 1, 1, name="a\0b"),
    "no nodes": lambda: Submit("a", "#!/bin/sh", 0, 1),
    "no time": lambda: Reserve("a", 1, 0, 1, users=("root",)),
    "another way to requeue": lambda: Submit("a", "#!/bin/sh", 1, 1, requeue="maybe"),
    "an id in capitals": lambda: Hold("A", 1),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_refused(wrong: Callable[[], Action]) -> None:
    with pytest.raises(ParameterError, match="expected"):
        wrong()


def test_rights() -> None:
    assert right(Submit("a", "#!/bin/sh", 1, 1)) is Right.USER
    assert right(Hold("a", 1)) is right(Reserve("a", 1, 1, 1, users=("u",))) is Right.OPERATOR
    assert right(DrainNode("a", "n1", "x")) is Right.ADMIN
