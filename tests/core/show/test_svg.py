"""Figures inside pages: well-formed, in the page's colours, from nowhere else, always the same."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib")

from core.show.hostile import TRICK, drawn
from forestall.core.show.style import FAINT, INK, PALE, TINTS, dress, new_figure
from forestall.core.show.svg import LEAST, MANY_MARKS, inline_svg, svg


def test_it_is_well_formed_and_takes_the_colours_of_the_page() -> None:
    text = inline_svg(drawn("Losses"), "losses drawn", "What was lost")
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "What was lost"
    assert root.get("fill") == "currentColor"
    assert "var(--line)" in text
    assert "var(--card)" in text
    assert "var(--tint-0)" in text
    for colour in (INK, FAINT, PALE, *TINTS, "#000000", "#ffffff"):
        assert colour.lower() not in text.lower()
    assert "Time (d)" in "".join(root.itertext())


def test_nothing_of_it_is_elsewhere() -> None:
    text = inline_svg(drawn("Losses"), "a b", "alt")
    assert not re.search(r"https?:|xmlns|<!|<\?|<style|<metadata|\bdate\b", text)
    named = set(re.findall(r'\bid="([^"]*)"', text))
    asked = set(re.findall(r'(?:href="|url\()#([^")]*)', text))
    assert asked <= named
    assert len(named) == len(re.findall(r'\bid="', text))


def test_it_stays_readable_on_a_narrow_screen() -> None:
    style = ElementTree.fromstring(inline_svg(drawn("a"), "a", "b")).get("style") or ""
    wide, least = (int(one) for one in re.findall(r"(\d+)px", style))
    assert wide == 6 * 96
    assert least == round(LEAST * wide)


def test_the_same_figure_gives_the_same_bytes_and_other_names_other_parts() -> None:
    one, two = (inline_svg(drawn("a"), "x", "b") for _ in range(2))
    assert one == two
    other = inline_svg(drawn("a"), "y", "b")
    assert not set(re.findall(r'id="([^"]*)"', one)) & set(re.findall(r'id="([^"]*)"', other))
    assert svg(drawn("a")) == svg(drawn("a"))


def test_a_file_is_as_it_was_drawn() -> None:
    text = svg(drawn("Losses")).decode()
    ElementTree.fromstring(text)
    assert "var(" not in text
    assert "<dc:date>" not in text
    assert "matplotlib.org" not in text


def test_very_many_marks_become_an_image() -> None:
    few = inline_svg(drawn("a", MANY_MARKS), "a", "b")
    many = inline_svg(drawn("a", 40 * MANY_MARKS), "a", "b")
    assert "<image" not in few
    assert many.count("<image") == 1
    assert 'href="data:image/png;base64,' in many
    assert len(many) < 1_000_000
    figure = new_figure()
    axes = figure.subplots()
    axes.plot(range(100_000), [k % 7 for k in range(100_000)])
    axes.bar(range(MANY_MARKS + 1), [1] * (MANY_MARKS + 1))
    assert len(inline_svg(figure, "a", "b")) < 1_000_000


@pytest.mark.filterwarnings("ignore:Glyph")
def test_texts_that_play_tricks_stay_texts() -> None:
    figure = new_figure()
    axes = figure.subplots()
    dress(axes, TRICK, TRICK)
    text = inline_svg(figure, "a", TRICK)
    root = ElementTree.fromstring(text)
    assert "<script" not in text
    assert not set("\x1b\u202e") & set(text)
    assert "<script>alert('x')</script>" in "".join(root.itertext())
