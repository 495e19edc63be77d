"""From promises at risk, and from what is left of them, to intents for the keeper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from forestall.core.model.live.intents import Action, Intent
from forestall.core.model.marks import RESERVATION, reservation_name
from forestall.live.guard.sight import GONE, ClusterSight
from forestall.live.ledger.rows import PromiseRow
from forestall.live.slurm.actor import AVOID
from forestall.live.slurm.answers import AtRisk, answers, figures
from forestall.live.slurm.limits import stopped
from forestall.live.slurm.mind import Mind, PlannedRun
from forestall.live.slurm.outlook import STEERED
from forestall.live.slurm.reconcile import holds_nodes, length_of
from forestall.prediction.watching.foreseen import NodeForecast
from forestall.slurm.cluster.nouns import ClusterJob, ClusterSnapshot


@dataclass(frozen=True)
class Keeping:
    """All that intents are made of in a cycle.

    Attributes
    ----------
    carried : the job of each open promise, where it is seen
    saved : tells when the run of a promise's job, begun at a moment, last did a checkpoint
    cycle, now : its number, and s since 1970
    life : s after which an intent that was not carried out is not wanted any more
    """

    seen: ClusterSnapshot
    sight: ClusterSight
    mind: Mind
    promises: Mapping[str, PromiseRow]
    carried: Mapping[str, ClusterJob]
    saved: Callable[[str, int], int]
    cycle: int
    now: int
    life: int

    def intents(self) -> Iterator[tuple[Intent, Mapping[str, NodeForecast]]]:
        """Yield what should be done for promises that are held, each with the predictions that
        mattered."""
        for name, promise in self.promises.items():
            job = self.carried.get(name)
            if promise.held and job is not None:
                yield from self._of_job(promise, job)
        for name in self.seen.reservations:
            identity = name.removeprefix(RESERVATION)
            if name.startswith(RESERVATION) and self._left(identity):
                reason = "its promise needs it no more"
                yield self.intend(Action.RELEASE, name, reason, promise=identity), {}

    def intend(
        self,
        action: Action,
        target: str,
        reason: str,
        numbers: Mapping[str, float] | None = None,
        *,
        size: int = 1,
        partition: str = "",
        promise: str = "",
    ) -> Intent:
        """Return an intent that is decided on now."""
        state = GONE if action is Action.RESERVE else self.sight.standing(action, target)
        return Intent(
            action, target, self.now, self.now + self.life, state, reason, dict(numbers or {}),
            size, partition, promise, self.cycle,
        )  # fmt: skip

    def _left(self, identity: str) -> bool:
        """Whether a reservation of ours serves nobody: its promise is closed, its job does not ask
        for it, or may not start for its partition, now that it could."""
        if identity not in self.promises:
            one = self.sight.reservations[reservation_name(identity)]
            return one.as_made  # others may have such names: those are not as we made them
        job = self.carried.get(identity)
        if job is None:
            return False
        idle = self.seen.reservations[reservation_name(identity)].start <= self.now
        useless = idle and stopped(job, self.seen.partitions)
        return bool(useless) or job.reservation != reservation_name(identity)

    def _of_job(
        self, promise: PromiseRow, job: ClusterJob
    ) -> Iterator[tuple[Intent, Mapping[str, NodeForecast]]]:
        again = job.waits and job.restarts > 0 and job.reason == "BeginTime"
        again = again or (job.held and bool(job.mark.hold))  # left by who died half-way
        plan = self._plan(job)
        risky = {} if plan is None else self._risky(plan, holds_nodes(job))
        if again:
            away = {name: one for name, one in self.mind.outlook.items()
                    if one.is_acted_on(self.now, self.now + length_of(job))}  # fmt: skip
            reason = "queued again: it need not wait to start"
            numbers = self._avoid(job, away)
            target = str(job.id)
            yield self.intend(Action.START, target, reason, numbers, promise=promise.id), away
        elif plan is not None and risky:
            found = self._at_risk(promise, job, plan, risky)
            if found is not None:
                yield found, risky

    def _plan(self, job: ClusterJob) -> PlannedRun | None:
        if holds_nodes(job):
            start = job.start or self.now
            return PlannedRun(start, start + length_of(job), job.nodes)
        return self.mind.plan_of(job.id)

    def _risky(self, plan: PlannedRun, running: bool) -> dict[str, NodeForecast]:
        """Return the nodes of a run or reservation that are foreseen to fail before it ends; those
        that promises are only kept away from do not count for a job that has begun."""
        outlook = self.mind.outlook
        return {
            name: outlook[name]
            for name in plan.nodes
            if name in outlook and self._matters(outlook[name], plan)
            and not (running and outlook[name].by.startswith(STEERED))
        }  # fmt: skip

    def _matters(self, one: NodeForecast, plan: PlannedRun) -> bool:
        """Whether something may be done about a failure for a run; one that should have come by now
        has come, or was wrong."""
        begin = max(self.now, plan.start)
        return any(
            (part.curve or part.at >= self.now) and part.is_acted_on(begin, plan.end)
            for part in one.parts
        )

    def _at_risk(
        self,
        promise: PromiseRow,
        job: ClusterJob,
        plan: PlannedRun,
        risky: Mapping[str, NodeForecast],
    ) -> Intent | None:
        """Return the cheapest answer as an intent, None where that is to do nothing."""
        running = job.state == "RUNNING"
        saved = self.saved(promise.id, plan.start) if running else plan.start
        kept, begin = 1.0, max(self.now, plan.start)
        for one in risky.values():
            kept *= 1.0 - one.risk(begin, plan.end)
        avoid = self._avoid(job, risky)
        length = max(plan.end - saved, 1)
        places = self.mind.places_for(job, length, self.now) if avoid else []
        delay = places[0].start - self.now if places else -1
        first = min(one.moment(begin, plan.end) for one in risky.values())
        case = AtRisk(
            job.node_count, self.now, first, 1.0 - kept, plan.start, plan.end, saved, running,
            delay, promise.deadline, frozenset(map(str, promise.consents)),
        )  # fmt: skip
        ranked = answers(case)
        best = ranked[0]
        if best.action is None or (best.action is Action.EXCLUDE and not _new(avoid, job)):
            return None
        names = ", ".join(sorted(risky)[:3]) + (" ..." if len(risky) > 3 else "")
        if best.action is Action.REQUEUE and "start" not in case.may:
            avoid = {}  # it may not be held, and let go, on its own: Slurm starts it where it likes
        reason = f"{names} likely to fail ({100 * (1 - kept):.0f} %) before it ends; {best.words}"
        numbers = {**figures(case, ranked), **avoid, "restarts": float(job.restarts),
                   "said": promise.probability}  # fmt: skip
        return self.intend(best.action, str(job.id), reason, numbers, promise=promise.id)

    def _avoid(self, job: ClusterJob, away: Mapping[str, NodeForecast]) -> dict[str, float]:
        """Return the figures that keep a job off nodes; none where too few others are left."""
        avoid = set(away) | set(job.excluded)
        left = [
            name
            for name, node in self.seen.nodes.items()
            if name not in avoid and node.in_service and job.partition in ("", *node.partitions)
        ]
        if len(left) < job.node_count:
            return {}
        return {f"{AVOID}{name}": float(one.at) for name, one in away.items()}


def _new(avoid: Mapping[str, float], job: ClusterJob) -> bool:
    return not {name[len(AVOID) :] for name in avoid} <= set(job.excluded)
