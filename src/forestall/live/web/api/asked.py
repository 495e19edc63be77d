"""What may be asked of the API, strictly: no value of another kind, none out of range, no name that
is not known. And what it answers."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from forestall.core.model.live.desk import (
    CONSENTS,
    FEATURES,
    CostTold,
    DecileTold,
    JobOrder,
    JobTold,
    NodeTold,
    PredictorTold,
    PromiseTold,
    ProposalTold,
    QuoteQuestion,
)

FAR: Final = 2**40
"""s: no time or moment is larger."""
Id = Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$", description="16 hexadecimal digits")]
Name = Annotated[str, Field(max_length=200)]
Partition = Annotated[
    str, Field(pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.+-]{0,63})?$", description='`""`: the default')
]


class StrictQuestion(BaseModel):
    """A question: whole numbers are whole, text is text, and nothing else is in it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class QuoteAsked(StrictQuestion):
    """A job that somebody thinks of."""

    nodes: Annotated[int, Field(ge=1, le=10_000_000, description="Nodes")]
    time: Annotated[int, Field(ge=1, le=FAR, description="Its time limit in seconds")]
    by: Annotated[
        int | None,
        Field(ge=0, le=FAR, description="Deadline whose probability is asked for, s since 1970"),
    ] = None
    probability: Annotated[
        float,
        Field(gt=0, lt=1, description="With `by`: the minimum probability of the offers"),
    ] = 0.9
    partition: Partition = ""
    name: Annotated[Name, Field(description="Name of the job, used to find similar ones")] = ""
    features: Annotated[
        str,
        Field(
            pattern=f"^{FEATURES}$", max_length=200,
            description="Features that its nodes must have: names with `&` or `|` between them",
        ),
    ] = ""  # fmt: skip

    def question(self) -> QuoteQuestion:
        """Return it as a desk takes it."""
        return QuoteQuestion(
            self.nodes,
            self.time,
            self.by,
            self.probability,
            self.partition,
            self.name,
            self.features,
        )


class JobAsked(StrictQuestion):
    """The job that an offer is taken for."""

    script: Annotated[
        str | None,
        Field(
            min_length=2, max_length=900_000,
            description="The script, from `#!` on; without one you submit the job yourself, with "
            "the options of `submit` in the answer",
        ),
    ] = None  # fmt: skip
    name: Annotated[Name, Field(description="Name of the job")] = "forestall"
    partition: Partition = ""
    words: Annotated[str, Field(max_length=500, description="Text for its comment")] = ""
    consents: Annotated[
        tuple[Annotated[str, Field(max_length=20)], ...],
        Field(
            max_length=10, strict=False,
            description="Actions allowed on it for the promise: exclude, requeue, signal, start",
        ),
    ] = CONSENTS  # fmt: skip
    output: Annotated[str, Field(max_length=1000, description="Output file, as for sbatch")] = ""
    below: Annotated[
        bool, Field(description="Take the offer although it is less probable than was asked for")
    ] = False

    asks: Annotated[
        dict[Annotated[str, Field(max_length=50)], Name],
        Field(
            max_length=20,
            description="Without a script: the options of sbatch it is submitted with that limits "
            "depend on, by long names: account, qos, gres, gpus and the like",
        ),
    ] = {}

    def order(self) -> JobOrder:
        """Return it as a desk takes it."""
        return JobOrder(
            self.script or "", self.name, self.partition, self.words, self.consents, self.output,
            self.below, self.asks,
        )  # fmt: skip


class PromiseAsked(StrictQuestion):
    """An offer that is taken, and its job."""

    offer: Annotated[Id, Field(description="Id of the offer")]
    job: JobAsked


class SubmittedAsked(StrictQuestion):
    """The job that the owner of a promise submitted."""

    job: Annotated[int, Field(ge=1, le=2**32, description="Its number in Slurm")]


class WordAsked(StrictQuestion):
    """A person's word on a proposal."""

    approved: Annotated[bool, Field(description="true: carry it out; false: do not")]
    why: Annotated[str, Field(max_length=500, description="Reason, recorded in the ledger")] = ""


class PromisesTold(BaseModel):
    """Promises, the newest first."""

    promises: list[PromiseTold]


class NodesTold(BaseModel):
    """Nodes, by name."""

    nodes: list[NodeTold]


class JobsTold(BaseModel):
    """Jobs that wait or run, by number."""

    jobs: list[JobTold]


class ProposalsTold(BaseModel):
    """Proposals and what was done lately, the newest first."""

    proposals: list[ProposalTold]


class CalibrationTold(BaseModel):
    """How well the word was kept, by tenths of the stated probability."""

    calibration: list[DecileTold]


class PredictorsTold(BaseModel):
    """The predictors' records."""

    predictors: list[PredictorTold]


class CostsTold(BaseModel):
    """What actions cost and saved."""

    costs: list[CostTold]


class HealthTold(BaseModel):
    """Whether the controller is well.

    `status` is `ok`, or what is wrong; `age` of the last look in s, null before the first
    """

    status: str
    age: int | None
    version: str
