"""The results as sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import forestall as fs
from studies.kit.claims import Claim
from studies.kit.text import Blocks, listing, reasons, share, table, whys
from studies.vault.claims import MIB
from studies.vault.found import Found
from studies.vault.measured import CAMPUS, LINE, NEAR
from studies.vault.plan import FREE, GIB, KINDS, PATHS


def sections(found: Found, claims: Sequence[Claim]) -> Mapping[str, Blocks]:
    """Return the sections of `verdict.md`."""
    made: dict[str, Blocks] = {
        "Why claims come out so": reasons(whys(claims)),
        "How it was done": listing(HOW + (MEASURED if found.measured.there else _not(found))),
        "Simulated runs": runs_table(found),
    }
    if found.measured.there:
        made["Measured"] = (measured_table(found), parts_table(found))
    return made


HOW = f"""
- Simulated: Falcon places jobs of 0.5 to 6 h on shared hosts, which save every 30 min of work.
  Generated owners keep hours of their own; Grid'5000's nodes are up or away; PlanetLab's slices are
  loaded and never away. Paths and sizes: {PATHS}. Differences are between runs with the same hosts
  and jobs; intervals are 95 % over seeds.
- The dedicated servers and the submitting machine get checkpoints unchanged (the slides' state of
  the art). The vault compresses them to half, and 40 % of each later version is new. "remote,
  compressed and shared" gives the remote server the same checkpoints as the vault.
- Servers and the submitting machine never fail. Hosts that are away keep their disks.
"""
MEASURED = f"""
- Measured: 6 shared hosts of one lab, 2 more and a server in another campus, a server in the lab
  and a submitting machine, each a storage daemon in a network namespace on one machine. Links: lab
  {NEAR.up // 10**6} Mbit/s; campus {CAMPUS.up // 10**6} Mbit/s, {CAMPUS.delay:g} ms one way,
  {100 * CAMPUS.loss:g} % of frames lost; line {LINE.up // 10**6} Mbit/s, {LINE.delay:g} ms,
  {100 * LINE.loss:g} %. `tc tbf` limits bandwidth without delay; a process that forwards frames
  adds delay and loss, since not every kernel has `tc netem`.
- All layouts compress and share chunks, so they differ only in the path and the code. Guests end at
  the same drawn times in every layout; every second time the host's daemon stops with the guest,
  until the next one starts.
- The programs: Jacobi's method on a grid of 1024 x 1024 (8 MiB), and a search of 220 queries in
  30,000 protein sequences (8 MiB). Each takes 220 steps of at least 0.1 s and a checkpoint after
  3 s of work; guests stay on a host for 16 s on average, and a program is given up after 80 s.
"""


def _not(found: Found) -> str:
    return f"\n- Nothing was measured with real daemons: {found.measured.why}.\n"


def runs_table(found: Found) -> fs.reports.Table:
    """Return means of all simulated cells."""
    rows = []
    for name in found.sets:
        for layout in (*KINDS, FREE):
            for size in sorted(found.plan.sizes):
                span = found.mean(name, layout, size, "makespan")
                if span.mean != span.mean:
                    continue
                figures = {what: found.mean(name, layout, size, what).mean for what in _COLUMNS}
                rows.append((
                    name, layout, f"{size / GIB:g}", f"{span.mean:.3f}",
                    share(figures["unfinished"]), f"{figures['save_seconds']:.0f}",
                    f"{figures['restore_seconds']:.0f}", share(figures["time_share"]),
                    f"{figures['unrecovered'] / 60:.1f}",
                    f"{figures['bytes_between_sites'] / GIB:.2f}", str(span.seeds),
                ))  # fmt: skip
    head = (
        "Hosts", "Checkpoints", "GiB", "Makespan of jobs done, h", "Jobs not done", "Save, s",
        "Restore, s", "Guests' time in transfers", "Work not recovered, min a job",
        "Between sites, GiB a job", "Seeds",
    )  # fmt: skip
    return table(head, rows, right=tuple(range(2, len(head))))


_COLUMNS = (
    *("unfinished", "save_seconds", "restore_seconds", "time_share", "unrecovered"),
    "bytes_between_sites",
)


def measured_table(found: Found) -> fs.reports.Table:
    """Return saves and restores by size."""
    rows = []
    mine = found.measured.rows.filter(test="size")
    for layout, size, save, restore, stored in mine.select(
        "layout", "bytes", "save", "restore", "stored"
    ).iter_rows():
        rows.append((layout, f"{size // MIB}", f"{save:.2f}", f"{restore:.2f}",
                     f"{stored / MIB:.2f}"))  # fmt: skip
    head = ("Checkpoints", "MiB", "Save, s", "Restore, s", "Stored, MiB")
    return table(head, rows, right=(1, 2, 3, 4))


def parts_table(found: Found) -> fs.reports.Table:
    """Return what single parts of the vault cost and save, of a first and of a next version."""
    rows = []
    mine = found.measured.rows.filter(test="parts")
    for layout, version, save, restore, stored in mine.select(
        "layout", "version", "save", "restore", "stored"
    ).iter_rows():
        rows.append((layout, "next" if version else "first", f"{save:.2f}", f"{restore:.2f}",
                     f"{stored / MIB:.2f}"))  # fmt: skip
    head = ("Way", "Version", "Save, s", "Restore, s", "Stored, MiB")
    return table(head, rows, right=(2, 3, 4))
