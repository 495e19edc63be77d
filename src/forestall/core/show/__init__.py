'''One way to show a result: say what was found once, and every renderer shows it.

A result is a `Report` (module `report`): a title, a headline, a verdict in plain paragraphs, the
facts that matter most, and `Section`s. A section has a key, a title, a lead, and

- facts (`facts.Fact`): a number with its unit, what it means, from how many records, its interval;
- a body (`blocks`): `Table`, `Bar` (shares of a whole), `Figure`, `Prose`, `Listing`, `Steps`, in
  the order in which they are shown;
- series: facts that a table shows already, for JSON and OpenMetrics only;
- notes on how things are counted, and what could not be told (`facts.Untold`).

The renderers take a report and nothing else of it is written anywhere:

==============  ===================================================================================
`text`          the terminal, at most 100 columns; short or full. `text.grid` prints any table
`page`          one HTML page (`templates`, `style.css`): no network; tables that sort and search
`as_json`       plain values
`openmetrics`   facts and series for Prometheus, in base units
`markdown`      CommonMark with tables
`shown`         `Shown(report)`: all of these from Python; a notebook shows it by itself
==============  ===================================================================================

Below them: `quantities` writes numbers, times, shares and intervals with their units (three
digits); `words` has the fixed forms of measures of runs and fits; `clean` makes names from records
safe; `style` is the one look of figures; `svg` makes files and page parts of them; `drawings` draws
the figures of a report once for both; `closing` makes the sections at the end of a page: what was
read, left out, chosen.

A section is one function and one entry::

    def lost_work(run: Run) -> Section:
        """Return what failures took."""
        share = run.lost / run.useful
        fact = Fact(
            "lost_work", "Lost work", run.lost / 3600, "node_hours",
            meaning=f"{words.percent(share)} of the useful work",
        )
        columns = (("Job", "job", str), ("Lost work", "lost_node_s", words.node_hours))
        records = [{"job": job.name, "lost_node_s": job.lost} for job in run.worst]
        return Section(
            "lost_work",
            "Work lost to failures",
            f"Failures destroyed {words.node_hours(run.lost)}.",
            facts=(fact,),
            body=(
                Figure("lost", lambda: draw_lost(run), "Cumulative work lost over time."),
                Table.by("worst_jobs", columns, records),
                Prose("Work since the last checkpoint is lost.", soft=True),
            ),
        )

    SECTIONS = (node_time, promises, lost_work, waiting)

    def report(run: Run) -> Report:
        return Report(
            "What the promises were worth",
            headline(run),
            tuple(section(run) for section in SECTIONS),
            verdict=(on_promises(run), on_work(run)),
            top=top_facts(run),
            closing=(closing.left_out(run.skipped), closing.parameters(run.parameters)),
        )

    made = report(run)
    drawn = draw(made, folder=folder)            # NAME.png, NAME.svg, and parts of the page
    write_page(folder / "report.html", page(made, drawn=drawn))

`Table.by` writes the cells from the records; `Table.of` takes both.
A fact whose value needs words of its own has them in `Fact.shown`. A cell that is the best of its
row is ``Cell(text, best=True)``, a value with its interval below it ``Cell(text, below=...)``. A
table's title stands above it as a heading, its caption quietly inside it; most tables of a section
need only a caption. Rows that belong to the parts of a `Bar` have their `colours`. Sections without
anything to show are left out. Every table needs `records` with plain values and units in their
names: without them JSON has only the texts.

Figures in pages are SVG in the page's colours: `style.INK`, black, white and `style.FAINT` follow
the page from light to dark, and so do `style.TINTS` and `style.PALE` for areas that bear marks or
text. All other colours stay; text on a light patch of another colour takes `style.DARK`.
'''
