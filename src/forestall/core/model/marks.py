"""The marks by which our actions are found again: in comments, reasons and names of reservations.

- comment of a job: ``forestall:ID`` at its begin, then what its owner wrote; where its owner
  submits it, ``forestall:ID.SEAL``: only who holds the key can have made that;
- note of a job (Slurm's AdminComment, which administrators alone may write): ``forestall:hold=ID``
  where we hold the job back, and at its end the last action, ``forestall:act=ID``, or
  ``forestall:act=ID?`` while nobody knows whether it went through. An operator writes that at the
  end of the comment, where no administrator's note of ours stands;
- reason of a node: ``forestall: TEXT [ID]``, to which Slurm may add ``: reboot issued``;
- name of a reservation: ``forestall_ID``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from forestall.core.model.errors import ParameterError

RESERVATION: Final = "forestall_"
"""Names of our reservations begin so."""
REASON: Final = "forestall: "
"""Reasons that we give begin so."""

_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_TAG: Final = re.compile(r"forestall:([a-z0-9][a-z0-9_-]{0,39})(?:\.([0-9a-f]{32}))?(?![^\s])")
_ACT: Final = re.compile(r"forestall:act=([a-z0-9][a-z0-9_-]{0,39})(\??)\Z")
_HOLD: Final = re.compile(r"forestall:hold=([a-z0-9][a-z0-9_-]{0,39})(?= forestall:act=\S+\Z)")
_REASON: Final = re.compile(
    r"forestall: .*\[([a-z0-9][a-z0-9_-]{0,39})\](?: : reboot [a-z ]+)?", re.DOTALL
)
_MOST_TEXT: Final = 200


class Mark(NamedTuple):
    """What of ours stands on a job.

    Attributes
    ----------
    promise : id of the action that submitted it, "" for a job that is not ours
    hold : id of the action by which we hold it back, "" for none
    act : id of the last action on it, "" for none
    pending : whether that action was under way and is not known to have been carried out
    seal : that a promise's tag has where the job's owner submits it, "" for none
    """

    promise: str
    hold: str
    act: str
    pending: bool
    seal: str = ""

    @staticmethod
    def parse(comment: str, note: str) -> Mark:
        """Return the mark that a comment and a note hold.

        >>> Mark.parse("forestall:p17 my words", "forestall:hold=h1 forestall:act=s1?")
        Mark(promise='p17', hold='h1', act='s1', pending=True, seal='')
        """
        return _parsed(comment, note)


@lru_cache(4096)  # each look tells the same jobs again
def _parsed(comment: str, note: str) -> Mark:
    tag = _TAG.match(comment)
    place = comment if tag and _ACT.search(note) is None else note
    hold, act = _HOLD.search(place), _ACT.search(place)
    return Mark(
        tag[1] if tag else "",
        hold[1] if hold else "",
        act[1] if act else "",
        bool(act and act[2]),
        (tag[2] or "") if tag else "",
    )


def checked_id(text: str) -> str:
    """Return an id of an action; ParameterError where it cannot stand in all places."""
    if _ID.fullmatch(text) is None:
        allowed = "1 to 40 small letters, digits, _ and -, beginning with a letter or digit"
        raise ParameterError("id", text, allowed)
    return text


def tagged(identity: str, words: str = "", seal: str = "") -> str:
    """Return the comment of a job: our tag, then its owner's words on one line."""
    dot = "." if seal else ""
    return f"forestall:{identity}{dot}{seal} {one_line(words)}".rstrip()


def noted(note: str, act: str, *, hold: str | None = None, pending: bool = False) -> str:
    """Return an administrator's note with our last action in it; what others wrote stays.

    Parameters
    ----------
    hold : by which action we hold the job back from now on, "" for none (default: as it was)

    >>> noted("see RT 7", "h1", hold="h1")
    'see RT 7 forestall:hold=h1 forestall:act=h1'
    """
    held = Mark.parse("", note).hold if hold is None else hold
    kept = one_line(_ACT.sub("", _HOLD.sub("", note)))
    holding = f"forestall:hold={held} " if held else ""
    return f"{kept} {holding}forestall:act={act}{'?' if pending else ''}".lstrip()


def commented(comment: str, note: str) -> str:
    """Return a comment with the marks of a note at its end, in place of those that it has.

    >>> commented("forestall:p1 mine forestall:act=s1?", "see RT 7 forestall:act=s1")
    'forestall:p1 mine forestall:act=s1'
    """
    kept = _ACT.sub("", _HOLD.sub("", comment)).rstrip()
    found = _HOLD.search(note) or _ACT.search(note)
    return kept if found is None else f"{kept} {note[found.start() :]}"


def reason_of(identity: str, words: str) -> str:
    """Return the reason that a node gets.

    >>> reason_of("d1", "fails within 2 h: 31 %")
    'forestall: fails within 2 h: 31 % [d1]'
    """
    return f"{REASON}{one_line(words).replace('[', '(').replace(']', ')')} [{identity}]"


def mark_of_reason(reason: str) -> str:
    """Return the id in a reason of ours; "" for a reason that somebody else gave.

    What Slurm appends to the reason of a reboot may follow. What a person appends makes it theirs.

    >>> mark_of_reason("forestall: risk [d1] : reboot issued"), mark_of_reason("bad fan [d1]")
    ('d1', '')
    >>> mark_of_reason("forestall: risk [d1], keep it so. Ann")
    ''
    """
    match = _REASON.fullmatch(reason)
    return match[1] if match else ""


def reservation_name(identity: str) -> str:
    """Return the name of the reservation that an action makes."""
    return RESERVATION + identity


def one_line(text: str) -> str:
    """Return text that no command of Slurm takes for anything else: printable signs on one line,
    without quotes and backslashes, at most 200 of them."""
    kept = "".join(sign if sign.isprintable() and sign not in "\"'\\" else " " for sign in text)
    return " ".join(kept.split())[:_MOST_TEXT].rstrip()
