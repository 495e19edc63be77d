"""Logs that come from elsewhere, with good examples made up here."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import polars as pl

from fuzz.formats import Format
from fuzz.hostile import Draw
from fuzz.mutate import Mutator, nested, pairs, table, text, toml
from fuzz.packed import PACKERS, packed, parquet

RECORDED: Final = Path(__file__).parents[1] / "slurm" / "recorded"
"""What a Slurm printed that tests had started."""
DAY: Final = 86_400
ZERO: Final = 1_767_225_600
JOBS: Final = "job,submit,size,runtime,estimate,user"
Make = Callable[[Path], object]


def written(*files: tuple[str, Iterable[str]]) -> Make:
    """Return what writes files of lines."""

    def make(folder: Path) -> None:
        for name, some in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("\n".join(some) + "\n")

    return make


def _jobs(count: int = 40) -> list[str]:
    rng = Random("jobs")
    return [JOBS] + [
        f"{k},{k * 600 + rng.randrange(300)},{rng.randrange(1, 5)},{rng.randrange(60, 9000)},"
        f"{9000 + k},{k % 5}"
        for k in range(1, count)
    ]  # fmt: skip


def _swf() -> list[str]:
    rng = Random("swf")
    head = ["; Version: 2.2", "; MaxNodes: 16", "; MaxProcs: 16", f"; UnixStartTime: {ZERO}"]
    return head + [
        f"{k} {k * 500 + rng.randrange(400)} {rng.randrange(900)} {rng.randrange(30, 7000)} "
        f"{rng.randrange(1, 9)} -1 -1 {rng.randrange(1, 9)} 7200 -1 {int(k % 7 > 0)} {k % 6} "
        f"{k % 3} -1 1 -1 -1 -1"
        for k in range(1, 60)
    ]


def _usage() -> list[str]:
    rng = Random("usage")
    rows = []
    for k in range(1, 30):
        submit = 1_000_000_000 + k * 700
        start, run = submit + rng.randrange(500), rng.randrange(60, 5000)
        rows.append(
            f"{start + run} {k % 4} {4 * rng.randrange(1, 5)} {submit} 0 0 {start} "
            f"{run * 4} 12 {run * 4 + 12} {k} done / {k % 8} {k % 8 + 1} /"
        )
    return rows


def _records() -> list[str]:
    rng = Random("records")
    rows = ["job,start,end,state,nodes,cores"]
    for k in range(1, 60):
        start = k * 9000
        state = rng.choice(("COMPLETED", "COMPLETED", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"))
        first = rng.randrange(6)
        stop, nodes = start + rng.randrange(60, 4000), f"n[{first}-{first + 2}]"
        rows.append(f'{k},{start},{stop},{state},"{nodes}",12')
    return rows


def _failures(count: int = 60) -> list[str]:
    rng = Random("failures")
    rows = sorted((rng.randrange(90 * DAY), rng.randrange(16)) for _ in range(count))
    kinds = ("Hardware: CPU", "Software", "Network", "")
    return ["time,node,downtime,kind,detectability,predicted"] + [
        f"{time},{node},{rng.randrange(60, 9000)},{rng.choice(kinds)},{rng.random():.3f},"
        f"{max(0, time - rng.randrange(4000)) if rng.random() < 0.5 else ''}"
        for time, node in rows
    ]


def failure_log(folder: Path) -> None:
    """Write failures.csv."""
    (folder / "failures.csv").write_text("\n".join(_failures()) + "\n")


def job_table(folder: Path) -> None:
    """Write jobs.csv."""
    (folder / "jobs.csv").write_text("\n".join(_jobs(12)) + "\n")


def _named_failures() -> list[str]:
    rows = [row.split(",") for row in _failures()[1:]]
    head = ["# origin: 2026-01-01T00:00:00", f"# span: {90 * DAY}",
            "# names: " + ",".join(f"node{k:02}" for k in range(16))]  # fmt: skip
    return [*head, "time,node,downtime", *(f"{r[0]},node{int(r[1]):02},{r[2]}" for r in rows)]


def _lanl() -> list[str]:
    rng = Random("lanl")
    head = ("System,machine type,nodes,procstot,procsinnode,nodenum,nodenumz,node install,"
            "node prod,node decom,fru type,mem,cputype,memtype,num intercon,purpose,"
            "Prob Started (mm/dd/yy hh:mm),Prob Fixed (mm/dd/yy hh:mm),Down Time,Facilities,"
            "Hardware,Human Error,Network,Undetermined,Software,Same Event")  # fmt: skip
    rows = []
    for k in range(60):
        day, hour = 1 + k % 27, rng.randrange(20)
        causes = [""] * 6
        causes[rng.randrange(6)] = rng.choice(("CPU", "Memory Dimm", "Disk", "Unresolvable"))
        month = 1 + k // 6
        rows.append(
            f"2,smp,16,64,4,{k % 16},{k % 16},5-Apr,5-Jun,current,part,16,1,1,0,compute,"
            f"{month}/{day}/2004 {hour}:{k % 60:02},{month}/{day}/2004 {hour + 2}:{k % 60:02},120,"
            + ",".join(causes) + ","
        )  # fmt: skip
    return [head, *rows]


def _fta() -> list[str]:
    rng = Random("fta")
    head = ("# event_id component_id node_id platform_id node_name event_type event_start_time"
            " event_stop_time event_end_reason")  # fmt: skip
    rows, at = [head], [0] * 6
    for k in range(80):
        node = k % 6
        length = rng.randrange(60, 900_000) if (k // 6) % 2 else rng.randrange(60, 5000)
        kind = (k // 6) % 2
        rows.append(f"{k} 0 {node} 3 2.{node:04} {kind} {at[node]} {at[node] + length} "
                    f"{rng.choice(('NULL', '7', '12'))}")  # fmt: skip
        at[node] += length
    return rows


def _stamped(form: str, step: int = 5000, count: int = 60) -> list[str]:
    """Return lines of a form with the moment, a node's number, a severity and a text in it."""
    rng = Random(form)
    rows, start = [], pl.datetime(2005, 6, 3, time_unit="ms")
    moments = pl.select(
        (start + pl.duration(seconds=pl.int_range(0, count) * step)).alias("at")
    )["at"]  # fmt: skip
    for k, at in enumerate(moments):
        rows.append(
            form.format(
                k=k, at=at, unix=int(at.timestamp()), node=rng.randrange(8), half=k % 2,
                severity=rng.choice(("INFO", "WARNING", "ERROR", "FATAL", "FAILURE")),
                text=rng.choice(("rts panic! - stopping execution", "ddr errors detected: 3",
                                 "machine check interrupt (bit=0x1d)", "link down on port 7")),
                label=rng.choice(("-", "-", "KERNDTLB", "APPSEV")),
            )
        )  # fmt: skip
    return rows


_BLUE = "{at:%Y-%m-%d-%H.%M.%S}.697467"
EVENTS: Final = {
    "bluegene": "{label} {unix} {at:%Y.%m.%d} R0{node}-M{half} " + _BLUE
    + " R0{node}-M{half} RAS KERNEL {severity} {text}",
    "bluegene-fatal": _BLUE + " R0{node}-M{half} RAS KERNEL FATAL {text}",
    "mira": "event {k} 0008000{node} 4 FATAL Software_Error CNK {at:%Y-%m-%d;%H:%M:%S}.5 "
    "{at:%Y-%m-%d;%H:%M:%S} 4 MIR R0{node}-M{half}-N00 {text}",
    "thunderbird": "{label} {unix} {at:%Y.%m.%d} tbird-{node} {at:%b} {at:%d} {at:%H:%M:%S} "
    "local@tbird-{node} kernel: {text}",
    "hpc": "{k} node-{node} unix.hw state_change.{severity} {unix} 1 {text}",
    "syslog": "<{node}>{at:%b} {at:%d} {at:%H:%M:%S} node{node} kernel: {text}",
    "syslog-iso": "{at:%Y-%m-%dT%H:%M:%S}.123+02:00 node{node} kernel: {text}",
    "syslog-5424": "<{node}>1 {at:%Y-%m-%dT%H:%M:%S}Z node{node} kernel - - - {text}",
}  # fmt: skip
"""Event logs, by the names of their forms."""

EVENT_TABLES: Final = {
    "own": ("time,place,severity,kind,alert,message",
            "{at:%Y-%m-%dT%H:%M:%S},R0{node}-M{half},{severity},KERNEL,{half},{text}"),
    "bluegene-q": ("RECID,MSG_ID,CATEGORY,COMPONENT,SEVERITY,EVENT_TIME,JOBID,BLOCK,LOCATION,"
                   "MESSAGE",
                   "{k},0008000{node},Software_Error,CNK,{severity},{at:%Y-%m-%d %H:%M:%S}.12,7,"
                   "MIR-1,R0{node}-M{half}-N00,{text}"),
    "bluegene-p": ("RECID,MSG_ID,COMPONENT,SUBCOMPONENT,ERRCODE,SEVERITY,EVENT_TIME,LOCATION,"
                   "MESSAGE",
                   "{k},KERN_0{node}0C,KERNEL,_bgp_unit,_bgp_err,{severity},"
                   "{at:%Y-%m-%d-%H.%M.%S}.123456,R0{node}-M{half}-N00,{text}"),
}  # fmt: skip
"""Tables of events: their headers and rows."""
DEVICES: Final = {
    "titan": ("SN,location,insert,remove,duration,out,event",
              "{k},c{node}-{half},,{at:%Y-%m-%d %H:%M:%S},,,DBE"),
    "alpine": (",Timestamp,SSC,SSU,Enclosure,Slot,Rack id,Unique enclosure",
               "{k},{at:%Y-%m-%dT%H:%M:%S}-0500,2,g,1,{node},8,{half}"),
    "campaign": ("Timestamp,Action,Rack id,Unique enclosure,Slot",
                 "{at:%Y-%m-%dT%H:%M:%S},failed,8,1,{node}"),
    "backblaze": ("date,serial_number,model,failure", "{at:%Y-%m-%d},s{node},M,{half}"),
    "m100": ("node,day,boot_max", "{node},{at:%Y-%m-%d},{k}0{half}"),
}  # fmt: skip


def _scores() -> list[str]:
    rng = Random("scores")
    return ["score,failed,other,node"] + [
        f"{rng.random():.4f},{int(rng.random() < 0.3)},{rng.random():.4f},{k % 7}"
        for k in range(120)
    ]


def _alarms() -> list[str]:
    rng = Random("alarms")
    times = sorted(rng.randrange(90 * DAY) for _ in range(60))
    return ["time,node,score,until"] + [
        f"{time},{rng.randrange(16)},{rng.random():.3f},{time + 7200}" for time in times
    ]


def _gaps() -> list[str]:
    rng = Random("gaps")
    return ["gap,censored"] + [f"{rng.weibullvariate(100, 0.7):.3f},{int(k % 9 == 0)}"
                               for k in range(60)]  # fmt: skip


def _metrics() -> list[str]:
    rng = Random("metrics")
    return ["time,node,cpu,memory_free"] + [
        f"{ZERO + 300 * (k // 6)},n{k % 6},{rng.random():.3f},{rng.random():.3f}"
        for k in range(240)
    ]


def _ldms() -> list[str]:
    rng = Random("ldms")
    return ["#Time,Time_usec,ProducerName,component_id,job_id,app_id,MemTotal,Active"] + [
        f"{ZERO + 60 * (k // 4)}.00{k % 9},{k % 9}000,nid{k % 4},{k % 4},0,0,1000,"
        f"{rng.randrange(900)}"
        for k in range(120)
    ]


def _prometheus() -> list[str]:
    rng = Random("prometheus")
    result = [
        {
            "metric": {"__name__": "node_load1", "instance": f"n{node}:9100"},
            "values": [[ZERO + 60 * k, f"{rng.random():.3f}"] for k in range(30)],
        }
        for node in range(4)
    ]
    data = {"resultType": "matrix", "result": result}
    return [json.dumps({"status": "success", "data": data})]


def _planetlab() -> list[str]:
    rng = Random("planetlab")
    head = "vm," + ",".join(f"t{k:03}" for k in range(60))
    return [head] + [
        f"vm{node}," + ",".join(str(rng.randrange(100)) for _ in range(60)) for node in range(5)
    ]


def _machine() -> list[str]:
    rng = Random("machine")
    return [f"{rng.randrange(100)} {rng.randrange(100)}" for _ in range(100)]


CLUSTER: Final = """name = "small"
ages = "steady"
success = 0.9
[[groups]]
name = "old"
count = 12
mttf = "40d"
shape = 0.7
[[groups]]
name = "new"
count = 20
components = [{name = "board", mttf = "67640h"}, {name = "psu", mttf = "100000h", count = 2, needed = 1}]
[[queues]]
name = "short"
nodes = 2
limit = "4h"
slots = 4
[[queues]]
name = "long"
nodes = {old = 2, new = 8}
limit = "2d"
[checkpoint]
cost = "5m"
restart = "3m"
copies = 2
[pool]
repair = "2d"
mission = "30d"
[prices]
node_hour = 0.8
waiting = 5
""".splitlines()  # noqa: E501
RUN: Final = """nodes = 16
policy = "easy"
checkpoint = "periodic"
checkpoint-interval = "30m"
checkpoint-overhead = 60
downtime = "2m"
accuracy = 0.5
seed = 3
""".splitlines()
MACHINE: Final = """[[nodes]]
name = "c[1-12]"
cores = 16
memory = "64G"

[[nodes]]
name = "g[1-4]"
cores = 32
memory = 131072
gpus = 4
gpu_type = "a100"
features = ["fast"]
partitions = ["gpu"]
""".splitlines()
TOPOLOGY: Final = """# a tree of two leaves
SwitchName=leaf1 Nodes=n[0-7]
SwitchName=leaf2 Nodes=n[8-15]
SwitchName=top Switches=leaf[1-2]
""".splitlines()
TOPOLOGY_YAML: Final = """---
- topology: fabric
  cluster_default: true
  tree:
    switches:
      - switch: top
        children: leaf[1-2]
      - switch: leaf1
        nodes: n[0-7]
      - switch: leaf2
        nodes: n[8-15]
- topology: racks
  block:
    block_sizes: [4]
    blocks:
      - block: b1
        nodes: n[0-3]
""".splitlines()
USERS: Final = """[[users]]
name = "patient"
share = 0.5
least = 0.2
[[users]]
name = "hurried"
share = 0.5
least = 0.9
""".splitlines()
MAINTENANCE: Final = ("start,end,nodes", "3600,7200,0-3", "10000,20000,", "1d,2d,4-7")


def _slurm(folder: Path) -> None:
    here = RECORDED / "24.11"
    for name in ("sacct.jobs.txt", "sacctmgr.event.txt", "scontrol.node.txt"):
        shutil.copy(here / name, folder / name)
    starts = (here / "squeue.start.txt").read_text()
    (folder / "squeue.start.txt").write_text(f"# asked: 2026-11-21T21:23:30\n{starts}")
    shutil.copy(here / "scontrol.node.json", folder / "nodes.json")
    shutil.copy(here / "scontrol.partition.txt", folder / "partitions.txt")
    told = json.loads((here / "sacct.json").read_text())
    told["jobs"] = told["jobs"][:6]
    (folder / "sacct.json").write_text(json.dumps(told))


def _packed(kind: str, some: list[str]) -> Make:
    def make(folder: Path) -> None:
        (folder / f"log.csv.{kind}").write_bytes(
            PACKERS[kind][1](("\n".join(some) + "\n").encode())
        )

    return make


def _site_file(draw: Draw, data: bytes) -> bytes:
    kind = parquet if data[:4] == b"PAR1" else nested if data[:1] == b"{" else table
    return kind(draw, data)


FAILURE_COMMANDS: Final = (
    "traces info {file}",
    "traces info {file} --json",
    "traces convert {file} out.csv",
    "traces convert {file} out.parquet",
    "reliability {file} --families weibull --json",
    "report --failures {file} --full",
    "lemons --failures {file} --json",
)
JOB_COMMANDS: Final = (
    "traces info {file}",
    "traces info {file} --json",
    "traces convert {file} out.csv",
    "traces convert {file} out.parquet",
    "traces convert {file} out.swf",
)
RUN_JOBS: Final = ("simulate {file} --nodes 16 --policy easy --out out --no-report -q",)
EVENT_COMMANDS: Final = (
    "traces info {file} --as events",
    "traces info {file} --as events --json",
    "traces filter {file} --out found.csv",
    "traces filter {file} --json",
)
SLURM_COMMANDS: Final = (
    "report {file}",
    "report {file} --full --json",
    "report {file} --openmetrics -",
    "lemons {file}",
    "import slurm {file} --out site",
    "import slurm {file} --out site --anonymize --json",
)
BESIDE_JOBS: Final = (
    "import slurm sacct.jobs.txt {file} --out site",
    "report sacct.jobs.txt {file} --json",
)
METRIC_COMMANDS: Final = (
    "traces info {file} --as metrics",
    "traces info {file} --as metrics --json",
    "assess collection failures.csv --metrics {file} --json",
)

_failure_log = partial(Format, mutator=table, commands=FAILURE_COMMANDS)


def _one(name: str, file: str, some: Iterable[str], mutator: Mutator, *commands: str) -> Format:
    return Format(name, written((file, some)), (file,), mutator, commands)


FAILURES: Final = (
    _failure_log("failures", written(("failures.csv", _failures())), ("failures.csv",)),
    _failure_log("named-failures", written(("named.csv", _named_failures())), ("named.csv",)),
    _failure_log("lanl", written(("lanl.csv", _lanl())), ("lanl.csv",)),
    Format("fta", written(("event_trace.tab", _fta())), ("event_trace.tab",), text,
           FAILURE_COMMANDS),
    *(
        _failure_log(name, written((f"{name}.csv", [head, *_stamped(row)])), (f"{name}.csv",))
        for name, (head, row) in DEVICES.items()
    ),
    Format("failures-parquet", written(("named.csv", _named_failures())), ("log.parquet",), parquet,
           FAILURE_COMMANDS, made=("traces convert named.csv log.parquet",)),
    *(
        Format(f"failures-{kind}", _packed(kind, _failures()), (f"log.csv.{kind}",),
               packed(kind, table), FAILURE_COMMANDS)
        for kind in PACKERS
    ),
)  # fmt: skip
JOB_LOGS: Final = (
    Format("swf", written(("jobs.swf", _swf())), ("jobs.swf",), text,
           (*JOB_COMMANDS, "report {file}"),
           slow=(*RUN_JOBS, "futures {file} --at 2026-01-01T04:00 --json")),
    Format("jobs", written(("jobs.csv", _jobs())), ("jobs.csv",), table, JOB_COMMANDS,
           slow=RUN_JOBS),
    Format("usage", written(("usage.txt", _usage())), ("usage.txt",), text, JOB_COMMANDS,
           slow=RUN_JOBS),
    Format("jobs-parquet", written(("jobs.csv", _jobs())), ("log.parquet",), parquet, JOB_COMMANDS,
           made=("traces convert jobs.csv log.parquet",), slow=RUN_JOBS),
    *(
        Format(f"jobs-{kind}", _packed(kind, _jobs()), (f"log.csv.{kind}",), packed(kind, table),
               JOB_COMMANDS, slow=RUN_JOBS)
        for kind in PACKERS
    ),
)  # fmt: skip
EVENT_LOGS: Final = (
    *(
        Format(
            name,
            written((f"{name}.log", _stamped(form))),
            (f"{name}.log",),
            text,
            (*EVENT_COMMANDS, *(() if name.startswith(("hpc", "syslog")) else FAILURE_COMMANDS)),
        )
        for name, form in EVENTS.items()
    ),
    *(
        Format(f"events-{name}", written((f"{name}.csv", [head, *_stamped(row)])),
               (f"{name}.csv",), table, EVENT_COMMANDS)
        for name, (head, row) in EVENT_TABLES.items()
    ),
    Format("events-parquet", written(), ("own.parquet",), parquet, EVENT_COMMANDS,
           made=("traces generate ras own.parquet --nodes 8 --days 9",)),
)  # fmt: skip
SLURM: Final = (
    Format("sacct", _slurm, ("sacct.jobs.txt",), partial(table, separator=b"|"),
           (*SLURM_COMMANDS, "traces info {file} --as records",
            "report {file} sacctmgr.event.txt scontrol.node.txt",
            "traces info {file} --as records --json"), codes=(0, 1, 2),
           slow=("backtest promises {file} --warm-up 5 --no-learn --json",)),
    Format("sacct-json", _slurm, ("sacct.json",), nested, SLURM_COMMANDS),
    Format("events-slurm", _slurm, ("sacctmgr.event.txt",), partial(table, separator=b"|"),
           (*SLURM_COMMANDS, "report sacct.jobs.txt {file} --full",
            "lemons sacct.jobs.txt {file} --json")),
    Format("scontrol", _slurm, ("scontrol.node.txt", "partitions.txt"), pairs,
           ("import slurm sacct.jobs.txt {file} --out site",
            "report sacct.jobs.txt sacctmgr.event.txt {file} --full",
            "lemons sacct.jobs.txt sacctmgr.event.txt {file}")),
    Format("nodes-json", _slurm, ("nodes.json",), nested,
           BESIDE_JOBS),
    Format("squeue", _slurm, ("squeue.start.txt",), text,
           BESIDE_JOBS),
    Format("site", _slurm, ("site/*",), _site_file,
           ("report site", "report site --full --json", "lemons site", "traces info {file}",
            "import slurm site --out shared --anonymize", "import slurm site --out other --json"),
           made=("import slurm sacct.jobs.txt sacctmgr.event.txt scontrol.node.txt "
                 "squeue.start.txt --out site",)),
)  # fmt: skip
METRICS: Final = (
    *(
        Format(name, written((file, some), ("failures.csv", _failures())), (file,), mutator,
               METRIC_COMMANDS)
        for name, file, some, mutator in (
            ("metrics", "metrics.csv", _metrics(), table),
            ("ldms", "meminfo", _ldms(), table),
            ("prometheus", "answer.json", _prometheus(), nested),
            ("planetlab", "day.csv", _planetlab(), table),
            ("machine", "machine3.txt", _machine(), text),
        )
    ),
)  # fmt: skip
TABLES: Final = (
    _one("records", "records.csv", _records(), table, "traces info {file} --as records",
         "traces info {file} --as records --json", "assess plan-trial {file} --effect 0.3 --json"),
    _one("scores", "scores.csv", _scores(), table, "assess scores {file} --draws 40",
         "assess scores {file} --draws 40 --json --score score,other"),
    Format("alarms", written(("alarms.csv", _alarms()), ("failures.csv", _failures())),
           ("alarms.csv",), table,
           ("assess alarms {file} --failures failures.csv",
            "assess alarms {file} --failures failures.csv --json")),
    _one("gaps", "gaps.csv", _gaps(), table, "fit {file} --family weibull --json",
         "fit {file} --family exponential"),
    Format("cluster", written(("cluster.toml", CLUSTER)), ("cluster.toml",), toml, (),
           slow=("design {file}", "design {file} --json")),
    Format("settings", written(("run.toml", RUN), ("jobs.csv", _jobs())), ("run.toml",), toml,
           (), slow=("simulate jobs.csv --config {file} --out out --no-report -q",)),
    Format("sweep-settings", written(("run.toml", RUN), ("jobs.csv", _jobs(12))), ("run.toml",),
           toml, (),
           slow=("sweep jobs.csv --config {file} --risk 0.1,0.9 --workers 1 --out out -q",)),
    Format("machine-nodes", written(("machine.toml", MACHINE), ("jobs.csv", _jobs(12))),
           ("machine.toml",), toml, (),
           slow=("simulate jobs.csv --machine {file} --policy easy --json",)),
    Format("topology", written(("topology.conf", TOPOLOGY), ("jobs.csv", _jobs(12))),
           ("topology.conf",), pairs, (),
           slow=("simulate jobs.csv --nodes 16 --topology {file} --json",)),
    Format("topology-yaml", written(("topology.yaml", TOPOLOGY_YAML), ("jobs.csv", _jobs(12))),
           ("topology.yaml",), text, (),
           slow=("simulate jobs.csv --nodes 16 --topology {file} --json",)),
    Format("users", written(("users.toml", USERS), ("jobs.csv", _jobs(12))), ("users.toml",), toml,
           (),
           slow=("simulate jobs.csv --nodes 16 --users {file} --json",)),
    Format("maintenance", written(("windows.csv", MAINTENANCE), ("jobs.csv", _jobs(12))),
           ("windows.csv",), table, (),
           slow=("simulate jobs.csv --nodes 16 --maintenance {file} --json",)),
    Format("arms", written(("arms.csv", ["node,arm,pair"] + [
               f"n{k},{('act', 'control')[k % 2]},{k // 2}" for k in range(8)]),
               ("records.csv", _records())), ("arms.csv",), table,
           ("assess trial {file} records.csv --json",)),
    Format("training", written(("train.csv", _failures()), ("jobs.csv", _jobs(12)),
               ("failures.csv", _failures())), ("train.csv",), table,
           ("predict train rate {file} --out it.predictor --json",),
           slow=("simulate jobs.csv --nodes 16 --failures failures.csv --from 700000"
                 " --predictor rate --train {file} --json",)),
)  # fmt: skip
LOGS: Final = (*FAILURES, *JOB_LOGS, *EVENT_LOGS, *SLURM, *METRICS, *TABLES)
