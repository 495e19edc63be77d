"""What the reason of an outage says: what it was (`told`), tickets, errors of GPUs, and the text
without what differs from one outage to the next."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from forestall.slurm.reason_natures import (
    LONGEST,
    POWER_SAVING,
    Reading,
    first,
    own,
    plain,
    states,
    told,
    words,
)
from forestall.slurm.reason_rules import CODES, PARTS, WANTED
from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT

__all__ = [
    "POWER_SAVING",
    "Reading",
    "family",
    "gpu_error",
    "plain",
    "public",
    "states",
    "ticket",
    "told",
]

_TICKET: Final = re.compile(
    r"\b(?:tickets?|cases?|rt|sr|tt|inc|chg|req|ritm|incident|rma|bugs?|servicenow|jira|zammad|otrs"
    r"|gh|gl|issue)[ :#=_-]*(?:no\.?|nr\.?)?[ :#=_-]*(\d{3,})\b"
    r"|(?<![\w/.])#(\d{3,})\b"
    r"|\b(?!(?:GPU|CPU|XID|SXID|ECC|DIMM|NVME|PCI|PCIE|IB|MLX|SSD|HDD|MCE|UTF|SHA|NODE|RACK|CVE|HPE?"
    r"|A|H|V|K|P|RTX|PORT|PSU|FAN|DISK|SLOT|COVID|ISO|RHEL|EL|SLES|RFC|IPV?)-)"
    r"([A-Z][A-Z0-9]{1,11}-\d{1,7})\b"
    r"|/(?:browse|issues?|tickets?|cases?)/([\w-]*\d)\b"
    r"|[?&](?:id|ticketid)=(\d+)\b",
)
_TICKET_WORDS: Final = re.compile(_TICKET.pattern.split("|(?<!")[0], re.IGNORECASE)


def ticket(reason: str) -> str:
    """Return the number of the ticket that a reason names, "" where it names none.

    >>> ticket("bad DIMM, RT #48213"), ticket("HPC-1207 gpu swap"), ticket("Xid 79 on GPU-2")
    ('48213', 'HPC-1207', '')
    """
    reason = reason[:LONGEST]
    match = _TICKET_WORDS.search(reason) or _TICKET.search(reason)
    return next((group for group in match.groups() if group), "") if match else ""


_XID: Final = re.compile(
    r"\b(S?XID)\b(?:\s*\(PCI[^)]*\))?(?:\s+errors?)?[\s:#=]*(\d{1,3})\b", re.IGNORECASE
)
_GPU: Final = next(rule.pattern for rule in PARTS if rule.label == "gpu")
_GPU_SIGNS: Final = (
    ("off the bus", re.compile(r"fallen? off (?:of )?the bus|\blost gpu|gpu (?:is )?lost", re.I)),
    ("ECC", re.compile(r"\becc\b|\bdbe\b|\bsbe\b|double[- ]bit|\buncorrect\w*|row.?remap", re.I)),
    ("NVLink", re.compile(r"\bnv-?(?:link|switch)", re.I)),
    (
        "count",
        re.compile(r"\bgres/\w+\b.*\b(?:count|lower|reported)|missing gpu|gpus? missing", re.I),
    ),
)


def gpu_error(reason: str) -> str:
    """Return the error of a GPU that a reason names, "" where it names none.

    ``Xid 79`` for numbered errors of NVIDIA's driver, else ``off the bus``, ``ECC``, ``NVLink``,
    ``count`` (fewer GPUs than there should be) or ``GPU`` (some other trouble of one).

    >>> gpu_error("NVRM: Xid (PCI:0000:3b:00): 79, GPU is off the bus"), gpu_error("bad fan")
    ('Xid 79', '')
    """
    reason = reason[:LONGEST]
    match = _XID.search(reason)
    if match:
        return f"{'SXid' if match[1][0] in 'sS' else 'Xid'} {int(match[2])}"
    about = _GPU.search(reason) is not None
    for name, pattern in _GPU_SIGNS:
        if pattern.search(reason) and (about or name in ("off the bus", "NVLink", "count")):
            return "" if name == "count" and not (about or "gpu" in reason.lower()) else name
    if about and told("", reason).nature == FAULT:
        return "GPU"
    return ""


_DATE: Final = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b\d{1,2}[/.]\d{1,2}[/.](?:\d{4}|\d\d)\b|\b\d{1,2}:\d\d(?::\d\d)?\b"
)
_HOSTS: Final = re.compile(r"\b[A-Za-z][A-Za-z_-]*[0-9]*[A-Za-z_-]*(?:\[[0-9,-]+\])(?:[\w.-]*)")
_HOST: Final = re.compile(
    r"\b(?!xid|sxid)[A-Za-z]+[A-Za-z_-]*\d+(?:[A-Za-z_-]+\d+)*(?:\.[A-Za-z][\w.-]*)?\b", re.I
)
_HEX: Final = re.compile(
    r"\b0x[0-9a-f]+\b|\b(?:[0-9a-f]{2,4}:){1,7}[0-9a-f]{2}(?:\.[0-9a-f])?\b", re.I
)
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_KEPT: Final = re.compile(r"\b(S?Xid)\s*#", re.IGNORECASE)


@lru_cache(maxsize=65536)
def family(reason: str) -> str:
    """Return a reason with its dates, addresses, hosts and numbers replaced, to group by.

    >>> family("Kill task failed on node017: step 4711.0 [root@2026-02-01T10:00:00]")
    'Kill task failed on <host>: step <n>'
    """
    text = " ".join(plain(reason).split())
    for pattern, sign in ((_DATE, "<time>"), (_HEX, "<address>"), (_HOSTS, "<host>")):
        text = pattern.sub(sign, text)
    text = _HOST.sub("<host>", text)
    return _NUMBER.sub("<n>", text)


def public(reason: str) -> str:
    """Return words of ours that say the same as far as the rules know: no text of the reason's.

    The error of a GPU is kept. "" stays so; what no rule knows becomes ``other``.
    """
    text = plain(reason)
    if not text:
        return ""
    rule = own(text)
    if rule is not None:
        return rule.phrase
    error = gpu_error(text)
    if error:
        return f"GPU error ({error})"
    code = first(CODES, text)
    return code.phrase if code is not None else _phrase(text)


def _phrase(text: str) -> str:
    found = words(text)
    if found is None:
        return "other"
    if found.nature == ADMINISTRATIVE:
        return next(rule.phrase for rule in WANTED if rule.label == found.label)
    phrase = next((rule.phrase for rule in PARTS if rule.label == found.label), "")
    return f"{phrase} failure".strip()
