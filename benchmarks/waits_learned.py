"""How far answers on waits can be trusted, on real logs; writes the tables of the docs page.

`python -m benchmarks.waits_learned [LOG ...] [--whole]` replays the latest 60,000 jobs of each log
(`--whole`: all), scores the later half, and puts the tables into
docs/models/quotes/waits-measured.md, in
place of those between the marks.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from benchmarks.common import ROOT, data
from benchmarks.waits import LOGS
from forestall.site.waits.section import KINDS, trust
from forestall.site.waits.study import TODAY, WaitAsked, WaitBacktest, study
from forestall.slurm.sources.swf_jobs import accounting_of_swf

PAGE = ROOT / "docs" / "models" / "quotes" / "waits-measured.md"
MARKS = "<!-- made by python -m benchmarks.waits_learned -->", "<!-- end of what is made -->"
LATEST = 60_000
ROWS = (
    "learned", "before correction", "forest alone", "boosted trees", "like jobs", "user's last 20",
    "latest 1,000", "latest waits", "one constant", TODAY,
)  # fmt: skip


def measured(name: str, latest: int | None) -> WaitBacktest:
    """Return the back-test of a log."""
    return study(
        accounting_of_swf(data(LOGS[name]), 1, strict=False), None, WaitAsked(latest=latest)
    )


def page(found: Mapping[str, WaitBacktest]) -> str:
    """Return the tables: for each kind of answer the errors of all, then how ours held."""
    lines = []
    for kind, title in KINDS.items():
        scored = {
            name: one for name, log in found.items() for one in log.scored if one.kind == kind
        }
        heads = "".join(f" {name} ({one.ours.answers:,}) |" for name, one in scored.items())
        lines += [f"### {title}", "", "Squared error of log10 of 1 + wait in seconds:", ""]
        lines += [f"| |{heads}", "|---|" + "---|" * len(scored)]
        for row in ROWS:
            cells = [[s for s in one.scores if s.name == row] for one in scored.values()]
            if any(cells):
                told = "".join(f" {c[0].error:.3f} |" if c else " |" for c in cells)
                lines.append(f"| {row} |{told}")
        lines.append(
            "| below like jobs' median |"
            + "".join(
                f" {100 * (1 - one.ours.error / one.named(TODAY).error):.0f} % |"
                for one in scored.values()
            )
        )
        lines.append(
            "| above the best yardstick |"
            + "".join(f" {one.above:+.3f} ± {one.above_error:.3f} |" for one in scored.values())
        )
        lines += [
            "",
            "How the learned answers did:",
            "",
            f"| |{heads}",
            "|---|" + "---|" * len(scored),
        ]
        for label, value in (
            ("within 2 times, %", lambda s: f"{100 * s.twice:.0f}"),
            ("within 3 times, %", lambda s: f"{100 * s.thrice:.0f}"),
            ("pinball loss", lambda s: f"{s.pinball:.3f}"),
            (
                "50, 80, 90 % intervals held, %",
                lambda s: ", ".join(f"{100 * h:.1f}" for h in s.held),
            ),
            ("Brier: at once, 1 min, 1 h", lambda s: ", ".join(f"{b:.3f}" for b in s.brier)),
        ):
            lines.append(
                f"| {label} |" + "".join(f" {value(one.ours)} |" for one in scored.values())
            )
        lines.append("")
    lines += [
        f"- {name}: {' '.join(trust(one) for one in log.scored)}" for name, log in found.items()
    ]
    return "\n".join(lines)


def write(text: str) -> None:
    """Put the tables into the page."""
    begin, end = MARKS
    old = PAGE.read_text()
    head, rest = old.split(begin)
    PAGE.write_text(f"{head}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}")


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("logs", nargs="*", default=list(LOGS))
    parser.add_argument("--whole", action="store_true")
    asked = parser.parse_args()
    found = {}
    for name in asked.logs:
        found[name] = measured(name, None if asked.whole else LATEST)
        print(f"{name}: {' '.join(trust(one) for one in found[name].scored)}", flush=True)
    write(page(found))


if __name__ == "__main__":
    main()
