"""The page in one browser: what it is told, and what people do on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from nicegui import events, ui
from nicegui.element import Element

from forestall.core.model.errors import ForestallError
from forestall.core.model.live.desk import Viewer
from forestall.live.web.page.feed import Feed, PageTold
from forestall.live.web.page.questions import order_of, question_of, text_of

VIEWS: Final = ("cluster", "quote", "promises", "record", "proposals")
"""The page's views, as in its addresses."""
FAULT: Final = "the server failed, and it is unknown whether this was done; see its log"
Answer = dict[str, Any]


class LivePage(Element, component="browser/live_page.js", esm={"forestall-page": "browser"}):
    """The whole page, which draws itself in the browser.

    Parameters
    ----------
    feed : what is told
    viewer : who looks now; asked again whenever something is shown or done; None: nobody any more
    view : the first view
    every : s between two looks at the feed
    """

    def __init__(
        self, feed: Feed, viewer: Callable[[], Viewer | None], view: str, every: float
    ) -> None:
        super().__init__()
        self._feed, self._viewer = feed, viewer
        self._sent: PageTold | None = None
        self._one_by_one = asyncio.Lock()
        first = viewer()
        self._props["view"] = view
        self._props["name"] = "" if first is None else first.name
        self._props["operates"] = first is not None and first.operates
        for name, handler in (
            ("ask", self._ask),
            ("take", self._take),
            ("decide", self._decide),
        ):
            self.on(name, self._answering(name, handler))
        ui.timer(every, self.refresh, immediate=True)

    async def refresh(self, *, anew: bool = False) -> None:
        """Tell the browser what is new."""
        viewer = self._viewer()
        if viewer is None:
            ui.navigate.to("login")
            return
        told = await self._feed.told(viewer, anew=anew)
        if told is self._sent:
            return
        self._sent = told
        self.run_method("told", told.cluster, told.versions, told.said)

    def _answering(
        self, name: str, handler: Callable[[Viewer, Mapping[str, Any]], Answer]
    ) -> Callable[[events.GenericEventArguments], Any]:
        """Return what carries a deed out in a thread and tells the browser what came of it."""

        async def answered(event: events.GenericEventArguments) -> None:
            typed = event.args if isinstance(event.args, dict) else {}
            viewer = self._viewer()
            if viewer is None:
                ui.navigate.to("login")
                return
            answer: Answer = {"error": FAULT}
            try:
                async with self._one_by_one:
                    answer = await asyncio.to_thread(handler, viewer, typed)
            except ForestallError as error:
                answer = {"error": str(error)}
            finally:
                self.run_method("answered", name, typed.get("mark"), answer)
            if name != "ask":
                await self.refresh(anew=True)

        return answered

    def _ask(self, viewer: Viewer, typed: Mapping[str, Any]) -> Answer:
        question = question_of(typed)
        return {"quote": asdict(self._feed.desk.quote(viewer, question)), "time": question.time}

    def _take(self, viewer: Viewer, typed: Mapping[str, Any]) -> Answer:
        order = order_of(typed)
        return {"promise": asdict(self._feed.desk.accept(viewer, text_of(typed, "offer"), order))}

    def _decide(self, viewer: Viewer, typed: Mapping[str, Any]) -> Answer:
        approved = typed.get("approved") is True
        why = str(typed.get("why", ""))[:1000].strip() if approved else text_of(typed, "why")
        proposal = text_of(typed, "proposal")
        return {"proposal": asdict(self._feed.desk.decide(viewer, proposal, approved, why))}
