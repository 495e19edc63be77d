"""What reasons say: each rule, words that contradict each other, tickets, GPUs, families."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.slurm.reason_rules import CODES, OWN, PARTS, WANTED
from forestall.slurm.reasons import (
    POWER_SAVING,
    Reading,
    family,
    gpu_error,
    plain,
    public,
    states,
    ticket,
    told,
)
from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT, NATURES, UNCLEAR

CASES = [
    ("DOWN*", "Not responding", "root(0)", FAULT, "not_responding"),
    ("DOWN", "Node unexpectedly rebooted", "slurm(64030)", FAULT, "unexpected_reboot"),
    ("IDLE+DRAIN", "Kill task failed", "root(0)", FAULT, "unkillable_steps"),
    ("IDLE+DRAIN", "Prolog error", "root(0)", FAULT, "prolog"),
    ("IDLE+DRAIN", "Epilog error", "root(0)", FAULT, "epilog"),
    ("IDLE+DRAIN", "batch job complete failure", "", FAULT, "job_launch"),
    ("IDLE+DRAIN", "Duplicate jobid", "", FAULT, "duplicate_job"),
    ("IDLE+DRAIN", "Low RealMemory (reported:1000 < 100.00% of configured:2000)", "", FAULT,
     "memory"),
    ("IDLE+DRAIN", "gres/gpu count reported lower than configured (3 < 4)", "", FAULT, "gpu"),
    ("DOWN~", "ResumeTimeout reached", "", FAULT, "boot"),
    ("DRAIN", "Xid 79 on GPU 3", "ann", FAULT, "gpu"),
    ("DRAIN", "uncorrectable ECC, DIMM B2", "ann", FAULT, "memory"),
    ("DRAIN", "GPU 0: double-bit ECC", "ann", FAULT, "gpu"),
    ("DRAIN", "IB port down", "ann", FAULT, "network"),
    ("DRAIN", "PSU failure", "ann", FAULT, "power"),
    ("DRAIN", "overheating", "ann", FAULT, "cooling"),
    ("DRAIN", "NHC: check_fs_mount:  /scratch not mounted", "", FAULT, "filesystem"),
    ("DRAIN", "/dev/sda smart", "", FAULT, "disk"),
    ("DRAIN", "slurmd down", "", FAULT, "system"),
    ("FAIL", "", "root(0)", FAULT, "no_reason"),
    ("DOWN", "somehow", "slurm(64030)", FAULT, "unclear"),
    ("DOWN*", "", "", FAULT, "not_responding"),
    # Somebody wanted it.
    ("IDLE+DRAIN", "BIOS update", "root(0)", ADMINISTRATIVE, "update"),
    ("DOWN", "maintenance by hand: PSU swap", "root(0)", ADMINISTRATIVE, "maintenance"),
    ("DRAIN", "firmware update of the IB HCA", "root(0)", ADMINISTRATIVE, "update"),
    ("DRAIN", "scheduled downtime 2026-02-01", "ann", ADMINISTRATIVE, "maintenance"),
    ("DRAIN", "Reboot ASAP", "root(0)", ADMINISTRATIVE, "reboot"),
    ("DRAIN", "testing new GPU driver", "ann", ADMINISTRATIVE, "update"),
    ("DRAIN", "reserved for the course", "ann", ADMINISTRATIVE, "reserved"),
    ("DRAIN", "issue 123: BIOS update", "ann", ADMINISTRATIVE, "update"),
    ("MAINT", "", "", ADMINISTRATIVE, "maintenance"),
    ("REBOOT_ISSUED", "", "", ADMINISTRATIVE, "reboot"),
    # Trouble outweighs a wish: what failed a test is broken.
    ("DRAIN", "failed the stress test", "ann", FAULT, "other_fault"),
    ("DRAIN", "disk error, scheduled for replacement", "ann", FAULT, "disk"),
    # Nobody can tell.
    ("IDLE+DRAIN", "ask bob", "root(0)", UNCLEAR, "unclear"),
    ("IDLE+DRAIN", "", "root(0)", UNCLEAR, "no_reason"),
    ("DOWN", "none", "ann", UNCLEAR, "no_reason"),
    # Asleep is not out.
    ("IDLE+POWERED_DOWN", "", "", POWER_SAVING, "power_saving"),
    ("IDLE~", "", "", POWER_SAVING, "power_saving"),
    ("IDLE+POWERING_UP", "(null)", "", POWER_SAVING, "power_saving"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "reason", "user", "nature", "label"), CASES)
def test_reasons_are_read(state: str, reason: str, user: str, nature: str, label: str) -> None:
    assert told(state, reason, user) == Reading(nature, label)


def test_every_rule_reads_its_own_phrase() -> None:
    for rule in (*OWN, *CODES, *WANTED):
        assert told("", rule.phrase) == Reading(rule.nature, rule.label), rule.phrase
    for rule in PARTS:
        assert told("", f"{rule.phrase} failure") == Reading(FAULT, rule.label), rule.phrase


@pytest.mark.parametrize(("state", "reason", "user", "nature", "label"), CASES)
def test_public_words_are_read_the_same(
    state: str, reason: str, user: str, nature: str, label: str
) -> None:
    assert told(state, public(reason), user).nature == nature
    assert gpu_error(public(reason)) == gpu_error(reason)


WORDS = ["GPU", "Xid 79", "ECC", "update", "failed", "n17", "bob", "IB", "down", "reboot", "#4711",
         "not responding", "disk", "test", "full", "[root@1]", "gres/gpu count", "é"]  # fmt: skip


@given(
    st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS)).map(" ".join)),
    st.sampled_from(["DOWN", "IDLE+DRAIN", "DOWN*", ""]),
)
def test_any_text_is_read_and_hidden(reason: str, state: str) -> None:
    assert told(state, reason).nature in NATURES
    assert told(state, public(reason)) == told(state, reason)
    phrases = {rule.phrase for rule in (*OWN, *CODES, *PARTS, *WANTED)} | {"other", "failure", ""}
    shown = re.sub(r"(GPU error) \(.*\)", r"\1", public(reason)).removesuffix(" failure")
    assert shown in phrases


def test_tickets() -> None:
    named = {
        "bad DIMM, RT #48213": "48213",
        "ticket 4711: fan | rattles": "4711",
        "HPC-1207 gpu swap": "HPC-1207",
        "see https://jira.example.org/browse/OPS-77": "OPS-77",
        "INC0012345 psu": "0012345",
        "case: 99812": "99812",
        "#4711": "4711",
    }
    assert {text: ticket(text) for text in named} == named
    for text in ("Xid 79 on GPU-2", "step 4711.0", "rack 12, node-17", "CVE-2024", "", "DIMM-3"):
        assert ticket(text) == "", text


def test_errors_of_gpus() -> None:
    named = {
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus": "Xid 79",
        "xid error 48 on gpu 3": "Xid 48",
        "Xid: 63": "Xid 63",
        "SXid 20034": "",  # no such number has more than three digits
        "GPU 3 has fallen off the bus": "off the bus",
        "GPU 1 uncorrectable ECC": "ECC",
        "NVLink errors": "NVLink",
        "gres/gpu count reported lower than configured (3 < 4)": "count",
        "GPU 2 missing": "GPU",
        "uncorrectable ECC in DIMM 2": "",
        "testing GPU driver": "",
        "bad fan": "",
    }
    assert {text: gpu_error(text) for text in named} == named


def test_families_group_what_differs_in_numbers() -> None:
    assert (
        family("Kill task failed on node017: step 4711.0 [root@2026-02-01T10:00:00]")
        == family("Kill task failed on node3: step 12.1")
        == "Kill task failed on <host>: step <n>"
    )
    assert family("pci 0000:3b:00.0 at 2026-01-02 12:00") == family(
        "pci 0000:5e:00.0 at 2025-11-12"
    )
    assert family("nodes r1n[01-04,7] down") == "nodes <host> down"
    assert family("none") == ""


def test_signatures_and_blanks_are_no_reasons() -> None:
    assert plain("Not responding [slurm@2026-02-01T10:00:00]") == "Not responding"
    assert [plain(text) for text in ("none", "(null)", "  ", "Unknown", '""')] == [""] * 5


def test_states_have_flags() -> None:
    assert states("DOWN*+DRAIN") == {"DOWN", "DRAIN"}
    assert states("idle~") == {"IDLE"}
    assert states("") == frozenset()
