"""A tree of ranks: messages go up and are put together, and answers come down and are shared out.

Rank 0 is the root; with fan-out f the children of rank r are r f + 1 to r f + f.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from forestall.core.model.errors import InputError, ParameterError
from forestall.vaults.ranks.members import Links, RankLostError
from forestall.vaults.ranks.states import Piece, packed, state_of

Message: TypeAlias = dict[str, Piece]


class SharedSaveError(InputError):
    """A save of all ranks together that one of them could not do its part of."""


class Tree:
    """This rank's place in the tree.

    Parameters
    ----------
    links : between ranks
    fanout : most children of a rank, at least 1
    """

    def __init__(self, links: Links, fanout: int) -> None:
        if fanout < 1:
            raise ParameterError("fanout", fanout, "at least 1")
        self.links = links
        first = links.rank * fanout + 1
        self.children = tuple(range(first, min(first + fanout, links.size)))
        self.parent = None if links.rank == 0 else (links.rank - 1) // fanout

    def turn(
        self,
        up: Callable[[Sequence[Message]], Message],
        top: Callable[[Message], Message],
        down: Callable[[Message], Sequence[Message]],
    ) -> Message:
        """Do one turn: `up` makes this rank's message of its children's, `top` the root's answer to
        its own message, and `down` the children's answers of this rank's. Returns the latter.

        Raises SharedSaveError on all ranks where something was wrong on one.
        """
        got = [self._receive(one) for one in self.children]
        mine = next((one for one in got if "wrong" in one), None)
        if mine is None:
            mine = self._tried(lambda: up(got))
        if self.parent is not None:
            self._send(self.parent, mine)
            answer = self._receive(self.parent)
        else:
            own = mine
            answer = own if "wrong" in own else self._tried(lambda: top(own))
        bad = "wrong" in answer
        for child, one in zip(
            self.children, [answer] * len(self.children) if bad else down(answer), strict=True
        ):
            self._send(child, one)
        if bad:
            raise SharedSaveError(_bytes(answer["wrong"]).decode())
        return answer

    def _tried(self, make: Callable[[], Message]) -> Message:
        """Return what is made, or in words what was wrong: others wait to be told."""
        try:
            return make()
        except RankLostError:
            raise
        except (InputError, OSError, MemoryError) as error:
            return {"wrong": f"rank {self.links.rank}: {error}".encode()}

    def _send(self, to: int, message: Message) -> None:
        self.links.send(to, packed(message))

    def _receive(self, of: int) -> Message:
        state = state_of(self.links.receive(of))
        assert isinstance(state, Mapping)
        return dict(state)


def _bytes(piece: Piece) -> bytes:
    return piece if isinstance(piece, bytes) else np.asarray(piece).tobytes()
