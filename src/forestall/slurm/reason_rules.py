"""The tables by which the reason of an outage is read; `reasons` says how they are used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT


@dataclass(frozen=True)
class ReasonRule:
    """One line of a table: what is searched in the reason, and what it then is.

    Attributes
    ----------
    pattern : searched anywhere in the reason, capitals and small letters alike
    nature : FAULT, ADMINISTRATIVE or UNCLEAR
    label : what it is about
    phrase : a reason that the rule fits, in words of ours, for where the text itself must not be
        shown
    """

    pattern: re.Pattern[str]
    nature: str
    label: str
    phrase: str


def _rules(nature: str, *rows: tuple[str, str, str]) -> tuple[ReasonRule, ...]:
    return tuple(
        ReasonRule(re.compile(pattern, re.IGNORECASE), nature, label, phrase)
        for label, phrase, pattern in rows
    )


OWN: Final = (
    *_rules(
        FAULT,
        ("not_responding", "Not responding", r"\bnot responding\b|^no response\b"),
        ("unkillable_steps", "Kill task failed", r"\bkill task failed\b|unkillable step"),
        ("prolog", "Prolog error", r"\bprolog\b.*\b(?:error|fail)|\bprolog (?:hung|timeout)"),
        ("epilog", "Epilog error", r"\bepilog\b.*\b(?:error|fail)|\bepilog (?:hung|timeout)"),
        (
            "memory",
            "Low RealMemory",
            r"\blow (?:real)?memory\b|real_?memory\b.*\b(?:low|less|reported|mismatch)",
        ),
        ("disk", "Low TmpDisk", r"\blow tmp_?disk\b"),
        (
            "processors",
            "Low CPUs",
            r"\blow (?:cpus|sockets\*?cores\*?threads?|socket)|\bcore ?spec count\b",
        ),
        (
            "gpu",
            "gres/gpu count reported lower than configured",
            r"\bgres/(?:gpu|mps|shard)\b.*\b(?:count|reported|lower|changed|too low)\b"
            r"|\bgres core specification\b",
        ),
        ("gres", "gres count reported lower than configured", r"\bgres(?:/\w+)? count\b"),
        (
            "unexpected_reboot",
            "Node unexpectedly rebooted",
            r"unexpected(?:ly)? re?boot|\brebooted unexpectedly\b",
        ),
        ("job_launch", "batch job complete failure", r"\bbatch job (?:complete|launch) fail"),
        ("duplicate_job", "Duplicate jobid", r"\bduplicate job_? ?id"),
        ("boot", "ResumeTimeout reached", r"\bresumetimeout\b|\bsuspendtimeout\b"),
        ("boot", "reboot timed out", r"\bre?boot\b.*\btime(?:d|)[- ]?out\b|\bboot fail"),
        ("boot", "failed to resume", r"\b(?:resume|power.?up)\b.*\bfail|\bfailed to resume\b"),
        ("credential", "Munge decode failed", r"\bmunge\b|\bcredential (?:revoked|error|expired)"),
        (
            "configuration",
            "appears to have a different slurm.conf",
            r"different slurm\.conf|\bnode configuration differs\b|\binvalid node (?:state|addr)",
        ),
        ("stepd", "slurmstepd failed", r"\bslurmstepd\b|\bstepd\b"),
        ("unexpected_reboot", "unexpected power cycle", r"\bunexpected power"),
    ),
    *_rules(
        ADMINISTRATIVE,
        (
            "reboot",
            "Reboot requested",
            r"^re?boot (?:asap|requested|issued)\b|\breboot requested\b",
        ),
        (
            "reboot",
            "Reboot ASAP",
            r"^\s*(?:scheduled |pending )?re?boot(?:ing)?(?: (?:node|asap))?\s*$",
        ),
        ("power_off", "Powered off by request", r"\bpower(?:ed)?[ -]?(?:down|off) (?:by|request)"),
    ),
)
"""What Slurm and the programs beside it write."""

TROUBLE: Final = re.compile(
    r"""\b(?: fail(?:ed|s|ing|ure|ures)? | errors? | err | fault(?:y|s|ed)? | fatal | broken?
    | bad | dead | die[sd]? | crash(?:ed|es|ing)? | hung | hangs? | stuck | panic(?:ked|s)? | lost
    | missing | unresponsive | unreachable | offline | overheat(?:ed|ing|s)? | degraded
    | defective | damaged | corrupt(?:ed|ion)? | timed[ ]?out | timeouts?
    | not[ ](?:working|mounted|found|available|seen|detected|booting|coming|accessible|pingable
        |ready) | no[ ](?:link|power|gpu|boot) | won'?t | can(?:no|')t | unable | down[ ]again
    | flapping | oops | lockup | soft[ ]?lock\w* | uncorrect\w* | unhealthy | problems?
    | issues?(?![ ]?[:\#]?[ ]?\d) | smok\w+ | fire | burn(?:t|ed) | weird | suspect(?:ed)?
    | throttl\w* | read-?only | full | critical | exhausted | leak(?:s|ing|ed)? | oom )\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that say that something broke, whatever it was."""

CODES: Final = _rules(
    FAULT,
    (
        "gpu",
        "GPU error",
        r"\bxid\b|\bnvrm\b|fallen? off the bus|\bnv-?link error|\bsxid\b|\brow.?remap",
    ),
    (
        "memory",
        "memory error",
        r"\b(?:un)?correctable\b|\b(?:ecc|dbe|sbe|mce|mcelog|edac|machine[- ]check)\b",
    ),
)
"""Codes by which hardware says that it broke."""

WANTED: Final = _rules(
    ADMINISTRATIVE,
    (
        "maintenance",
        "maintenance",
        r"\bmaint\w*\b|\bdowntime\b|\bservic(?:e|ing)\b|\bPM\b|\bplanned\b|\bscheduled?\b"
        r"|\bshut ?down\b|\bpower(?:ed)? ?(?:down|off)\b|\bmove\b|\bmoving\b|\brelocat\w*"
        r"|\bcabling\b|\brecabl\w*|\bwork\b",
    ),
    (
        "update",
        "update",
        r"\bup(?:dat|grad)\w*|\bpatch\w*|\bfirmware\b|\bbios\b|\bre-?imag\w*|\bre-?install\w*"
        r"|\binstall\w*|\bkernel\b|\bdriver\b|\brollout\b|\bdeploy\w*|\bprovision\w*|\bre?config\w*"
        r"|\bre-?configur\w*|\bos\b|\byum\b|\bdnf\b|\brpm\b|\bapt\b|\bansible\b|\bpuppet\b",
    ),
    ("reboot", "reboot", r"\bre-?boot\w*|\brestart\w*|\bpower[- ]?cycl\w*"),
    (
        "reserved",
        "reserved",
        r"\breserv\w*|\bheld\b|\bhold\b|\bfor user\b|\bdedicated\b|\bborrow\w*|\bloan\w*|\bdemo\b"
        r"|\bcourse\b|\bworkshop\b|\bnot in (?:use|production)\b|\bspare\b|\bdecom\w*|\bretir\w*"
        r"|\bend of life\b|\beol\b|\bnew node|\bcommission\w*",
    ),
    (
        "test",
        "test",
        r"\btest\w*|\bdebug\w*|\bbenchmark\w*|\bbench\b|\bhpl\b|\blinpack\b|\bburn-?in\b|\bstress\b"
        r"|\bexperiment\w*|\bevaluat\w*|\bdiag\w*|\bmemtest\w*",
    ),
    (
        "drained",
        "drained by request",
        r"\bdrain\w*|\bper (?:admin|request)|\badmin\w*|\brequest\w*",
    ),
)
"""Words that say that somebody wanted it. They count where no word of `TROUBLE` stands beside."""

PARTS: Final = _rules(
    FAULT,
    (
        "gpu",
        "GPU",
        r"\bgpus?\b|\bnv-?(?:link|idia|switch|sm)\w*|\bdcgm\b|\bcuda\b|\brocm\b|\baccel\w*",
    ),
    ("memory", "memory", r"\bdimms?\b|\bmemory\b|\bmem\b|\bram\b|\boom\b|\bhbm\b"),
    (
        "disk",
        "disk",
        r"\bdis[kc]s?\b|\bssds?\b|\bhdds?\b|\bnvme\w*|\braid\w*|\bsmart\b|\bdrives?\b|\bsd[a-z]\b"
        r"|\bi/o\b|\bio\b|\btmp\b|/tmp\b",
    ),
    (
        "filesystem",
        "file system",
        r"\blustre\b|\bgpfs\b|\bmmfs\w*|\bspectrum\b|\bbeegfs\b|\bceph\b|\bweka\b|\bvast\b|\bnfs\b"
        r"|\bmount(?:s|ed|point)?\b|\bfs\b|\bfile ?systems?\b|/scratch\b|/home\b|\bscratch\b"
        r"|\bcheck_fs\w*|\bstale\b|\binodes?\b|\bstorage\b",
    ),
    (
        "network",
        "network",
        r"\bib\d*\b|\binfini ?band\b|\bhca\b|\bhsn\b|\bmlx\w*|\bofed\b|\bopa\b|\bomni-?path\b"
        r"|\bslingshot\b|\bnics?\b|\beth(?:ernet|\d+)?\b|\bnetwork\b|\blinks?\b|\bswitch(?:es)?\b"
        r"|\broce\b|\bport\b|\bcables?\b|\btransceiver\b|\bfabric\b|\bping\w*|\bssh\b|\bdns\b|\bip\b",
    ),
    (
        "power",
        "power",
        r"\bpsus?\b|\bpdus?\b|\bpower\b|\bups\b|\bbreaker\b|\bvoltage\b|\bvrm\b|\belectric\w*",
    ),
    (
        "cooling",
        "cooling",
        r"\btherm\w*|\btemp(?:erature)?s?\b|\bfans?\b|\bcool\w*|\bcoolant\b|\bheat\w*|\boverheat\w*"
        r"|\bhot\b|\bwater\b|\bleak\w*|\bpump\b|\bthrottl\w*",
    ),
    (
        "processors",
        "processor or board",
        r"\bcpus?\b|\bprocessors?\b|\bsocket\b|\b(?:mother ?)?board\b|\bpcie?\b"
        r"|\bbmc\b|\bipmi\b|\bidrac\b|\bilo\b|\bchassis\b|\bblade\b|\bhardware\b|\bhw\b|\brma\b"
        r"|\brepair\w*|\breplac\w*|\bswap(?:ped)?\b|\bvendor\b|\bdell\b|\bhpe\b|\blenovo\b",
    ),
    (
        "system",
        "operating system or service",
        r"\bkernel\b|\bslurmd\b|\bdaemon\b|\bservices?\b|\bsystemd\b|\bsssd\b|\bldap\b|\bntp\b"
        r"|\bchrony\b|\bclock\b|\bboot\w*|\breboot\w*|\bzombies?\b|\bprocess\w*|\bps_\w+|\bos\b"
        r"|\bload\b|\bcgroups?\b",
    ),
    ("health_check", "health check", r"\bnhc\b|\bhealth\w*|\bhealthcheck\w*|\bhc\b|\bcheck_\w+"),
)
"""What it is about. Where neither trouble nor a wish is named, naming a part that breaks, or the
health check, is enough for a fault; the operating system is not."""
