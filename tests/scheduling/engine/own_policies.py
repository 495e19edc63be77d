"""Policies in plain Python: shortest job first, and FCFS and EASY as compiled ones have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import forestall as fs
from forestall.core.model.decisions import Reason
from forestall.scheduling.engine.own import MachineView, Start, Waiting


class ShortestJobFirst(fs.Policy):
    """The shortest estimate first; nobody passes the first one."""

    def order(self, job: Waiting) -> int:
        return job.estimate


class FirstCome(fs.Policy):
    """FCFS, with the reason of the compiled one."""

    def select(self, queue: Sequence[Waiting], machine: MachineView) -> Iterator[Start]:
        for job in super().select(queue, machine):
            yield job.because(Reason.HEAD_OF_QUEUE)


class Easy(fs.Policy):
    """EASY backfilling, with the reasons of the compiled one."""

    def select(self, queue: Sequence[Waiting], machine: MachineView) -> Iterator[Start]:
        waiting = list(queue)
        while waiting and waiting[0].size <= machine.free:
            yield waiting.pop(0).because(Reason.HEAD_OF_QUEUE)
        if not waiting:
            return
        shadow, extra = machine.when_free(waiting[0].size)
        for job in waiting[1:]:
            in_time = machine.now + job.length <= shadow
            if job.size > machine.free or not (in_time or job.size <= extra):
                continue
            reason = Reason.ENDS_BEFORE_SHADOW if in_time else Reason.FITS_EXTRA_NODES
            yield job.because(reason, at=shadow, count=extra)
            extra -= 0 if in_time else job.size


class Nobody(fs.Policy):
    """Starts nothing."""

    def select(self, queue: Sequence[Waiting], machine: MachineView) -> Iterator[Waiting]:
        return iter(())
