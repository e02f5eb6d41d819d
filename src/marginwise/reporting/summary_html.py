"""The summary of a fit in a notebook: a few lines and bars, in the notebook's colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from marginwise._characters import as_html
from marginwise._wording import percent
from marginwise.reporting.text import ranked

if TYPE_CHECKING:
    from marginwise.reporting.summary import FitSummary

#: Columns that are shown.
_MOST = 8

_BOX = "font-family:system-ui,sans-serif;font-size:0.9em;line-height:1.45;max-width:44em;margin:0.6em 0"
_FACT = "flex:0 1 9.5em;margin-right:1em"
_CAPTION = "text-align:left;caption-side:top;white-space:nowrap"
_NUMBER = "font-size:1.5em;font-weight:600"
_BAR = "display:inline-block;height:0.6em;background:#2b66ad;border-radius:2px"


def summary_html(summary: FitSummary) -> str:
    """Return it as a part of a page."""
    facts = "".join(
        f'<div style="{_FACT}"><div style="{_NUMBER}">{as_html(number)}</div>{as_html(meaning)}</div>'
        for number, meaning in summary.facts
    )
    told = as_html(f"{summary.shape[0].upper()}{summary.shape[1:]}. {summary.told_apart}".strip())
    return (
        f'<div style="{_BOX}"><div>{as_html(summary.contents)}.</div>'
        f'<div style="display:flex;flex-wrap:wrap;margin:0.5em 0">{facts}</div>'
        f"<div>{told}</div>{_columns(summary)}{_remarks(summary.warnings)}</div>"
    )


def _columns(summary: FitSummary) -> str:
    shown = ranked(summary.influences)[:_MOST]
    largest = max(max((value for _, value in shown), default=0.0), 1e-300)
    rows = "".join(
        f'<tr><td style="text-align:left">{as_html(name)}</td><td style="text-align:right">{percent(value)}</td>'
        f'<td style="text-align:left;width:14em"><span style="{_BAR};width:{100 * value / largest:.0f}%"></span></td>'
        "</tr>"
        for name, value in shown
    )
    more = len(summary.influences) - len(shown)
    rest = f"<div>and {more} more columns</div>" if more > 0 else ""
    return (
        f'<table style="margin:0.5em 0;font-size:inherit"><caption style="{_CAPTION}">How far the probabilities '
        f"change, on average, when a column is shuffled</caption><tbody>{rows}</tbody></table>{rest}"
    )


def _remarks(messages: Sequence[str]) -> str:
    items = "".join(f"<li>{as_html(message)}</li>" for message in messages)
    return f"<ul>{items}</ul>" if items else ""
