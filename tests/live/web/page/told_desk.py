"""A desk of plain data: clusters of any size, and words as hostile as one likes."""

from __future__ import annotations

import random
from dataclasses import replace

from forestall.core.model.errors import InputError
from forestall.core.model.live.desk import (
    ActTold,
    ClusterTold,
    CostTold,
    DecileTold,
    JobOrder,
    JobTold,
    NodeTold,
    OfferTold,
    PredictorTold,
    PromiseTold,
    ProposalTold,
    QuoteQuestion,
    QuoteTold,
    RecordTold,
    Viewer,
)

NOW = 1_795_000_000
HOUR = 3600
PEOPLE = ("alice", "bob", "carol")
HOSTILE = (
    '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'
    "\u202e{{ 7*7 }}`${window.hurt=1}`"
)


class ToldDesk:
    """Says what it was made with; promises and decisions are kept, nothing is checked."""

    def __init__(self, nodes: int = 64, jobs: int = 40, seed: int = 1, now: int = NOW) -> None:
        self.chance = random.Random(seed)
        self.now, self.cycle, self.said = now, 41, ""
        self.asked, self.fails, self.simulated = 0, "", True
        self.orders: dict[str, JobOrder] = {}
        self._nodes = [self._node(k) for k in range(nodes)]
        self._jobs = [self._job(k, jobs) for k in range(jobs)]
        self._promises = [self._promise(one) for one in self._jobs if one.promise]
        self._promises += [self._over(k) for k in range(30)]
        self._proposals = [self._proposal(k) for k in range(6)]

    def _node(self, k: int) -> NodeTold:
        draw = self.chance.random()
        state, serves = ("MIXED", True) if draw < 0.5 else ("IDLE", True)
        if draw > 0.95:
            state, serves = ("DOWN*", False) if draw > 0.98 else ("IDLE+DRAIN", False)
        risk = self.chance.random() ** 8 * 0.3 + 0.001
        reason = "" if serves else "forestall: fails more often than its kind"
        return NodeTold(
            f"n{k:05d}", state, reason, serves, ("main",), 1 - risk if draw > 0.02 else None,
            "hazard", (100 + k,) if state == "MIXED" else (),
            self.now + self.chance.randrange(600, 40_000) if state == "MIXED" else None,
        )  # fmt: skip

    def _job(self, k: int, jobs: int) -> JobTold:
        runs = k < jobs * 0.4
        start = self.now + (-1 if runs else 1) * self.chance.randrange(300, 6 * HOUR)
        end = max(start, self.now) + self.chance.randrange(900, 9 * HOUR)
        promise = f"{k:04d}abcdef" if self.chance.random() < 0.4 else ""
        return JobTold(
            100 + k, PEOPLE[k % 3], HOSTILE if k == 3 else f"train-{k}", "main",
            "RUNNING" if runs else "PENDING", "None" if runs else "Resources",
            self.chance.choice((1, 1, 2, 4, 8)), (f"n{k:05d}",) if runs else (),
            self.now - 7 * HOUR, start if runs or k % 7 else None, end if runs or k % 7 else None,
            promise,
        )  # fmt: skip

    def _promise(self, job: JobTold) -> PromiseTold:
        probability = self.chance.choice((0.82, 0.93, 0.98, 0.9996))
        likely = probability - self.chance.choice((0.0, 0.0, 0.001, 0.2))
        end = job.end or self.now + 3 * HOUR
        acts = (
            ActTold(
                self.now - HOUR, "reserve", f"forestall_{job.promise}", "confirmed",
                "holds a promise",
            ),
            ActTold(
                self.now - 600, "signal", str(job.id), "carried out",
                f"n00007 fails with 21 %: {HOSTILE}",
            ),
        )  # fmt: skip
        return PromiseTold(
            job.promise, job.user, self.now - 2 * HOUR, end + self.chance.randrange(0, 2 * HOUR),
            probability, True, job.id, job.nodes, 2 * HOUR, job.start or self.now, "open", "", None,
            likely, end, acts if job.id % 2 else (),
        )  # fmt: skip

    def _over(self, k: int) -> PromiseTold:
        outcome = self.chance.choice(("kept", "kept", "kept", "missed", "void"))
        deadline = self.now - (k + 1) * HOUR
        return PromiseTold(
            f"{k:04d}fedcba", PEOPLE[k % 3], deadline - 9 * HOUR, deadline, 0.9, k % 2 == 0,
            k + 1, 2, HOUR, deadline - 4 * HOUR, outcome,
            "" if outcome == "kept" else "node failure",
            deadline - 900 if outcome == "kept" else None, None, None, (),
        )  # fmt: skip

    def _proposal(self, k: int) -> ProposalTold:
        state = "proposed" if k < 3 else ("confirmed", "refused", "expired")[k % 3]
        return ProposalTold(
            f"p{k}", "warden", ("drain", "reboot", "resume")[k % 3], f"n{k:05d}", state,
            "fails more often than its kind: 4 failures in 30 d",
            {"probability": 0.214, "cost of doing nothing": 91_000.0, "cost": 14_000.0}, "",
            self.now - 60 * (k + 1), self.now + 1800, "" if k < 3 else "by ops: not today",
        )  # fmt: skip

    def pass_time(self, seconds: int) -> None:
        """Let the cluster's clock pass."""
        self.now += seconds
        self.cycle += 1

    # ---------------------------------------------------------------------------- Desk

    def cluster(self, viewer: Viewer) -> ClusterTold:
        self.asked += 1
        if self.fails:
            raise InputError(self.fails)
        running = sum(one.state == "RUNNING" for one in self._jobs)
        mine = [one for one in self.promises(viewer) if one.outcome == "open"]
        waits = sum(one.state == "proposed" for one in self._proposals)
        return ClusterTold(
            self.now, self.now - 12, self.said, len(self._nodes),
            sum(one.in_service for one in self._nodes),
            sum(one.state == "MIXED" for one in self._nodes),
            len(self._jobs) - running, running, len(mine), waits, self.cycle, 0.21,
            {"advisor": "on", "keeper": "on", "warden": "approve"}, self.simulated,
        )  # fmt: skip

    def nodes(self, viewer: Viewer) -> list[NodeTold]:
        if viewer.operates:
            return self._nodes
        return [replace(one, reason="", jobs=()) for one in self._nodes]

    def jobs(self, viewer: Viewer) -> list[JobTold]:
        return [
            one if viewer.operates or one.user == viewer.name
            else replace(one, user="", name="", promise="")
            for one in self._jobs
        ]  # fmt: skip

    def quote(self, viewer: Viewer, question: QuoteQuestion) -> QuoteTold:
        if question.nodes > len(self._nodes):
            raise InputError(f"{question.nodes} nodes: the cluster has {len(self._nodes)}")
        offers = tuple(
            OfferTold(
                f"{viewer.name}-{k}", self.now + 600 * k, self.now + question.time + 1800 * (k + 1),
                chance, k > 0, self.now + 300, RecordTold(chance - 0.05, chance, 412, 371, ""),
                ("start held by a reservation", "n00007 is left out"),
            )
            for k, chance in enumerate((0.81, 0.9, 0.957, 0.994))
        )  # fmt: skip
        by = (
            None
            if question.by is None
            else next((o for o in reversed(offers) if o.deadline <= question.by), None)
        )
        return QuoteTold(self.now, offers, by)

    def accept(self, viewer: Viewer, offer: str, order: JobOrder) -> PromiseTold:
        made = replace(
            self._promises[1], id=offer, owner=viewer.name, outcome="open", at=self.now, job=9000,
            deadline=self.now + 2 * HOUR, done=(), probability=0.9, likely=0.9,
        )  # fmt: skip
        if not order.script:
            options = (f"--comment=forestall:{offer}.0f", "--nodes=4", "--exclude=n[1-2]")
            made = replace(made, job=None, submit=options, submit_by=self.now + 300)
        self._promises.insert(0, made)
        self.orders[offer] = order
        return made

    def promises(self, viewer: Viewer, *, ended: bool = True, most: int = 500) -> list[PromiseTold]:
        return [
            one for one in self._promises
            if (viewer.operates or one.owner == viewer.name) and (ended or one.outcome == "open")
        ][:most]  # fmt: skip

    def promise(self, viewer: Viewer, name: str) -> PromiseTold:
        return next(one for one in self.promises(viewer) if one.id.startswith(name))

    def proposals(self, viewer: Viewer, *, most: int = 500) -> list[ProposalTold]:
        if not viewer.operates:
            raise InputError("proposals are for operators")
        return self._proposals[:most]

    def decide(self, viewer: Viewer, proposal: str, approved: bool, why: str) -> ProposalTold:
        if not viewer.operates:
            raise InputError("proposals are for operators")
        for k, one in enumerate(self._proposals):
            if one.id == proposal and one.state == "proposed":
                state = "approved" if approved else "refused"
                self._proposals[k] = replace(one, state=state, why=f"by {viewer.name}: {why}")
                return self._proposals[k]
        raise InputError(f"proposal {proposal} is not there any more")

    def calibration(self, viewer: Viewer) -> list[DecileTold]:
        rows = []
        for k in range(10):
            low, made, void = k / 10, 12 * k * k, k
            settled, share = made - void, min(low + 0.06, 1.0)
            kept = round(settled * share)
            spread = 1.96 * (share * (1 - share) / max(settled, 1)) ** 0.5
            least, most = max(0.0, share - spread), min(1.0, share + spread)
            rows.append(DecileTold(low, low + 0.1, made, kept, void, low + 0.055, least, most))
        return rows

    def predictors(self, viewer: Viewer) -> list[PredictorTold]:
        return [
            PredictorTold("hazard", 1204, 61, 0.048, 0.0412),
            PredictorTold("health line", 310, 22, 0.12, 0.0611),
        ]

    def costs(self, viewer: Viewer) -> list[CostTold]:
        return [
            CostTold("keeper", "requeue", 12, 9, 91_000.0, 402_000.0),
            CostTold(
                "warden",
                "drain",
                5,
                3,
                30_000.0,
                122_000.0,
                2,
                1,
                90_000.0,
                64_800.0,
                12_200.0,
                117_300.0,
            ),
        ]
