"""Tasks in virtual machines, simulated plainly from the written rules: the judge of the fast code.

Slow and obvious on purpose. There is no queue of events: at every step all that can come next is
listed from the state, and the least (second, kind, tie) of it happens. Work is in thousandths of a
processor-second, rates and capacities are in thousandths of a processor, times in whole seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from forestall.core.model.failures import Failures
from forestall.core.model.predictions import Predictions
from forestall.core.model.virtual import FAR, PROCESSOR, TaskEventKind
from forestall.core.model.virtual_books import Begun, Ended, MoveEnd
from forestall.core.streams import stream
from forestall.machines.rules.costs import MoveCosts
from forestall.machines.rules.overload import relieved, relieving
from forestall.machines.rules.sizes import Candidate, Size
from forestall.machines.simulation.outcome import VirtualWorkload
from forestall.machines.simulation.parameters import VirtualParameters

Row = tuple[int, ...]
Key = tuple[int, TaskEventKind, tuple[int, ...]]


@dataclass
class PlainOutcome:
    """What happened, as tuples with the fields of FATE, RUN (sorted), MOVE and STRUCK in their
    order."""

    jobs: list[Row] = field(default_factory=list)
    runs: list[Row] = field(default_factory=list)
    moves: list[Row] = field(default_factory=list)
    struck: list[Row] = field(default_factory=list)


@dataclass(eq=False)
class _Node:
    number: int
    free: int
    back: int | None = None  # when it recovers, while it is down
    predicted: int = FAR
    doubtful: bool = False
    leave: int | None = None  # when its machines are to leave it
    holds: int = 10**9  # machines that its memory has room for
    machines: int = 0
    has: int = 0
    above: int | None = None  # since when more of it is in use than its limit allows

    def __post_init__(self) -> None:
        self.has = self.free

    def gives(self) -> int:
        return self.free if self.machines < self.holds else 0

    def foreseen_before(self, deadline: int) -> bool:
        return self.doubtful or self.predicted < deadline

    def delta(self, t: int) -> int | None:
        """Return the seconds from t to the failure foreseen; None where there is none."""
        if self.doubtful:
            return 0
        return None if self.predicted == FAR else max(0, self.predicted - t)


@dataclass
class _Stay:
    node: int
    begun: Begun
    start: int
    runs_from: int
    rate: int
    left: int = 0  # work to be done when it begins to make progress
    phase: int = 0  # progress since the last checkpoint then, s


@dataclass
class _Task:
    job: int
    number: int
    left: int  # when its present stay began
    unsaved: int = 0  # of the work done then: what a failure would lose
    stay: _Stay | None = None
    reserved: _Stay | None = None  # on the target of a live migration, while memory is copied
    copied: int = 0  # when that is done
    arrival: int | None = None  # of one that was stopped and copied, where moves are learnt from
    move: list[int] = field(default_factory=list)
    waits: bool = False  # for a restart
    over: bool = False
    first: int = -1
    last: int = -1
    done: bool = False
    late: bool = False


@dataclass
class _Job:
    position: int
    submit: int
    deadline: int
    work: int
    tasks: list[_Task]
    arrived: bool = False
    waits: bool = False
    dropped: bool = False
    deadline_came: bool = False

    def over(self) -> bool:
        return self.dropped or all(task.over for task in self.tasks)


@dataclass(frozen=True)
class _Progress:
    """Of a stay, up to some moment: seconds of progress; checkpoints completed; seconds of progress
    at the last of them; seconds of progress since a checkpoint (the interval: one is due)."""

    seconds: int
    checkpoints: int
    saved: int
    phase: int


def migration_seconds(parameters: VirtualParameters) -> tuple[int, int]:
    """Return the seconds of copying while the machine runs on, and those of its standstill."""
    if parameters.migration == "none":
        return 0, 0
    memory, link = parameters.vm_memory, parameters.link
    if parameters.migration == "stop-and-copy":
        return 0, parameters.migration_cost if memory is None else math.ceil(memory / link)
    if memory is None:
        return parameters.migration_cost, math.ceil(parameters.max_downtime)
    copying, sent, rest = 0.0, 0.0, memory
    for _ in range(29):
        if rest / link <= parameters.max_downtime or sent + rest > 3 * memory:
            break
        copying += rest / link
        sent += rest
        rest = min(memory, parameters.dirty_rate * (rest / link))
    return math.ceil(copying), math.ceil(rest / link)


def simulate_plainly(
    workload: VirtualWorkload,
    failures: Failures,
    predictions: Predictions,
    parameters: VirtualParameters,
) -> PlainOutcome:
    """Return what happens to the jobs, by the rules; `failures` are all there are, also where
    they are to repeat."""
    return _Simulation(workload, failures, predictions, parameters).play()


class _Simulation:
    def __init__(
        self,
        workload: VirtualWorkload,
        failures: Failures,
        predictions: Predictions,
        parameters: VirtualParameters,
    ) -> None:
        self.p = parameters
        self.copy, self.standstill = migration_seconds(parameters)
        self.costs = MoveCosts(parameters.migration_cost, 0.0)
        self.memory = (parameters.vm_memory or 0.0) * 2**20
        self.limit = Fraction(round(1000 * (parameters.overload_limit or 0)), 1000)
        self.most = round(1000 * parameters.task_processors)
        self.least = round(1000 * parameters.least_rate)
        self.periodic = parameters.checkpoint == "periodic"
        self.nodes = nodes_of(parameters)
        self.jobs = [
            _Job(
                j, int(workload.jobs.submit[j]), int(workload.deadline[j]), int(workload.work[j]),
                [_Task(j, i, int(workload.work[j])) for i in range(int(workload.jobs.size[j]))],
            )
            for j in range(len(workload.jobs))
        ]  # fmt: skip
        self.live = list(self.jobs)
        self.failures = failures
        self.struck_so_far = 0
        self.rows = [
            (known, node, at)
            for known, node, at in zip(
                predictions.known.tolist(),
                predictions.node.tolist(),
                predictions.expected.tolist(),
                strict=True,
            )
            if node < parameters.nodes
        ]
        self.foreseen_so_far = 0
        tasks = [task for job in self.jobs for task in job.tasks]
        drawn = stream(parameters.seed, "virtual", "random-select").random(len(tasks))
        self.first_draw = {
            (task.job, task.number): float(u) for task, u in zip(tasks, drawn, strict=True)
        }
        self.more_draws = stream(parameters.seed, "virtual", "random-moves")
        self.now = 0
        self.out = PlainOutcome()
        self.moved: list[list[int]] = []

    # --------------------------------------------------------------------------- what happens

    def play(self) -> PlainOutcome:
        passed = True
        while self.live:
            coming = min(self.coming(), default=None)
            if not passed and (coming is None or coming[0] > self.now):
                self.place_all()
                self.watch()
                passed = True
                continue
            assert coming is not None, "a job is left, and nothing will ever happen"
            self.now, kind, key = coming
            self.happen(kind, key)
            self.live = [job for job in self.live if not job.over()]
            passed = False
        self.out.jobs = [self.fate(job) for job in self.jobs]
        self.out.moves = [tuple(move) for move in self.moved]
        self.out.runs.sort()
        return self.out

    def coming(self) -> Iterator[Key]:
        """List all that can come next."""
        for task in self.tasks():
            if task.stay is not None:
                yield self.end_of(task.stay), TaskEventKind.TASK_ENDED, (task.job, task.number)
            if task.reserved is not None:
                yield task.copied, TaskEventKind.MIGRATION_ENDED, (task.job, task.number)
            elif task.arrival is not None:
                yield task.arrival, TaskEventKind.MIGRATION_ENDED, (task.job, task.number)
        for job in self.live:
            if job.arrived and not job.deadline_came:
                yield job.deadline, TaskEventKind.DEADLINE, (job.position,)
        for node in self.nodes:
            if node.back is not None:
                yield node.back, TaskEventKind.NODE_RECOVERED, (node.number,)
            if node.leave is not None:
                yield node.leave, TaskEventKind.LEAVE_DUE, (node.number,)
            if node.above is not None:
                too_long = node.above + self.p.overload_hold
                yield too_long, TaskEventKind.OVERLOADED, (node.number,)
        k = self.struck_so_far
        if k < len(self.failures):
            time, number = int(self.failures.time[k]), int(self.failures.node[k])
            yield time, TaskEventKind.NODE_FAILED, (number, k)
        if self.foreseen_so_far < len(self.rows):
            known, number, _ = self.rows[self.foreseen_so_far]
            yield known, TaskEventKind.FORESEEN, (number,)
        for job in self.live:
            if not job.arrived:
                yield job.submit, TaskEventKind.SUBMITTED, (job.position,)

    def happen(self, kind: TaskEventKind, key: tuple[int, ...]) -> None:
        if kind == TaskEventKind.TASK_ENDED:
            self.task_ended(self.jobs[key[0]].tasks[key[1]])
        elif kind == TaskEventKind.MIGRATION_ENDED:
            self.migration_ended(self.jobs[key[0]].tasks[key[1]])
        elif kind == TaskEventKind.DEADLINE:
            self.deadline_comes(self.jobs[key[0]])
        elif kind == TaskEventKind.NODE_RECOVERED:
            self.nodes[key[0]].back = None
        elif kind == TaskEventKind.NODE_FAILED:
            self.node_fails(self.nodes[key[0]], key[1])
        elif kind == TaskEventKind.FORESEEN:
            self.foresee(self.nodes[key[0]], self.rows[self.foreseen_so_far][2])
        elif kind == TaskEventKind.LEAVE_DUE:
            self.leave(self.nodes[key[0]])
        elif kind == TaskEventKind.OVERLOADED:
            self.relieve(self.nodes[key[0]])
        else:
            job = self.jobs[key[0]]
            job.arrived = job.waits = True

    def task_ended(self, task: _Task) -> None:
        in_time = self.now <= self.jobs[task.job].deadline
        self.cancel_reserved(task, MoveEnd.ENDED_FIRST)
        self.close(task, Ended.COMPLETED if in_time else Ended.LATE)
        task.over, task.done, task.late = True, in_time, not in_time

    def migration_ended(self, task: _Task) -> None:
        """The memory is copied: the task leaves its source and stands still for a while. Or it was
        stopped before, and has arrived."""
        self.costs.learn("source", "target", self.memory, self.copy + self.standstill)
        if task.arrival is not None:
            task.arrival = None
            return
        target, phase = task.reserved, self.progress(task.stay).phase
        self.close(task, Ended.MOVED)
        target.left, target.phase = task.left, phase
        task.stay, task.reserved = target, None

    def deadline_comes(self, job: _Job) -> None:
        job.deadline_came = True
        if job.waits:
            job.waits, job.dropped = False, True
            return
        if self.p.past_deadline == "run":
            return
        for task in job.tasks:
            if task.stay is not None:
                if task.stay.runs_from > self.now:
                    self.broken(task, MoveEnd.DEADLINE_FIRST)
                self.cancel_reserved(task, MoveEnd.DEADLINE_FIRST)
                self.close(task, Ended.STOPPED)
            task.waits, task.over = False, True

    def node_fails(self, node: _Node, number: int) -> None:
        self.struck_so_far += 1
        back = self.now + int(self.failures.downtime[number])
        node.back = back if node.back is None else max(node.back, back)
        node.predicted, node.doubtful, node.leave = FAR, False, None
        for task in self.tasks():
            if task.reserved is not None and task.reserved.node == node.number:
                self.cancel_reserved(task, MoveEnd.TARGET_FAILED)
        hit, lost = 0, 0
        for task in self.tasks():
            stay = task.stay
            if stay is None or stay.node != node.number:
                continue
            if stay.runs_from > self.now:
                self.broken(task, MoveEnd.TARGET_FAILED)
            self.cancel_reserved(task, MoveEnd.SOURCE_FAILED)
            hit += 1
            lost += self.close(task, Ended.ABORTED)
            task.waits, task.over = self.periodic, not self.periodic
        self.out.struck.append((self.now, number, hit, lost))

    def foresee(self, node: _Node, at: int) -> None:
        self.foreseen_so_far += 1
        node.predicted, node.doubtful = at, False
        lead = self.tau() if self.p.lead is None else self.p.lead
        node.leave = None if at == FAR else max(self.now, at - lead)

    def leave(self, node: _Node) -> None:
        """The node is about to fail, as far as can be foreseen: what is on it moves, if it can."""
        node.doubtful, node.leave = True, None
        if self.all_stay():
            return
        here = [t for t in self.tasks() if t.stay is not None and t.stay.node == node.number]
        for task in sorted(here, key=lambda t: (self.jobs[t.job].deadline, t.job, t.number)):
            arrives = task.stay.runs_from > self.now
            if not arrives and task.reserved is None:
                self.try_to_move(task, node, self.nodes, node.predicted)

    def all_stay(self) -> bool:
        random = self.p.strategy == "random"
        return self.p.migration == "none" or (random and self.p.random_stays)

    def tau(self) -> int:
        """What a move is believed to take."""
        if self.p.tau == "told":
            return self.copy + self.standstill
        return math.floor(self.costs.of("", "", self.memory).seconds + 0.5 + 1e-9)

    def watch(self) -> None:
        """A second has ended: note since when nodes are above their limit."""
        for node in self.nodes if self.limit else []:
            if node.back is not None or node.has - node.free <= self.limit * node.has:
                node.above = None
            elif node.above is None:
                node.above = self.now

    def relieve(self, node: _Node) -> None:
        """The node has been above its limit for too long: one task goes, by the rules that live
        coordinators have, to where it overloads nothing; then it is watched anew."""
        node.above = None
        used = {n: n.has - n.free for n in self.nodes}
        if self.all_stay() or node.back is not None or used[node] <= self.limit * node.has:
            return
        here = {
            f"{t.job:9}.{t.number:9}": t
            for t in self.tasks()
            if t.stay is not None and t.stay.node == node.number
            and t.stay.runs_from <= self.now and t.reserved is None
        }  # fmt: skip
        rates = {name: task.stay.rate for name, task in here.items()}
        others = used[node] - sum(rates.values())
        if len(here) < 2 and others == 0:
            return
        name = relieving(rates, node.has, self.limit - Fraction(others, node.has))
        if name is None:
            return
        all_nodes = [Candidate(str(n.number), Size(0, 0)) for n in self.up()]
        busy = {str(n.number): u for n, u in used.items()}
        has = {str(n.number): n.has for n in self.nodes}
        within = relieved(all_nodes, busy, has, self.most, self.limit)
        self.try_to_move(here[name], node, [self.nodes[int(one.node)] for one in within], FAR)

    def try_to_move(self, task: _Task, source: _Node, among: list[_Node], predicted: int) -> None:
        deadline = self.jobs[task.job].deadline
        arrival = self.now + self.copy + self.standstill
        believed = self.now + self.tau()
        if believed >= deadline:
            return
        progress = self.progress(task.stay)
        left = task.left - task.stay.rate * progress.seconds
        free = {n.number: n.gives() for n in self.up() if n is not source and n in among}
        node = self.choose(left, deadline, believed, free, self.alpha(deadline), self.draw_more)
        if node is None:
            return
        rate = min(self.most, free[node])
        stay = _Stay(node, Begun.MIGRATED, self.now, arrival, rate)
        task.move = [
            self.now, arrival, predicted,
            task.job, task.number, source.number, node, MoveEnd.ARRIVED,
        ]  # fmt: skip
        self.moved.append(task.move)
        self.nodes[node].free -= rate
        self.nodes[node].machines += 1
        if self.copy > 0:
            task.reserved, task.copied = stay, self.now + self.copy
        else:
            self.close(task, Ended.MOVED)
            stay.left, stay.phase = task.left, progress.phase
            task.stay = stay
            task.arrival = arrival if self.p.tau == "learned" else None

    # --------------------------------------------------------------------------- stays

    def begin(self, task: _Task, node: int, begun: Begun) -> None:
        rate = min(self.most, self.nodes[node].free)
        self.nodes[node].free -= rate
        self.nodes[node].machines += 1
        task.stay = _Stay(node, begun, self.now, self.now, rate, task.left)
        task.waits = False
        if task.first < 0:
            task.first = self.now

    def close(self, task: _Task, ended: Ended) -> int:
        """End the task's stay, write it down, and return the work lost."""
        stay = task.stay
        progress = self.progress(stay)
        completed = ended in (Ended.COMPLETED, Ended.LATE)
        work = stay.left if completed else stay.rate * progress.seconds
        task.left -= work
        if progress.checkpoints:
            task.unsaved = work - stay.rate * progress.saved
        else:
            task.unsaved += work
        lost = 0
        if ended == Ended.ABORTED:
            lost, task.unsaved = task.unsaved, 0
            task.left += lost
        self.write(task, stay, ended, work, lost, progress.checkpoints)
        task.stay, task.last, task.arrival = None, self.now, None
        return lost

    def write(
        self, task: _Task, stay: _Stay, ended: Ended, work: int, lost: int, checkpoints: int
    ) -> None:
        self.nodes[stay.node].free += stay.rate
        self.nodes[stay.node].machines -= 1
        self.out.runs.append(
            (
                task.job, task.number, stay.node, int(stay.begun), int(ended), stay.start,
                stay.runs_from, self.now, stay.rate, work, lost, checkpoints,
            )
        )  # fmt: skip

    def cancel_reserved(self, task: _Task, why: MoveEnd) -> None:
        """Give up the live migration that the task is in, if it is in one."""
        if task.reserved is not None:
            self.write(task, task.reserved, Ended.CANCELLED, 0, 0, 0)
            task.reserved = None
            self.broken(task, why)

    def broken(self, task: _Task, why: MoveEnd) -> None:
        task.move[1], task.move[-1] = self.now, why

    def progress(self, stay: _Stay) -> _Progress:
        """Return how far the stay is now, walking from checkpoint to checkpoint."""
        spare = max(0, self.now - stay.runs_from)
        needed = self.seconds_needed(stay)
        if not self.periodic:
            assert spare <= needed, "the task has ended before"
            return _Progress(spare, 0, 0, 0)
        seconds, checkpoints, saved, phase = 0, 0, 0, stay.phase
        while True:
            stretch = min(self.p.checkpoint_interval - phase, needed - seconds)
            if spare < stretch or seconds + stretch == needed:
                assert spare <= stretch, "the task has ended before"
                return _Progress(seconds + spare, checkpoints, saved, phase + spare)
            seconds, spare = seconds + stretch, spare - stretch
            if spare < self.p.checkpoint_overhead:
                return _Progress(seconds, checkpoints, saved, self.p.checkpoint_interval)
            spare -= self.p.checkpoint_overhead
            checkpoints, saved, phase = checkpoints + 1, seconds, 0

    def seconds_needed(self, stay: _Stay) -> int:
        return -(-stay.left // stay.rate)

    def end_of(self, stay: _Stay) -> int:
        """Return when the stay's work is done, if nothing comes between."""
        needed, end = self.seconds_needed(stay), stay.runs_from
        to_checkpoint = self.p.checkpoint_interval - stay.phase
        while self.periodic and needed > to_checkpoint:
            end += to_checkpoint + self.p.checkpoint_overhead
            needed -= to_checkpoint
            to_checkpoint = self.p.checkpoint_interval
        return end + needed

    # --------------------------------------------------------------------------- placing

    def place_all(self) -> None:
        for task in self.tasks():
            if task.waits and not self.restart(task):
                break
        for job in self.live:
            if job.waits:
                blocked = any(task.waits for task in self.tasks())
                if self.p.backfill:
                    self.place(job)
                elif blocked or not self.place(job):
                    break

    def restart(self, task: _Task) -> bool:
        deadline = self.jobs[task.job].deadline
        free = {n.number: n.gives() for n in self.up()}
        alpha = self.alpha(deadline)
        node = self.choose(task.left, deadline, self.now, free, alpha, self.draw_more)
        if node is not None:
            self.begin(task, node, Begun.RESTARTED)
        return node is not None

    def place(self, job: _Job) -> bool:
        """Place all tasks of the job, or none."""
        free = {n.number: n.gives() for n in self.up()}
        more = {n.number: n.holds - n.machines for n in self.up()}
        alpha = self.alpha(job.deadline)
        chosen = []
        for task in job.tasks:

            def draw(task: _Task = task) -> float:
                return self.first_draw[task.job, task.number]

            node = self.choose(job.work, job.deadline, self.now, free, alpha, draw)
            if node is None:
                return False
            free[node] -= min(self.most, free[node])
            more[node] -= 1
            if more[node] <= 0:
                free[node] = 0
            chosen.append(node)
        for task, node in zip(job.tasks, chosen, strict=True):
            self.begin(task, node, Begun.PLACED)
        job.waits = False
        return True

    def alpha(self, deadline: int) -> float:
        if self.p.strategy == "omniscient":
            return 0.5
        if self.p.alpha != "dynamic":
            return self.p.alpha
        up = self.up()
        return 1 - sum(n.foreseen_before(deadline) for n in up) / len(up) if up else 1.0

    def choose(
        self,
        work: int,
        deadline: int,
        t: int,
        free: dict[int, int],
        alpha: float,
        draw: Callable[[], float],
    ) -> int | None:
        """Return the node for a task that is to begin at t, of those whose capacity is told."""
        nodes = [self.nodes[n] for n in sorted(free) if free[n] >= self.least]
        if not nodes:
            return None
        if self.p.strategy == "random":
            return nodes[math.floor(draw() * len(nodes))].number
        span = deadline - t
        sound = [n for n in nodes if n.delta(t) != 0]
        if span > 0:
            safe = [n for n in nodes if not n.foreseen_before(deadline)]
            if self.p.strategy == "first-fit":
                if safe:
                    return min(safe, key=lambda n: (-free[n.number], n.number)).number
            else:
                fit = [n for n in safe if free[n.number] * span >= work]
                if fit:
                    return min(
                        fit,
                        key=lambda n: (
                            measure(alpha, free[n.number], work, n.delta(t), span),
                            n.number,
                        ),
                    ).number
            moving = [
                n
                for n in sound
                if n.foreseen_before(deadline) and self.one_move(n, sound, work, deadline, t, free)
            ]
            if moving:
                return min(moving, key=lambda n: (-free[n.number], n.number)).number
        if not sound:
            return nodes[0].number
        return min(sound, key=lambda n: (-n.predicted, n.number)).number

    def one_move(
        self,
        node: _Node,
        nodes: list[_Node],
        work: int,
        deadline: int,
        t: int,
        free: dict[int, int],
    ) -> bool:
        """Tell whether the work can be done on the node until it fails, and then on the best
        other."""
        delta = node.delta(t)
        here = min(self.most, free[node.number]) * delta
        best = max((free[k.number] for k in nodes if k is not node), default=0)
        if self.p.migration == "none":
            best = 0
        rest = max(0, deadline - t - delta - self.tau())
        return here + best * rest >= work

    # --------------------------------------------------------------------------- looking things up

    def tasks(self) -> list[_Task]:
        return [task for job in self.live if job.arrived for task in job.tasks]

    def up(self) -> list[_Node]:
        return [n for n in self.nodes if n.back is None]

    def draw_more(self) -> float:
        return float(self.more_draws.random())

    def fate(self, job: _Job) -> Row:
        return (
            min(task.first for task in job.tasks),
            max(task.last for task in job.tasks),
            sum(task.done for task in job.tasks),
            sum(task.late for task in job.tasks),
            int(job.dropped),
        )


def nodes_of(parameters: VirtualParameters) -> list[_Node]:
    """Return the nodes: alike, or as their sizes are spelled, which this reads by itself."""
    if parameters.node_sizes is None:
        capacity = PROCESSOR * parameters.processors_per_node
        return [_Node(n, capacity) for n in range(parameters.nodes)]
    made: list[_Node] = []
    for part in parameters.node_sizes.split("+"):
        size, _, memory = part.partition(":")
        count, processors = size.split("x")
        holds = 10**9
        if memory:
            assert memory.endswith("MiB")
            holds = int(int(memory[:-3]) / parameters.vm_memory)
        for _ in range(int(count)):
            made.append(_Node(len(made), PROCESSOR * int(processors), holds=holds))
    return made


def measure(alpha: float, capacity: int, work: int, delta: int | None, span: int) -> float:
    """Return cr: how far the node is above what is needed, in capacity and in reliability."""
    if delta is None and alpha < 1:
        return math.inf
    needed = work / 1000 / span
    capacity_part = alpha * (capacity / 1000 - needed) / needed
    if delta is None or alpha == 1:
        return capacity_part
    return capacity_part + (1 - alpha) * (delta - span) / span
