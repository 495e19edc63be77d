"""Types of parameters, and those parameters that several models have: declared once.

Panels of help (`group`) are "machine", "prediction" and "checkpoints"; what is of one model alone
has none.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, FiniteFloat

from forestall.core.model.settings import Setting
from forestall.core.model.stores import Stores
from forestall.core.model.units import MAX_SECONDS

MAX_NODES = 2**20

Seconds = Annotated[int, Field(ge=0, lt=MAX_SECONDS)]
Positive = Annotated[int, Field(ge=1, lt=MAX_SECONDS)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]


def setting(default: Any, phrase: str, **more: Any) -> Any:
    """Return the default of a field, with what is declared of it beside its type: `phrase` and
    `more` are of `forestall.core.model.settings.Setting`."""
    field = Field(default)
    field.metadata.append(Setting(phrase, **more))
    return field


Nodes = Annotated[
    int,
    Field(ge=1, le=MAX_NODES),
    Setting(
        "Nodes of the machine",
        about="nodes of the machine, all alike, numbered from 0",
        group="machine", label="Nodes", axis="count",
    ),
]  # fmt: skip
MinRuntime = Annotated[
    Positive,
    Setting(
        "Shorter run times are raised to this",
        about="shorter run times are raised to this and counted",
        unit="s", group="machine", rare=True,
    ),
]  # fmt: skip
SeedNumber = Annotated[int, Field(ge=0, lt=2**63)]
CheckpointOverhead = Annotated[
    Seconds,
    Setting(
        "Time to write a checkpoint", unit="s", group="checkpoints", label="Checkpoint overhead"
    ),
]
CHECKPOINT_AXIS = "Checkpoint interval"
Downtime = Annotated[
    Positive | Literal["log"] | None,
    Setting(
        "Downtime of a failed node; log: repair times from the failure log",
        about="how long a failed node is down ([downtimes](models/promises/index.md#downtimes)); "
        "`log`: the repair time in the failure log",
        unit="s", group="checkpoints", label="Downtime",
        unset="120 s, or as a failure log of forestall has it",
    ),
]  # fmt: skip
RepeatFailures = Annotated[
    bool,
    Setting(
        "Start the failure log again where it ends",
        about="repeat the failure log after its end, shifted by its span, for as long as jobs or "
        "tasks may be active",
        group="checkpoints", rare=True,
    ),
]  # fmt: skip


def _spelled_stores(given: str) -> str:
    """Return stores in the one way of writing them."""
    return Stores.of(given).text


VaultStores = Annotated[
    Annotated[str, AfterValidator(_spelled_stores)] | None,
    Setting(
        "Store checkpoints in a simulated vault, whose size, network and placement determine "
        "their cost and survival: settings such as 'layout=code data=3 parity=2 size=1GiB'",
        about="where checkpoints go ([checkpoints in runs](models/vault-in-runs/index.md)): "
        "settings such as `layout=code data=3 parity=2 size=1GiB near=100MB far=10MB sites=2`; "
        "`layout` is `code`, `server`, `remote`, `submitter` or `local`",
        group="checkpoints", shown="SETTINGS",
        unset="checkpoints cost {checkpoint_overhead} and are never lost",
        allowed="settings of stores",
        read=lambda text: Stores.of(text).text, rare=True,
    ),
]  # fmt: skip
