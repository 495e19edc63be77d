"""What agents on storage hosts sampled, taken into this machine's book of these hosts: so that a
machine that has just begun to save knows how they have been."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import numpy as np

from forestall.core.model.errors import InputError, ParameterError
from forestall.logs.metrics.day_files import day_files_in, is_day_file
from forestall.logs.metrics.day_samples import COLUMNS, HostDays, host_days
from forestall.vaults.api.stores import this_book
from forestall.vaults.hosts.host import HostLook
from forestall.vaults.hosts.places import host_at
from forestall.vaults.stores.book import KEPT

PERIOD: Final = 60
"""s between two looks that samples stand for."""
GAP: Final = 600
"""s without a sample after which the agent, and with it the machine, counts as away."""
_DISK, _CLIENTS = COLUMNS.index("disk"), COLUMNS.index("clients")


@dataclass(frozen=True)
class ImportedLooks:
    """What was taken in of a storage host: its name, the agent's host, how many looks, how many of
    them found it away, and from when until when, s since 1970."""

    name: str
    host: str
    looks: int
    away: int
    begin: int
    end: int


def import_samples(
    paths: Sequence[Path],
    stores: Sequence[str],
    names: Mapping[str, str] | None = None,
    *,
    now: float | None = None,
) -> list[ImportedLooks]:
    """Take the samples of agents into the book; what this machine saw itself stays.

    Parameters
    ----------
    paths : agents' folders, or their day files
    stores : URLs of the storage hosts
    names : from the host of an agent to the URL of its store, where the URL does not name it

    Raises InputError where a path has no samples, or none is of one of these stores.
    """
    at = time.time() if now is None else now
    wanted = _by_host(stores, names or {})
    told: list[ImportedLooks] = []
    with this_book(at) as book:
        for one in _hosts(paths):
            name = wanted.get(one.host) or wanted.get(one.host.partition(".")[0])
            if name is None:
                continue
            looks = [(name, *look) for look in looks_of(one) if look[0] >= at - KEPT]
            book.add_looks(looks, over=False)
            if looks:
                away = sum(look is None for *_, look in looks)
                told.append(ImportedLooks(name, one.host, len(looks), away, looks[0][1],
                                          looks[-1][1]))  # fmt: skip
    if not told:
        raise InputError(
            f"no sample of the last {KEPT // 86_400} days is of one of these stores; expected "
            f"agents on {', '.join(sorted(wanted)) or 'hosts named by {host}'}"
        )
    return told


def looks_of(one: HostDays) -> Iterator[tuple[int, HostLook | None]]:
    """Yield what samples of a host say, a look each minute, and one at each end of a gap."""
    values = one.values()
    daemon = ~np.isnan(values[:, _CLIENTS])
    known = bool(daemon.any())  # else nothing was said of a daemon
    _, firsts = np.unique(one.time // PERIOD, return_index=True)
    last = math.inf
    for k in firsts.tolist():
        at = int(one.time[k])
        if at - last > GAP:
            yield int(last) + PERIOD, None
            yield at - PERIOD, None
        yield at, HostLook(io=float(values[k, _DISK])) if daemon[k] or not known else None
        last = at


def _hosts(paths: Sequence[Path]) -> Iterator[HostDays]:
    for path in paths:
        files = [path] if is_day_file(path) else day_files_in(path)
        if not files:
            raise InputError(f"{path}: expected an agent's folder, or a day file of one")
        yield from host_days(files, path)[0]


def _by_host(stores: Sequence[str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the names of stores by the hosts of agents: as given, else as their URLs name them, in
    full and up to the first dot. Raises ParameterError for a URL that is no store's."""
    found: dict[str, str] = {}
    for url in stores:
        host, name = urlsplit(url).hostname or "", host_at(url).name
        if host:
            found[host] = name
            if not host.replace(".", "").isdecimal():
                found.setdefault(host.partition(".")[0], name)
    for one, url in names.items():
        if url not in stores:
            raise ParameterError("host", f"{one}={url}", f"NAME=URL, with one of {list(stores)}")
        found[one] = host_at(url).name
    return found
