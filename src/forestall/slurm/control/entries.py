"""The long lists of Slurm's answers, of which each look shows most entries as the last one did.

An answer is taken apart into its entries without being read (`entry_kernels`). An entry whose bytes
stood in the last answer is the noun that it was; only the others are read. So a look costs what has
changed, and Python's lock is let go between two entries: whoever asks for a quote meanwhile need
not wait for tens of MB of JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np

from forestall.slurm.cluster.nouns import ClusterJob, ClusterNode
from forestall.slurm.control.documents import Document, decoded, document, entries, job_of, node_of
from forestall.slurm.control.entry_kernels import places_of

Noun = TypeVar("Noun")
_SHORTEST: Final = 32
"""Bytes of an entry, on average: answers with shorter ones are read whole."""
_DIGEST: Final = 16
_Known = dict[bytes, tuple[Noun, int]]


class _Entry(NamedTuple):
    """An entry by a digest of its bytes, and where they stand."""

    digest: bytes
    begin: int
    end: int


class RememberedList(Generic[Noun]):
    """Reads one list of the answers to one question, look after look.

    Parameters
    ----------
    name : of the list in the answer
    what : was asked for, as errors name it
    noun : makes one of an entry; raises LookError where it is none
    """

    def __init__(self, name: str, what: str, noun: Callable[[Any], Noun]) -> None:
        self._name, self._what, self._noun = name, what, noun
        self._known: _Known[Noun] = {}

    def read(self, raw: bytes, check: Callable[[Document], None]) -> tuple[list[Noun], Document]:
        """Return the entries of an answer, and the answer without them.

        check : is given the answer before its entries are made nouns; raises LookError where it is
            none

        Raises LookError as `documents.document` does, whose words are those of a whole reading.
        """
        parted = self._parted(raw)
        if parted is not None:
            found, told = parted
            check(told)
            nouns, known = [], dict[bytes, tuple[Noun, int]]()
            try:
                for one in found:
                    noun = self._known.get(one.digest) or self._new(raw[one.begin : one.end])
                    known[one.digest] = noun
                    nouns.append(noun[0])
            except (ValueError, RecursionError):
                return self._whole(raw, check)
            self._known = known
            replaced = told.replaced + sum(known[one.digest][1] for one in found)
            return nouns, told._replace(replaced=replaced)
        return self._whole(raw, check)

    def _new(self, entry: bytes) -> tuple[Noun, int]:
        """Return the noun of an entry, and how many signs were replaced in it."""
        text, replaced = decoded(entry)
        return self._noun(json.loads(text)), replaced

    def _whole(self, raw: bytes, check: Callable[[Document], None]) -> tuple[list[Noun], Document]:
        """Read an answer that cannot be taken apart, such as one that was cut short."""
        told = document(raw, self._what)
        check(told)
        return [self._noun(one) for one in entries(told.value, self._name, self._what)], told

    def _parted(self, raw: bytes) -> tuple[list[_Entry], Document] | None:
        """Return the entries of an answer, and it without them; None where it is read whole."""
        out = np.empty((len(raw) // _SHORTEST + 2, 2), np.int64)
        name = np.frombuffer(self._name.encode(), np.uint8)
        count = places_of(np.frombuffer(raw, np.uint8), name, out)
        if count < 0:
            return None
        (begin, end), *places = out[: count + 1].tolist()
        try:
            text, replaced = decoded(raw[:begin] + b"[]" + raw[end:])
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        view = memoryview(raw)
        found = [
            _Entry(hashlib.blake2b(view[first:last], digest_size=_DIGEST).digest(), first, last)
            for first, last in places
        ]
        return found, Document(value, replaced)


def remembered_jobs() -> RememberedList[ClusterJob]:
    """Return what reads the queue of squeue or ``/jobs``."""
    return RememberedList("jobs", "queue", job_of)


def remembered_nodes() -> RememberedList[ClusterNode]:
    """Return what reads the nodes of scontrol, sinfo or ``/nodes``."""
    return RememberedList("nodes", "nodes", node_of)
