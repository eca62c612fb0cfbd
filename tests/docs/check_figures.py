#!/usr/bin/env python3
"""Compares the figures of the pages for users with docs/figures.json: check_figures.py ROOT

Each number with a unit, range with decimals, count "N of M" and large number of a page has to be a
figure of that page, and each figure has to be on its pages. Code doesn't count. A figure agrees
with its source, where it is read from one of these:

    row, column   cells of the tables in a section; both are patterns for the whole cell, and a
                  figure without a row has every row
    quote         a text of a section, or of code

"A to B" is the smallest and the largest number, "up to A" and "at most A" the largest, "A of B"
both, and another figure the mean, each rounded as the page shows it. A figure from code is only
quoted. A run with `data` has the date, the commit and the device of that report, whose tables
tests/report/report_test.py compares with the pages.
"""
import json
import re
import sys
from pathlib import Path

from check_voice import pages, prose

FIGURES = "docs/figures.json"
EXEMPT = ("CHANGELOG.md", "docs/environment.md")  # the past; a table that code makes
NUMBER = r"(?<![\w.,#-])\d+(?:,\d{3})*(?:\.\d+)?"
UNIT = r" (?:(?:ns|µs|ms|s|minutes?|seconds?|hours?|times|[KMGT]iB|[kMGT]B|GB/s)\b|%)"
SHOWN = re.compile(
    rf"{NUMBER} to {NUMBER}{UNIT}|\d+\.\d+ to {NUMBER}|{NUMBER} to \d+\.\d+"
    rf"|(?:{NUMBER}|none) of (?:the )?{NUMBER}|(?:up to |at most )?{NUMBER}{UNIT}"
    r"|(?:up to|at most) \d+\.\d+|(?<![\w.,])\d{1,3}(?:,\d{3})+")


def numbers(text):
    """The numbers of a text, without those in brackets and in code."""
    text = re.sub(r"\([^)]*\)|`[^`]*`", "", text)
    return [float(found.replace(",", "")) for found in re.findall(NUMBER, text)]


def section(text, anchor):
    """The part of a page below a heading, up to the next heading of any level."""
    inside = []
    for line in text.splitlines():
        if heading := re.match(r"#+ (.*)", line):
            name = re.sub(r"[^\w -]", "", heading[1].lower()).replace(" ", "-")
            if inside:
                break
            if name == anchor:
                inside.append(line)
        elif inside:
            inside.append(line)
    return "\n".join(inside)


def cells(text, row, column):
    """The cells of all tables of a section whose first cell and whose header match."""
    header, found = None, []
    for line in text.splitlines():
        if not line.startswith("|"):
            header = None
            continue
        parts = [part.strip() for part in line.strip().strip("|").split("|")]
        if header is None:
            header = parts
        elif not set("".join(parts)) <= set("-: ") and re.fullmatch(row, parts[0]):
            found += [cell for name, cell in zip(header, parts) if re.fullmatch(column, name)]
    return found


def agrees(value, found):
    """Whether a figure says the same as its source's numbers."""
    if not found:
        return False
    if " of " in value:
        return sorted(numbers(value)) == sorted(found)
    shown = re.findall(NUMBER, value)
    if " to " in value and not value.startswith("up to"):
        wanted = [min(found), max(found)]
    elif value.startswith(("up to", "at most")):
        wanted = [max(found)]
    else:
        wanted = [sum(found) / len(found)]
    if len(shown) != len(wanted):
        return False
    return all(abs(float(text.replace(",", "")) - number)
               <= 0.5 * 10.0 ** -len(text.partition(".")[2]) + 1e-9
               for text, number in zip(shown, wanted))


def source_faults(root, figure):
    name, _, anchor = figure["source"].partition("#")
    if not (root / name).is_file():
        yield f"{name} doesn't exist."
        return
    text = (root / name).read_text(encoding="utf-8")
    if anchor and not (text := section(text, anchor)):
        yield f"{name} has no section {anchor}."
    elif "quote" in figure:
        if figure["quote"] not in text:
            yield f'{figure["source"]} doesn\'t say "{figure["quote"]}".'
        elif name.endswith(".md") and figure["value"] not in figure["quote"] and not agrees(
                figure["value"], numbers(figure["quote"])):
            yield f'"{figure["quote"]}" of {figure["source"]} is another figure.'
    else:
        found = [number for cell in cells(text, figure.get("row", ".*"), figure["column"])
                 for number in numbers(cell)]
        if not found:
            yield f"{figure['source']} has no such cells."
        elif not agrees(figure["value"], found):
            yield f"{figure['source']} has {min(found):g} to {max(found):g}."


def run_faults(root, name, run):
    if "data" not in run:
        return
    report = json.loads((root / run["data"]).read_text(encoding="utf-8"))
    for key, there in (("date", report["date"]), ("commit", report["commit"]),
                       ("machine", report["machine"]["device"])):
        if there not in run[key]:
            yield f"{FIGURES}: run {name}: {run['data']} has the {key} {there}."


def check(root, texts, table):
    figures = table["figures"]
    for name, run in table["runs"].items():
        yield from run_faults(root, name, run)
    for figure in figures:
        place = f"{FIGURES}: {figure['name']}: {figure['value']} {figure['unit']}"
        if ".md" in figure["source"] and figure.get("run") not in table["runs"]:
            yield f"{place}: it names no run of {FIGURES}."
        for fault in source_faults(root, figure):
            yield f"{place}: {fault}"
        for page in figure["pages"]:
            if not re.search(rf"(?<![\d.]){re.escape(figure['value'])}(?![\d.]\d)",
                             texts.get(page, "")):
                yield f"{place}: {page} doesn't have it."
    for page, text in texts.items():
        known = {shown.strip() for figure in figures if page in figure["pages"]
                 for shown in (figure["value"], f"{figure['value']} {figure['unit']}")}
        for number, line in enumerate(prose(text).splitlines(), 1):
            for shown in SHOWN.findall(line):
                if shown not in known:
                    yield f"{page}:{number}: {shown}: {FIGURES} doesn't have it for this page."


def main():
    root = Path(sys.argv[1])
    texts = {page: text for page, text in pages(root).items() if page not in EXEMPT}
    table = json.loads((root / FIGURES).read_text(encoding="utf-8"))
    faults = list(check(root, texts, table))
    print("\n".join(faults) or f"{len(table['figures'])} figures are in order.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
