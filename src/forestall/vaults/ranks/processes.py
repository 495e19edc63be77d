"""Ranks as processes of this machine, linked along a tree by pipes: for files that were written
already, and for trying out what a program of many ranks would do."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import numpy as np

from forestall.core.model.errors import InputError
from forestall.vaults.ranks.members import Links, RankLostError
from forestall.vaults.ranks.states import Buffer
from forestall.vaults.ranks.tree import Tree

T = TypeVar("T")


class PipeLinks(Links):
    """Messages over pipes, to those ranks to which there is one."""

    def __init__(self, rank: int, size: int, pipes: dict[int, Connection]) -> None:
        self.rank, self.size, self._pipes = rank, size, pipes

    def send(self, to: int, message: Buffer) -> None:
        """Send bytes to a rank."""
        try:
            self._pipes[to].send_bytes(message.data)
        except OSError:
            raise RankLostError(f"rank {to} is gone") from None

    def receive(self, of: int) -> Buffer:
        """Wait for a rank's next message."""
        try:
            return np.frombuffer(self._pipes[of].recv_bytes(), np.uint8)
        except (EOFError, OSError):
            raise RankLostError(f"rank {of} is gone") from None


def piped(size: int, fanout: int) -> list[PipeLinks]:
    """Return the links of so many ranks, along their tree."""
    pipes: list[dict[int, Connection]] = [{} for _ in range(size)]
    made = [PipeLinks(rank, size, pipes[rank]) for rank in range(size)]
    for rank, links in enumerate(made):
        for child in Tree(links, fanout).children:
            pipes[rank][child], pipes[child][rank] = multiprocessing.Pipe()
    return made


def in_processes(work: Callable[..., T], given: Sequence[Any], fanout: int) -> list[T]:
    """Return ``work(links, one)`` of each of the `given`, each in a process of its own, in order.

    Raises InputError with what was wrong where one could not do it.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["forestall.vaults.ranks.sharing"])
    begun = []
    for links, one in zip(piped(len(given), fanout), given, strict=True):
        mine, theirs = context.Pipe()
        process = context.Process(target=_worked, args=(work, links, one, theirs), daemon=True)
        process.start()
        theirs.close()
        for pipe in links._pipes.values():
            pipe.close()
        begun.append((process, mine))
    found: list[T] = []
    wrong: list[str] = []
    for rank, (process, pipe) in enumerate(begun):
        try:
            well, told = pipe.recv()
        except EOFError:
            well, told = False, f"rank {rank} ended without reporting"
        process.join()
        if well:
            found.append(told)
        else:
            wrong.append(told)
    if wrong:
        raise InputError(wrong[0])
    return found


def _worked(work: Callable[..., Any], links: PipeLinks, one: Any, pipe: Connection) -> None:
    try:
        pipe.send((True, work(links, one)))
    except Exception as error:  # told to who asked
        pipe.send((False, str(error)))
