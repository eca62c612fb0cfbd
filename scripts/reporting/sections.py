"""What the plots share: finding figures in a run, and making a section of the page.

A section is a dict: id, title, text, svg, legend (names, in the order of their classes), columns and
rows (of the table).
"""
import re

from . import figures, svg
from .svg import number


def rows_of(run, name):
    """The rows of an experiment by what they measure, or None."""
    data = figures.data_of(run, f"experiment:{name}")
    return data and {row["what"].strip(): row for row in data["rows"] if row["measured"] is not None}


def group(run, program, name):
    data = figures.data_of(run, program)
    return [one for one in (data or {}).get("figures", []) if one["group"] == name]


def series_of(found, factor=1.0):
    """Figures on an axis as series for svg.lines, in the order of their first appearance."""
    result = {}
    for one in found:
        if one["value"] is not None and one.get("x") is not None:
            result.setdefault(one["series"], []).append(
                (one["x"], one["value"] * factor, one["low"] * factor, one["high"] * factor))
    return [{"name": name, "points": points} for name, points in result.items()]


def table_of(series, x_name, x_text=number):
    """Columns and rows: one row for each place on the axis."""
    places = sorted({point[0] for one in series for point in one["points"]})
    values = [{point[0]: point[1] for point in one["points"]} for one in series]
    return ([x_name] + [one["name"] for one in series],
            [[x_text(place)] + [number(one.get(place)) for one in values] for place in places])


def turned(table, unit):
    """The table with a row for each series."""
    columns, rows = table
    return ([f"{unit}, by {columns[0]}"] + [row[0] for row in rows],
            [[name] + [row[i] for row in rows] for i, name in enumerate(columns[1:], 1)])


def section(name, title, text, picture, legend, table):
    return {"id": name, "title": title, "text": text, "svg": picture, "legend": legend,
            "columns": table[0], "rows": table[1]}


def in_bars(run, program, name, title, text, label, factor_of, kind="linear", class_of=None,
            reference=None):
    rows, table = [], []
    for one in group(run, program, name):
        factor = factor_of(one["unit"])
        rows.append((one["series"], one["value"] * factor, one["low"] * factor,
                     one["high"] * factor, class_of(one["series"]) if class_of else 0))
        table.append([one["series"], number(one["value"]), number(one["low"]),
                      number(one["high"]), one["unit"]])
    if not rows:
        return None
    return section(re.sub(r"\W+", "-", title.lower()), title, text,
                   svg.bars(title, label, rows, kind, reference), [],
                   (["what", "median", "from", "to", "unit"], table))
