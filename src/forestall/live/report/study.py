"""A ledger replayed: same decisions or not, and what would have been otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forestall.core.kit.progress import Progress
from forestall.core.model.errors import ParameterError
from forestall.core.model.live.intents import Role
from forestall.live.ledger.failures import LedgerFailures
from forestall.live.ledger.store import LiveLedger
from forestall.live.replays.forecasts import (
    HindsightForecasts,
    LearnedForecasts,
    NoForecasts,
    ReplayForecasts,
    outages,
)
from forestall.live.replays.guarded import GuardedAgain, judge_again
from forestall.live.replays.other import EngineChange, OtherPlayed, play_other
from forestall.live.replays.recorded import Recorded, RecordedPromise
from forestall.live.replays.ruled import RuledAgain, rule_again
from forestall.live.replays.same import PlayedAgain, play_again
from forestall.live.report.promises import JudgedProbabilities, judged
from forestall.live.report.question import ReplayQuestion
from forestall.live.serving.settings import read_live_settings
from forestall.prediction.given.predictor_files import load_predictor


@dataclass(frozen=True)
class LedgerReplayed:
    """A replay of a ledger.

    Attributes
    ----------
    name : of the ledger, without a password
    again : what the same engine decided
    promises : all of the ledger
    other : what another engine would have decided; None: none was asked for
    guarded : what other limits would have let pass; None: none were asked for
    ruled : what other rules on nodes would have drained; None: none were asked for
    """

    name: str
    asked: ReplayQuestion
    again: PlayedAgain
    promises: tuple[RecordedPromise, ...]
    other: OtherPlayed | None
    guarded: GuardedAgain | None
    ruled: RuledAgain | None = None

    @property
    def same(self) -> bool:
        """Whether every byte is the same."""
        return self.again.first is None

    @property
    def unlike(self) -> list[str]:
        """Where promises are not their offers, or outcomes not what became of them."""
        return [text for one in self.promises for text in one.unlike]

    @property
    def probabilities(self) -> tuple[JudgedProbabilities, JudgedProbabilities]:
        """What would have been said of promises that are settled, judged by what happened: by the
        engine that was, and by the other one."""
        said = [] if self.other is None else self.other.said
        pairs = [(one.was, one.other, one.promise.kept) for one in said]
        both = [(was, other, kept) for was, other, kept in pairs
                if was is not None and other is not None and kept is not None]  # fmt: skip
        was = judged((was, kept) for was, _, kept in both)
        return was, judged((other, kept) for _, other, kept in both)

    @property
    def summary(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        first, outcomes = self.again.first, [one.outcome for one in self.promises]
        became = [None if one is None else one.outcome for one in outcomes]
        told: dict[str, Any] = {
            "ledger": self.name,
            "same": self.same,
            "cycles": self.again.cycles,
            "runs": self.again.runs,
            "from_s": self.again.begin,
            "to_s": self.again.end,
            "events": dict(sorted(self.again.events.items())),
            "decisions": dict(sorted(self.again.decisions.items())),
            "cycles_that_differ": self.again.different,
            "first_difference": None if first is None else dict(vars(first)),
            "unlike": self.unlike,
            "promises": {
                "made": len(self.promises),
                **{kind: became.count(kind) for kind in ("kept", "missed", "void")},
                "open": became.count(None),
                "deciles": judged(_said(self.promises)).rows,
            },
        }
        return told | {"what_if": self._what_if()}

    def _what_if(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if self.other is not None:
            was, other = self.probabilities
            told["engine"] = {
                "cycles_that_differ": self.other.different,
                "jobs": self.other.jobs,
                "jobs_placed_otherwise": len(self.other.placed),
                "promises_asked_again": len(self.other.said),
                "promises_said_otherwise": sum(one.changed for one in self.other.said),
                "promises_not_made": sum(one.other is None and one.was is not None
                                         for one in self.other.said),
                "judged_as_it_was": was.as_dict(),
                "judged_otherwise": other.as_dict(),
            }  # fmt: skip
        if self.guarded is not None:
            counts = {str(role): self.guarded.counts(role) for role in (Role.KEEPER, Role.WARDEN)}
            told["guard"] = {
                "intents": len(self.guarded.judged),
                "changed": len(self.guarded.changed),
                "left_as_they_were": self.guarded.unknown,
                **{
                    role: {"was": {str(k): n for k, n in sorted(was.items())},
                           "other": {str(k): n for k, n in sorted(other.items())}}
                    for role, (was, other) in counts.items()
                },
            }  # fmt: skip
        if self.ruled is not None:
            told["rules"] = _rules_told(self.ruled)
        return told


def _rules_told(ruled: RuledAgain) -> dict[str, Any]:
    """Return what other rules would have drained as JSON has it."""
    new = ruled.new
    return {
        "proposed": dict(sorted(ruled.proposed.items())),
        "proposed_not_otherwise": dict(sorted(ruled.left_out.items())),
        "drains": len(ruled.drains),
        "failures_seen": ruled.failures,
        "failures_in_time": ruled.came,
        "of_nodes_in_service": {
            "drains": len(new),
            "failures": sum(one.came for one in new),
            "saved_node_s": sum(one.saved for one in new),
            "spent_node_s": sum(one.spent for one in new),
        },
    }


def find(target: str, asked: ReplayQuestion, progress: Progress | None = None) -> LedgerReplayed:
    """Replay a ledger, by URL or by the path of a SQLite file; it is only read.

    Raises LedgerError where it cannot be read or is damaged, ParameterError for a question that
    cannot be.
    """
    url = target if "://" in target else f"sqlite:///{Path(target).absolute()}"
    settings = None if asked.guard is None else read_live_settings(asked.guard).guard
    with LiveLedger(url, writes=False) as ledger:
        recorded, other = Recorded(ledger), None
        if asked.asks_engine:
            change = EngineChange(asked.wanted, _forecasts(asked.predictor, recorded))
            other = play_other(recorded, change, progress)
        again = play_again(recorded, progress) if other is None else other.again
        guarded = None if settings is None else judge_again(recorded, settings)
        ruled = None
        if asked.rules is not None:
            rules = read_live_settings(asked.rules).rules
            forecasts = _forecasts(asked.predictor, recorded)
            ruled = rule_again(recorded, LedgerFailures(ledger), rules, forecasts)
        promises = tuple(recorded.promises())
        return LedgerReplayed(recorded.name, asked, again, promises, other, guarded, ruled)


def _forecasts(predictor: str | None, recorded: Recorded) -> ReplayForecasts | None:
    if predictor is None:
        return None
    if predictor == "none":
        return NoForecasts()
    if predictor == "hindsight":
        return HindsightForecasts(outages(recorded))
    if not Path(predictor).is_file():
        allowed = "none, hindsight, or a file that forestall predict train wrote"
        raise ParameterError("predictor", predictor, allowed)
    return LearnedForecasts(load_predictor(predictor))


def _said(promises: tuple[RecordedPromise, ...]) -> list[tuple[float, bool]]:
    return [(one.promise.probability, one.kept) for one in promises if one.kept is not None]
