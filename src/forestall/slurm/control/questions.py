"""What is asked of Slurm by its commands: lists of words that change nothing."""

from __future__ import annotations

from typing import Final

from forestall.slurm import commands
from forestall.slurm.control.lines import JOB_FIELDS, RUN_FIELDS

Words = tuple[str, ...]

JSON_NODES: Final = (23, 11)
"""From here on `scontrol` tells nodes as JSON."""

_WIDEST: Final = {"Comment": 2000, "admin_comment": 2000, "Name": 500}


def version() -> Words:
    """Return the command that tells which version the commands are."""
    return ("sinfo", "--version")


def queue() -> Words:
    """Return the command for all jobs, those that ended a short while ago included."""
    return ("squeue", "--all", "--states=all", "--json")


def nodes(release: tuple[int, int]) -> Words:
    """Return the command for all nodes, as JSON where this version has it."""
    if release >= JSON_NODES:
        return ("scontrol", "--all", "--json", "show", "node")
    return ("scontrol", "--all", "--oneliner", "show", "node")


def reservations() -> Words:
    """Return the command for all reservations."""
    return ("scontrol", "--all", "--oneliner", "show", "reservation")


def partitions() -> Words:
    """Return the command for all partitions."""
    return commands.partitions()


def runs(since: int, fence: str, user: str = "") -> Words:
    """Return the command for the runs since a time, of one user where told."""
    whose = (f"--user={user}",) if user else ("--allusers",)
    first, _, *rest = commands.sacct(RUN_FIELDS, since)
    return (first, *whose, *rest, "--noheader", f"--delimiter={fence}")


def job(number: int, fence: str) -> Words:
    """Return the command for one job."""
    return (*_jobs(fence), f"--jobs={number}")


def jobs_of_user(user: str, fence: str) -> Words:
    """Return the command for the jobs of one user."""
    return (*_jobs(fence), f"--user={user}")


def _jobs(fence: str) -> Words:
    fields = ",".join(f"{name}:{_WIDEST.get(name, 40)}{fence}" for name in JOB_FIELDS)
    return ("squeue", "--noheader", "--all", "--states=all", f"--Format={fields}")


def avoided(number: int) -> Words:
    """Return the command for the nodes that a job avoids."""
    return ("squeue", "--noheader", "--all", "--states=all", "--format=%x", f"--jobs={number}")


def node(name: str) -> Words:
    """Return the command for one node."""
    return ("scontrol", "--all", "--oneliner", "show", "node", name)


def reservation(name: str) -> Words:
    """Return the command for one reservation."""
    return ("scontrol", "--all", "--oneliner", "show", "reservation", name)
