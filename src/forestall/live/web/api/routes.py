"""The routes of the API, all below `/api/v1`.

FastAPI reads the types of routes where they are made, so they are no text here.
"""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, HTTPException, Path, Query

from forestall.core.model.errors import InputError
from forestall.core.model.live.desk import (
    ClusterTold,
    Desk,
    PromiseTold,
    ProposalTold,
    QuoteTold,
    Viewer,
)
from forestall.core.web.doors import ERRORS, Door, ErrorTold, line_of, operator_of
from forestall.live.web.api import asked

PREFIX: Final = "/api/v1"
Responses = dict[int | str, dict[str, Any]]
_NOT_NOW: Final[Responses] = {409: {"model": ErrorTold, "description": "This cannot be done now"}}
_MISSING: Final[Responses] = {404: {"model": ErrorTold, "description": "There is no such promise"}}
_NOT_YOU: Final[Responses] = {
    403: {"model": ErrorTold, "description": "Only operators may do this"}
}
Most = Annotated[int, Query(ge=1, le=10_000, description="At most this many")]
Id = Annotated[str, Path(pattern="^[0-9a-f]{1,64}$", description="Its id, or the beginning of it")]


def routes(desk: Desk, door: Door) -> APIRouter:
    """Return the routes over a desk, for those whom a door lets in."""
    router = APIRouter(prefix=PREFIX, responses=ERRORS)
    _about_the_cluster(router, desk, door)
    _about_promises(router, desk, door)
    _for_operators(router, desk, operator_of(door))
    return router


def _about_the_cluster(router: APIRouter, desk: Desk, door: Door) -> None:
    @router.get("/cluster", tags=["cluster"], summary="The cluster in numbers")
    def cluster(viewer: Annotated[Viewer, Depends(door)]) -> ClusterTold:
        """Nodes, jobs, promises, and how old what is known is. A user's promises are their own."""
        return desk.cluster(viewer)

    @router.get("/nodes", tags=["cluster"], summary="All nodes")
    def nodes(viewer: Annotated[Viewer, Depends(door)]) -> asked.NodesTold:
        """Each with its state and the probability that it does not fail within 24 h."""
        return asked.NodesTold(nodes=desk.nodes(viewer))

    @router.get("/jobs", tags=["cluster"], summary="Waiting and running jobs")
    def jobs(viewer: Annotated[Viewer, Depends(door)]) -> asked.JobsTold:
        """Of others' jobs a user is told that there is one, its nodes and its times."""
        return asked.JobsTold(jobs=desk.jobs(viewer))

    @router.get("/calibration", tags=["records"], summary="How well promises were kept")
    def calibration(viewer: Annotated[Viewer, Depends(door)]) -> asked.CalibrationTold:
        """By tenths of the stated probability, each with its 95 % interval (Wilson)."""
        return asked.CalibrationTold(calibration=desk.calibration(viewer))

    @router.get("/predictors", tags=["records"], summary="The predictors' records")
    def predictors(viewer: Annotated[Viewer, Depends(door)]) -> asked.PredictorsTold:
        """Predictions that mattered to a decision and whose time is over, and what came."""
        return asked.PredictorsTold(predictors=desk.predictors(viewer))


def _about_promises(router: APIRouter, desk: Desk, door: Door) -> None:
    @router.post("/quotes", tags=["promises"], summary="Ask for offers", responses=_NOT_NOW)
    def quote(question: asked.QuoteAsked, viewer: Annotated[Viewer, Depends(door)]) -> QuoteTold:
        """At most 7 offers of which none is better; a later deadline buys a higher probability.
        With `by`, also the probability of that deadline. Nothing is promised by a question."""
        return desk.quote(viewer, question.question())

    @router.post(
        "/promises", tags=["promises"], summary="Take an offer", status_code=201,
        responses=_NOT_NOW,
    )  # fmt: skip
    def accept(taken: asked.PromiseAsked, viewer: Annotated[Viewer, Depends(door)]) -> PromiseTold:
        """Make an offer a promise and submit its job. Sent again it is submitted once. Without a
        script you submit it yourself, by `submit_by`, with the options in `submit`."""
        return desk.accept(viewer, taken.offer, taken.job.order())

    @router.post(
        "/promises/{id}/job", tags=["promises"], summary="Report the job you submitted",
        responses=_NOT_NOW,
    )  # fmt: skip
    def submitted(
        id: Id, taken: asked.SubmittedAsked, viewer: Annotated[Viewer, Depends(door)]
    ) -> PromiseTold:
        """Its nodes are kept for it from now on. Without this the next look finds it."""
        return desk.submitted(viewer, id, taken.job)

    @router.delete(
        "/promises/{id}", tags=["promises"], summary="Give a promise back", responses=_NOT_NOW
    )
    def withdraw(id: Id, viewer: Annotated[Viewer, Depends(door)]) -> PromiseTold:
        """Only where its owner submits its job and has not done so; it is void then."""
        return desk.withdraw(viewer, id)

    @router.get("/promises", tags=["promises"], summary="Promises, the newest first")
    def promises(
        viewer: Annotated[Viewer, Depends(door)],
        ended: Annotated[bool, Query(description="Also promises that are over")] = True,
        most: Most = 500,
    ) -> asked.PromisesTold:
        """A user's own, or an operator's all."""
        return asked.PromisesTold(promises=desk.promises(viewer, ended=ended, most=most))

    @router.get("/promises/{id}", tags=["promises"], summary="One promise", responses=_MISSING)
    def promise(id: Id, viewer: Annotated[Viewer, Depends(door)]) -> PromiseTold:
        """What was said, what is likely now, and what was done for it."""
        try:
            return desk.promise(viewer, id)
        except InputError as error:
            raise HTTPException(404, line_of(str(error))) from None


def _for_operators(router: APIRouter, desk: Desk, operator: object) -> None:
    who = Depends(operator)  # type: ignore[arg-type]

    @router.get(
        "/proposals", tags=["operators"], summary="Proposals and recent actions",
        responses=_NOT_YOU,
    )  # fmt: skip
    def proposals(viewer: Annotated[Viewer, who], most: Most = 500) -> asked.ProposalsTold:
        """The newest first. Those in the state `proposed` wait for a word."""
        return asked.ProposalsTold(proposals=desk.proposals(viewer, most=most))

    @router.post(
        "/proposals/{id}", tags=["operators"], summary="Approve or reject a proposal",
        responses={**_NOT_YOU, **_NOT_NOW},
    )  # fmt: skip
    def decide(id: Id, word: asked.WordAsked, viewer: Annotated[Viewer, who]) -> ProposalTold:
        """What is approved is carried out within the guard's limits, which approval does not
        lift."""
        return desk.decide(viewer, id, word.approved, word.why)

    @router.get(
        "/costs", tags=["operators"], summary="What actions cost and saved",
        responses=_NOT_YOU,
    )  # fmt: skip
    def costs(viewer: Annotated[Viewer, who]) -> asked.CostsTold:
        """In node-seconds, against doing nothing."""
        return asked.CostsTold(costs=desk.costs(viewer))
