"""The guard: each rule has a word against what breaks it, and only against that."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.live.intents import MAY, ROLE_OF, Action, Intent, Role
from forestall.core.model.marks import mark_of_reason
from forestall.core.model.units import told_moment
from forestall.live.guard.guard import RULES, Doings, Pass, guard
from forestall.live.guard.settings import GuardSettings, RoleSettings, guard_settings, quiet_hours
from forestall.live.guard.sight import (
    GONE,
    ClusterSight,
    JobSight,
    NodeSight,
    ReservationSight,
    standing_in_words,
)
from forestall.prediction.watching.foreseen import Maintenance

NOW = 1_000_000
WARDEN = RoleSettings("on", 2, 50.0, 2, 50.0, 4, 600)
KEEPER = RoleSettings("on", 8, 50.0, 8, 50.0, 4, 600)
SET = GuardSettings(floor_percent=50.0, keeper=KEEPER, warden=WARDEN)
NODES = {f"n{k}": NodeSight(("a",), boot=5) for k in range(8)}
JOBS = {"17": JobSight("RUNNING", 900_000, "p1")}
RESERVATIONS = {"forestall_p1": ReservationSight(2, "a"), "theirs": ReservationSight(1)}
SIGHT = ClusterSight(NOW - 10, nodes=NODES, jobs=JOBS, reservations=RESERVATIONS)
DID = Doings(consents={"p1": frozenset({"requeue"})})


def intent(
    action: Action, target: str = "n1", sight: ClusterSight = SIGHT, **more: object
) -> Intent:
    told = {"promise": "p1"} if ROLE_OF[action] == Role.KEEPER else {}
    state = sight.standing(action, target)
    return Intent(action, target, NOW - 20, NOW + 100, state, "why", **{**told, **more})  # type: ignore[arg-type]


def with_node(name: str = "n1", **changed: object) -> ClusterSight:
    return replace(SIGHT, nodes={**NODES, name: NODES[name]._replace(**changed)})  # type: ignore[arg-type]


def ours(name: str, sight: ClusterSight = SIGHT) -> str:
    return intent(Action.DRAIN, name, sight).words


def drained(*names: str) -> ClusterSight:
    nodes = {n: NODES[n]._replace(drained=True, reason=ours(n)) for n in names}
    return replace(SIGHT, nodes={**NODES, **nodes})


def says(
    one: Intent, sight: ClusterSight = SIGHT, doings: Doings = DID, **more: object
) -> tuple[str, str]:
    given_settings = more.pop("settings", SET)
    approved = bool(more.pop("approved", False))
    now = int(more.pop("now", NOW))  # type: ignore[call-overload]
    verdict = guard(one, sight, doings, given_settings, now, approved=approved)  # type: ignore[arg-type]
    return verdict.kind, verdict.why


def test_roles_and_actions() -> None:
    assert sorted(ROLE_OF) == sorted(Action), "every action belongs to one role"
    assert sum(len(actions) for actions in MAY.values()) == len(Action)
    for action in MAY[Role.ADVISOR]:
        with pytest.raises(ParameterError, match="action"):
            Intent(action, "n1", 1, 2, "", "")


def test_what_may_be_done_passes() -> None:
    risky = drained("n1")
    assert says(intent(Action.DRAIN)) == (Pass.GO, "")
    assert says(intent(Action.RESUME, sight=risky), risky) == (Pass.GO, "")
    assert says(intent(Action.REBOOT, sight=risky), risky) == (Pass.GO, "")
    assert says(intent(Action.REQUEUE, "17")) == (Pass.GO, "")
    assert says(intent(Action.RELEASE, "forestall_p1")) == (Pass.GO, "")
    assert says(intent(Action.RESERVE, "forestall_p1-2", size=2, partition="a"))[0] == Pass.GO


def test_all_is_off_by_default() -> None:
    for action in (*MAY[Role.KEEPER], *MAY[Role.WARDEN]):
        target = {"requeue": "17", "start": "17", "signal": "17", "reserve": "forestall_x"}.get(
            action, "n1"
        )
        if action == Action.RELEASE:
            target = "forestall_p1"
        kind, why = says(intent(action, target), settings=GuardSettings())
        assert kind == Pass.REFUSE
        assert "is switched off: a proposal only" in why


def test_a_person_is_asked() -> None:
    asks = replace(SET, warden=replace(WARDEN, switch="approve"))
    assert says(intent(Action.DRAIN), settings=asks)[0] == Pass.ASK
    assert says(intent(Action.DRAIN), settings=asks, approved=True)[0] == Pass.GO
    each = replace(SET, warden=replace(WARDEN, approve=("drain",)))
    assert says(intent(Action.DRAIN), settings=each)[0] == Pass.ASK
    risky = drained("n1")
    assert says(intent(Action.RESUME, sight=risky), risky, settings=each)[0] == Pass.GO


def test_time_passes() -> None:
    one = intent(Action.DRAIN)
    assert says(one, now=NOW + 100)[0] == Pass.EXPIRE
    assert says(one, now=NOW + 51) == (
        Pass.WAIT, "the last look is 61 s old; at most 60 s are fresh"
    )  # fmt: skip
    assert says(one, now=NOW - 11)[0] == Pass.WAIT, "a look of the future: the clock jumped"
    assert says(one, replace(SIGHT, whole=False)) == (Pass.WAIT, "the last look was cut short")


def test_what_is_not_so_any_more_is_dropped() -> None:
    for sight in (with_node(down=True), with_node(boot=6), drained("n1")):
        assert says(intent(Action.DRAIN), sight)[0] == Pass.DROP
    assert says(intent(Action.DRAIN), with_node(busy=True))[0] == Pass.GO, "load may change"
    assert says(intent(Action.REQUEUE, "17"), replace(SIGHT, jobs={}))[0] == Pass.DROP
    assert says(intent(Action.DRAIN, "n99"))[0] == Pass.DROP
    assert says(intent(Action.REQUEUE, "99"))[0] == Pass.DROP
    again = Intent(Action.RESERVE, "forestall_p1", NOW - 9, NOW + 9, GONE, "why", promise="p1")
    assert says(again)[0] == Pass.DROP, "it is there already"


@pytest.mark.parametrize(
    ("sight", "why"),
    [
        (with_node(drained=True, reason="Ann: disk"), "a person took the node out of service"),
        (with_node(drained=True), "no reason given"),
        (with_node(rebooting=True, reason="bob"), "a person took the node out of service"),
        (with_node(drained=True, reason=ours("n1") + ", leave it. Ann"), "a person took"),
        (with_node(drained=True, reason="forestall: by hand"), "a person took"),
        (with_node(reserved=True), "in a reservation that is not ours"),
        (with_node(reason="Ann: look at it"), "the node's reason is not ours"),
    ],
)
def test_what_is_a_persons_is_untouched(sight: ClusterSight, why: str) -> None:
    for action in MAY[Role.WARDEN]:
        for approved in (False, True):
            kind, told = says(intent(action, sight=sight), sight, approved=approved)
            assert kind == Pass.REFUSE
            assert why in told


def test_only_what_we_drained_is_returned_or_rebooted() -> None:
    for action in (Action.RESUME, Action.REBOOT):
        assert says(intent(action)) == (
            Pass.REFUSE,
            f"forestall did not drain the node; {action} is for those that it did",
        )


def test_jobs_and_reservations_of_others() -> None:
    held = replace(SIGHT, jobs={"17": JOBS["17"]._replace(held=True)})
    assert says(intent(Action.REQUEUE, "17", held), held) == (
        Pass.REFUSE, "a person holds the job"
    )  # fmt: skip
    assert "did not agree" in says(intent(Action.SIGNAL, "17"))[1]
    assert "no open promise p1" in says(intent(Action.REQUEUE, "17"), doings=Doings())[1]
    plain = replace(SIGHT, jobs={"17": JobSight("RUNNING")})
    assert "does not carry" in says(intent(Action.REQUEUE, "17", plain), plain)[1]
    changed = replace(
        SIGHT, reservations={"forestall_p1": RESERVATIONS["forestall_p1"]._replace(as_made=False)}
    )
    told = says(intent(Action.RELEASE, "forestall_p1", changed), changed)
    assert told == (Pass.REFUSE, "a person changed the reservation")
    with pytest.raises(ParameterError, match="a name that begins forestall_"):
        intent(Action.RELEASE, "theirs")


def refused(verdict: tuple[str, str], why: str) -> None:
    assert verdict[0] == Pass.REFUSE, verdict
    assert why in verdict[1]


def test_nodes_and_percent_both_hold() -> None:
    """Of 8 nodes 50 % are 4, but 2 at once; with 37 % of them 2; with 12 % one all the same."""
    two = drained("n2", "n3")
    refused(says(intent(Action.DRAIN), two), "3 nodes of the cluster at once; at most 2 allowed")
    assert says(intent(Action.DRAIN), drained("n2"))[0] == Pass.GO
    share = replace(SET, warden=replace(WARDEN, nodes=9, partition_nodes=9, percent=37.0))
    refused(says(intent(Action.DRAIN), two, settings=share), "(9 nodes and 37 % of 8)")
    few = replace(SET, warden=replace(WARDEN, percent=12.0, partition_percent=12.0))
    assert says(intent(Action.DRAIN), settings=few)[0] == Pass.GO
    refused(says(intent(Action.DRAIN), drained("n2"), settings=few), "2 nodes of the cluster at")
    none = replace(SET, warden=replace(WARDEN, partition_percent=0.0))
    refused(says(intent(Action.DRAIN), settings=none), "1 node of partition a at once; at most 0")
    assert says(intent(Action.DRAIN), two, approved=True)[0] == Pass.WAIT, "approval lifts none"


def test_what_is_on_its_way_counts() -> None:
    going = replace(DID, half_way=(intent(Action.DRAIN, "n2"), intent(Action.DRAIN, "n3")))
    refused(says(intent(Action.DRAIN), doings=going), "3 nodes of the cluster")
    just = replace(DID, written=tuple((one, SIGHT.at) for one in going.half_way))
    refused(says(intent(Action.DRAIN), doings=just), "3 nodes of the cluster")
    lately = replace(DID, written=tuple((one, SIGHT.at - 300) for one in going.half_way))
    refused(says(intent(Action.DRAIN), doings=lately), "3 nodes of the cluster")
    seen = replace(DID, written=tuple((one, SIGHT.at - 301) for one in going.half_way))
    assert says(intent(Action.DRAIN), doings=seen)[0] == Pass.GO, "the look would show it"
    same = replace(DID, half_way=(intent(Action.DRAIN, cycle=9),))
    refused(says(intent(Action.DRAIN), doings=same), "is not settled")


def test_per_hour_and_cool_down() -> None:
    four = tuple((intent(Action.DRAIN, f"n{k}"), NOW - 3599) for k in range(2, 6))
    refused(says(intent(Action.DRAIN), doings=replace(DID, written=four)), "4 actions within an")
    past = tuple((one, NOW - 3600) for one, _ in four)
    assert says(intent(Action.DRAIN), doings=replace(DID, written=past))[0] == Pass.GO
    keeper = replace(DID, written=tuple((intent(Action.REQUEUE, "17"), NOW) for _ in range(9)))
    assert says(intent(Action.DRAIN), doings=keeper)[0] == Pass.GO, "each role has its own"
    again = replace(DID, written=((intent(Action.DRAIN, cycle=1), NOW - 599),))
    refused(says(intent(Action.DRAIN), doings=again), "drain of it 599 s ago; 10 min must pass")
    ahead = replace(DID, written=((intent(Action.DRAIN, cycle=1), NOW + 50),))
    refused(says(intent(Action.DRAIN), doings=ahead), "drain of it -50 s ago")
    risky = drained("n1")
    assert says(intent(Action.RESUME, sight=risky), risky, again)[0] == Pass.GO, "another action"


def test_the_floor_counts_everybodys_nodes() -> None:
    others = {f"n{k}": NODES[f"n{k}"]._replace(down=True) for k in range(2, 6)}
    sight = replace(SIGHT, nodes={**NODES, **others})
    refused(says(intent(Action.DRAIN), sight), "3 nodes of the cluster would stay in service, 4")
    sight = replace(SIGHT, nodes={**NODES, **dict(list(others.items())[1:])})
    assert says(intent(Action.DRAIN), sight)[0] == Pass.GO
    going = replace(DID, half_way=(intent(Action.DRAIN, "n7"),))
    refused(says(intent(Action.DRAIN), sight, going), "3 nodes of the cluster would stay")


def test_rolling_reboots() -> None:
    sight = drained("n1")
    for changed, why in (({"busy": True}, "works"), ({"promised": True}, "a promise counts on")):
        other = replace(sight, nodes={**sight.nodes, "n1": sight.nodes["n1"]._replace(**changed)})
        refused(says(intent(Action.REBOOT, sight=other), other), why)
    other = replace(sight, nodes={**sight.nodes, "n2": NODES["n2"]._replace(rebooting=True)})
    refused(says(intent(Action.REBOOT, sight=other), other), "2 nodes would reboot at once")


def test_reservations_count_their_nodes() -> None:
    def asks(size: int, partition: str = "a") -> tuple[str, str]:
        return says(intent(Action.RESERVE, "forestall_p9", size=size, partition=partition))

    assert asks(2)[0] == Pass.GO
    refused(asks(3), "5 nodes of the cluster at once; at most 4 allowed")
    refused(asks(1, "nowhere"), "1 node of partition nowhere at once; at most 0")


def test_quiet_hours_and_maintenance() -> None:
    monday = 1_704_067_200  # 2024-01-01, a Monday, 00:00 UTC
    sight = replace(SIGHT, at=monday)
    one = replace(intent(Action.DRAIN), decided=monday - 9, expires=monday + 9)
    for text, is_quiet in (
        ("22:00-06:00", True), ("mon 00:00-00:01", True), ("tue-sun 00:00-23:59", False),
        ("sun 23:00-01:00", True), ("mon 23:00-01:00", False), ("fri-mon 00:00-24:00", True),
    ):  # fmt: skip
        quiet = replace(SET, quiet=(quiet_hours(text),))
        kind, why = says(one, sight, now=monday, settings=quiet)
        assert (kind == Pass.REFUSE) == is_quiet, text
        assert not is_quiet or why == "quiet hours (Mon 00:00 in UTC)"
    berlin = replace(SET, quiet=(quiet_hours("01:00-01:01"),), zone="Europe/Berlin")
    assert says(one, sight, now=monday, settings=berlin)[0] == Pass.REFUSE
    for window, is_on in (
        (Maintenance(NOW, NOW + 1), True), (Maintenance(NOW - 1, NOW), False),
        (Maintenance(NOW, NOW + 1, frozenset({"n1"})), True),
        (Maintenance(NOW, NOW + 1, frozenset({"n2"})), False),
    ):  # fmt: skip
        kind, why = says(intent(Action.DRAIN), settings=replace(SET, maintenance=(window,)))
        assert (kind == Pass.REFUSE, "maintenance" in why) == (is_on, is_on)
        assert not is_on or why == f"maintenance until {told_moment(window.end)}"


@given(st.text(max_size=60))
def test_only_our_own_words_are_ours(text: str) -> None:
    one = Intent(Action.DRAIN, "n1", 1, 2, "up", "".join(c for c in text if c.isprintable()))
    assert mark_of_reason(one.words) == one.id
    assert mark_of_reason(one.words + " : reboot issued") == one.id
    assert mark_of_reason(text) == ""
    assert mark_of_reason(one.words + " x") == ""
    assert Intent.from_json(one.to_json()) == one


def test_the_rules_are_all_asked() -> None:
    assert len(RULES) == len(set(RULES)) == 14


def test_settings_of_tables() -> None:
    text = (
        'guard = { fresh = "2m", floor_percent = 80, zone = "Europe/Berlin", '
        'quiet = ["mon-fri 08:00-18:00"], '
        'maintenance = [{ start = "2026-01-01", end = "2026-01-02", nodes = ["n1"] }] }\n'
        '[keeper]\nswitch = "on"\n'
        '[warden]\nswitch = "approve"\nnodes = 3\npercent = 1.5\napprove = ["drain", "reboot"]\n'
    )
    made = guard_settings(tomllib.loads(text))
    assert (made.fresh, made.floor_percent, made.keeper.switch) == (120, 80.0, "on")
    assert (made.warden.switch, made.warden.nodes, made.warden.percent) == ("approve", 3, 1.5)
    assert made.maintenance[0].nodes == {"n1"}
    assert made.quiet[0].days == (0, 1, 2, 3, 4)
    assert guard_settings({}) == GuardSettings()
    assert (GuardSettings().keeper.switch, GuardSettings().warden.switch) == ("off", "off")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[warden]\nnode = 3", "warden.node: 3 is not allowed; expected another key: nodes"),
        ("[warden]\nnodes = -1", "nodes: -1 is not allowed"),
        ("[warden]\npercent = 101", "percent: 101"),
        ("[warden]\npercent = nan", "percent: nan"),
        ('[warden]\nswitch = "yes"', "switch: 'yes' is not allowed; expected one of off, approve"),
        ("[warden]\nswitch = true", "switch: True"),
        ('[warden]\napprove = ["requeue"]', "approve: 'requeue'"),
        ('[guard]\nzone = "Nowhere/Land"', "zone: 'Nowhere/Land'"),
        ('[guard]\nquiet = ["8-18"]', "quiet: '8-18'"),
        ('[guard]\nquiet = "8-18"', "expected a list"),
        ('[guard]\nmaintenance = [{ start = "2026-01-02", end = "2026-01-01" }]', "an end after"),
        ('[guard]\nmaintenance = [{ from = "2026-01-02" }]', "expected { start = DATE"),
        ("[gaurd]\nfresh = 1", "table: 'gaurd' is not allowed; expected guard, keeper or warden"),
        ("warden = 3", "warden: 3 is not allowed; expected a table"),
    ],
)
def test_settings_that_cannot_be(text: str, why: str) -> None:
    with pytest.raises(ParameterError) as caught:
        guard_settings(tomllib.loads(text))
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        ("up by= boot=1800000000", "up, booted 2027-01-15 08:00 UTC"),
        ("drained+down by=other boot=0", "drained and down, with a reason that is not ours"),
        ("drained by=ab12 boot=0", "drained, drained by ab12"),
        ("RUNNING start=1800000000 promise=ab held=0",
         "running, started 2027-01-15 08:00 UTC, promise ab"),
        ("PENDING start=0 promise= held=1", "pending, held by a person"),
        ("size=1 partition=main as_made=1", "1 node, partition main, as we made it"),
        ("size=2 partition= as_made=0", "2 nodes, changed by a person"),
        ("gone", "gone"), ("boot=x y", "boot x, y"),
    ],
)  # fmt: skip
def test_a_standing_is_told_in_words(standing: str, words: str) -> None:
    assert standing_in_words(standing) == words
