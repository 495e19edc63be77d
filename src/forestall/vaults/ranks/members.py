"""What the ring and the tree ask of whatever connects the ranks of a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from forestall.core.model.errors import ForestallError
from forestall.vaults.ranks.states import Buffer


class RankLostError(ForestallError):
    """A rank was lost, or the others were told so: all go on with `Ring.restore`."""


class Links(ABC):
    """Messages between ranks, in the order in which each pair sends them.

    Attributes
    ----------
    rank, size : of this process, and how many there are
    """

    rank: int
    size: int

    @abstractmethod
    def send(self, to: int, message: Buffer) -> None:
        """Send bytes to a rank; they may be changed once this returns."""

    @abstractmethod
    def receive(self, of: int) -> Buffer:
        """Wait for a rank's next message."""


class Alone(Links):
    """The only rank."""

    rank, size = 0, 1

    def send(self, to: int, message: Buffer) -> None:
        """Nobody is there."""
        raise AssertionError(to)

    def receive(self, of: int) -> Buffer:
        """Nobody is there."""
        raise AssertionError(of)


class Members(ABC):
    """The processes of a program: ranks that work, and spares that wait. All methods but `finish`,
    `wait` and `is_loss` raise RankLostError where one was lost.

    Attributes
    ----------
    rank : of this process among those that work, None for a spare
    size : how many work
    links : between those that work; None on a spare
    """

    rank: int | None
    size: int
    links: Links | None

    @abstractmethod
    def swap(self, sent: Sequence[tuple[int, Buffer]], got: Sequence[tuple[int, Buffer]]) -> None:
        """Send to, and receive from, ranks that work, all at once; sizes are known to both."""

    @abstractmethod
    def agree(self, well: bool) -> bool:
        """Return whether all that work say so. Where one is lost meanwhile some may learn it, and
        others that all have said so."""

    @abstractmethod
    def finish(self, well: bool) -> bool:
        """Return whether all that work have ended well; the same to all, and False where one was
        lost. Who met a loss says that it has not."""

    @abstractmethod
    def regroup(self) -> None:
        """Leave out whoever was lost. All survivors do so, spares among them: whoever waits for a
        message of a rank is told that one was lost. From now on, until `settle`, `gather`,
        `pass_on` and `agree_all` count survivors."""

    @abstractmethod
    def gather(self, told: Any) -> list[Any]:
        """Return what each survivor tells, in their order."""

    @property
    @abstractmethod
    def place(self) -> int:
        """The number of this process among survivors."""

    @abstractmethod
    def pass_on(
        self, sent: Sequence[tuple[int, Buffer]], got: Sequence[tuple[int, Buffer]]
    ) -> None:
        """`swap` among survivors."""

    @abstractmethod
    def settle(self, ranks: Sequence[int | None]) -> None:
        """Give each survivor its rank, None to spares."""

    @abstractmethod
    def agree_all(self, well: bool) -> bool:
        """Return whether all survivors say so; the same to all, and False where one was lost."""

    @abstractmethod
    def leave(self) -> None:
        """Let nobody wait for this process any more: it cannot go on."""

    @abstractmethod
    def wait(self) -> bool:
        """Wait as a spare until a rank was lost; False where the program has ended."""

    @abstractmethod
    def release(self) -> None:
        """Tell spares that the program has ended."""

    @abstractmethod
    def is_loss(self, error: BaseException) -> bool:
        """Return whether an error that the program met says that a rank was lost."""

    @property
    @abstractmethod
    def comm(self) -> Any:
        """What the ranks that work speak over, as the library in use has it."""
