"""The report on a failure log as one HTML page: tables, figures, and what each of them shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from forestall.app.kit.report import NO_FIGURES
from forestall.app.reliability.failures import words
from forestall.app.reliability.fit import words as fit_words
from forestall.show import words as plain
from forestall.show.html_pieces import (
    EMPTY,
    Html,
    Text,
    cards,
    html,
    page,
    pairs,
    paragraph,
    section,
    table,
    write_page,
)
from forestall.show.words import Summary

MOST_NODES: Final = 25
LAWS_RULE: Final = (
    "Weibull laws are of gaps between failures of one node that begin in the year; those still "
    "open at its end count up to there. A dash: too few gaps ended, or the scale would lie far "
    "beyond the longest of them."
)


def write_reliability_page(path: Path, summary: Summary, drawn: Mapping[str, Html]) -> Path:
    """Write the page; `drawn` has the figures by name, none where they cannot be drawn."""

    def figures(*names: str) -> Html:
        return Html("\n".join(drawn[name].text for name in names if name in drawn))

    text = page(
        "How this machine fails",
        words.headline(summary),
        verdict(summary),
        cards(headlines(summary)),
        EMPTY if drawn else paragraph(NO_FIGURES, "soft"),
        section("Years", years(summary), figures("failures_per_year", "failures_per_node")),
        section("More or fewer failures?", trend(summary), figures("bathtub")),
        section(
            "Gaps between failures of one node",
            paragraph(words.gaps_line(summary["fits"]["node"], "node", summary["unit"]), "soft"),
            warnings(summary, "node"),
            weibull(summary),
            ranking(summary, "node"),
            figures("probability_plots", "hazard", "survival"),
        ),
        section(
            "Gaps between failures of the whole machine",
            paragraph(
                words.gaps_line(summary["fits"]["system"], "system", summary["unit"]), "soft"
            ),
            warnings(summary, "system"),
            ranking(summary, "system"),
        ),
        section("Causes", causes(summary)),
        section("Nodes", nodes(summary), figures("worst_nodes")),
        section(
            "Bursts",
            *(paragraph(line) for line in words.on_bursts(summary)),
            figures("autocorrelation"),
        ),
        section("What was read, and what was odd in it", remarks(summary)),
        section("Made with", pairs(made_with(summary), ("What", "Value"))),
    )
    return write_page(path, text)


def verdict(summary: Summary) -> Html:
    """Return the log in plain paragraphs."""
    told = (words.on_trend(summary), words.on_clustering(summary), words.on_nodes(summary))
    return Html(
        '<div class="verdict">' + "".join(f"<p>{html(text)}</p>" for text in told) + "</div>"
    )


def headlines(summary: Summary) -> list[tuple[str, str, str]]:
    """Return the headline measures as (name, value, what it means)."""
    found = words.measure_rows(summary)
    law = summary["fits"]["node"]["weibull"]
    if law is not None:
        ends = fit_words.between(law["ci"]["shape"])
        shape = fit_words.figure(law["params"]["shape"], 3)
        found.append(("Weibull shape", shape, f"of gaps of one node; 95 % interval {ends}"))
    return found


def years(summary: Summary) -> Html:
    """Return the table of years."""
    heads = (
        "Year" if summary["years_are"] == "calendar" else "Year of age",
        "Failures", "Node-years", "Rate", "Shape", f"Scale ({summary['unit']})", "Within the year",
    )  # fmt: skip
    rows: list[Sequence[Text]] = []
    for short, full in zip(words.year_rows(summary), words.full_year_rows(summary), strict=True):
        cells = (_both(value, ends) for value, ends in zip(full[2:8:2], full[3:9:2], strict=True))
        rows.append((*short[:3], *cells, full[8]))
    text = "Rates are failures per 1000 node-days; below them 95 % intervals."
    return table(heads, rows, text) + paragraph(LAWS_RULE, "soft")


def _both(value: str, ends: str) -> Html:
    """Return a value with its interval below it."""
    if ends == plain.NOTHING:
        return Html(html(value))
    return Html(f'{html(value)}<br><span class="soft">{html(ends)}</span>')


def trend(summary: Summary) -> Html:
    """Return the tests of trend."""
    text = paragraph(words.on_trend(summary))
    return text + table(words.TREND_HEADS, words.trend_rows(summary), kind="names")


def warnings(summary: Summary, by: str) -> Html:
    """Return what must be known before the laws of these gaps are used."""
    return _joined(paragraph(f"Warning: {note}") for note in summary["fits"][by]["notes"])


def weibull(summary: Summary) -> Html:
    """Return Weibull parameters of nodes and of the machine."""
    heads = ("", "Shape", "95 % interval", f"Scale ({summary['unit']})", "95 % interval", "Mean")
    rows = [row[:6] for row in words.law_rows(summary)]
    caption = "Weibull laws, intervals from the likelihood."
    note = "The mean of a law leans on its tail; the MTBF above counts what was seen. "
    note += words.laws_note(summary)
    return table(heads, rows, caption) + (paragraph(note.strip(), "soft") if rows else EMPTY)


def ranking(summary: Summary, by: str) -> Html:
    """Return the ranking of families, with those that could not be fitted."""
    fits = summary["fits"][by]
    rows = [row[1:] for row in fit_words.ranking_rows(fits["families"])]
    tested = fit_words.chance_rows(fits["families"])
    zeros = words.zeros_line(fits, summary["unit"])
    caption = "Families ranked by AIC; the weight is the share of the evidence. " + zeros
    parts = [table(fit_words.RANKED_HEADS[1:], rows, caption.strip())]
    if fits["why"]:
        parts.append(paragraph(fits["why"]))
    if tested:
        caption = "p-values of the goodness of fit, right for fitted parameters"
        parts.append(table(fit_words.CHANCE_HEADS, tested, caption))
    parts += [paragraph(line, "soft") for line in fit_words.ranking_notes(fits["families"])]
    return _joined(parts)


def causes(summary: Summary) -> Html:
    """Return the table of causes."""
    rows = words.cause_rows(summary)
    if not rows:
        return paragraph("The log tells no causes.")
    caption = (
        "Rates are failures per 1000 node-days; the Weibull shape is of the gaps of one node from "
        "one failure of that cause to the next."
    )
    return table(words.CAUSE_HEADS, rows, caption)


def nodes(summary: Summary) -> Html:
    """Return what is to be said of nodes, and the worst of them."""
    apart = summary["nodes_apart"]
    text = paragraph(words.on_nodes(summary))
    rows: Sequence[Any] = apart["nodes"][:MOST_NODES]
    more = len(apart["nodes"]) - len(rows)
    rest = f" {plain.counted(more, 'node')} more are in nodes.csv." if more > 0 else ""
    caption = (
        "The worst nodes (rates per 1000 node-days); q: share of false alarms if nodes up to here "
        f"are named.{rest}"
    )
    shown = table(words.NODE_HEADS, words.node_rows(rows), caption)
    return text + shown + (paragraph(words.on_rates(summary), "soft") if rows else EMPTY)


def remarks(summary: Summary) -> Html:
    """Return what was odd about the log, counted."""
    found = summary["remarks"]
    if not found and not summary["hints"]:
        return paragraph("Nothing: every record was used as it stands.")
    rows = [(one["text"], one["action"]) for one in found]
    rows += [(hint, "to be minded") for hint in summary["hints"]]
    return table(("What", "What became of it"), rows, kind="names")


def made_with(summary: Summary) -> dict[str, object]:
    """Return the log, the options and the versions behind the page."""
    return {
        "Log": summary["source"],
        **{name.replace("_", " "): value for name, value in summary["parameters"].items()},
        "clock": summary["clock"],
        "time in service": summary["service"],
        **summary["versions"],
    }


def _joined(parts: Iterable[Html]) -> Html:
    return Html("\n".join(part.text for part in parts if part.text))
