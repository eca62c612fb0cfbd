"""The table of what each tool finds, as Markdown."""

import program as programs

NAMES = {"lode": "lode", "memcheck": "memcheck", "racecheck": "racecheck",
         "initcheck": "initcheck", "synccheck": "synccheck"}
SANITIZERS = [tool for tool in NAMES if tool != "lode"]
FOUND = ("found", "found at the line")
SECTION = "## What the checks find"


def verdict(results, program, tool):
    return results[program.key].get(tool, {}).get("verdict")


def any_of(results, program, tools, verdicts):
    return any(verdict(results, program, tool) in verdicts for tool in tools)


def rows(lines):
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def found_table(bugs, results, columns):
    """Class by class, how many bugs each column's tools find, and how many at the line."""
    lines = [["Class", "Bugs", *columns], ["---", "---:", *["---:"] * len(columns)]]
    groups = [(name, [bug for bug in bugs if bug.cls == name]) for name in programs.CLASSES]
    for name, group in [*groups, ("**all**", bugs)]:
        if not group:
            continue
        cells = []
        for tools in columns.values():
            found = sum(any_of(results, bug, tools, FOUND) for bug in group)
            at_line = sum(any_of(results, bug, tools, FOUND[1:]) for bug in group)
            # Without the programs that no tool of the column has run.
            ran = sum(any(verdict(results, bug, tool) for tool in tools) for bug in group)
            few = f" of {ran}" if ran < len(group) else ""
            cells.append(f"{found} ({at_line}){few}" if ran else "not run")
        lines.append([name, len(group), *cells])
    return rows(lines)


def right_table(right, results, tools):
    verdicts = ("clean", "false alarm", "wrong result", "hangs", "broken", "refused", None)
    lines = [["Right programs", *tools.values()], ["---", *["---:"] * len(tools)]]
    for wanted in verdicts:
        cells = [sum(verdict(results, program, tool) == wanted for program in right)
                 for tool in tools]
        if any(cells):
            lines.append([wanted or "not run", *cells])
    return rows(lines)


def list_of(found, results, title, wanted):
    """The programs of which lode says one of the wanted verdicts, by folder; with what it says, if
    that isn't the first of them. A star marks those that a tool of compute-sanitizer finds."""
    lines = []
    for folder in sorted({program.path.parent.name for program in found}):
        names = []
        for program in found:
            said = verdict(results, program, "lode")
            if program.path.parent.name != folder or said not in wanted:
                continue
            star = "*" if any_of(results, program, SANITIZERS, FOUND) and not program.right else ""
            names.append(program.name + star + ("" if said == wanted[0] else f" ({said})"))
        if names:
            lines.append([folder, len(names), ", ".join(names)])
    if not lines:
        return ""
    return "\n" + rows([[title, "", "Programs"], ["---", "---:", "---"], *lines])


def markdown(found, results):
    bugs = [program for program in found if not program.right]
    right = [program for program in found if program.right]
    present = {tool for columns in results.values() for tool in columns}
    columns = {name: [tool] for tool, name in NAMES.items() if tool in present}
    four = [tool for tool in SANITIZERS if tool in present]
    if len(four) > 1:
        columns["any of these"] = four
    text = ""
    if bugs:
        text += found_table(bugs, results, columns)
    if right:
        names = {**NAMES, "plain": "no tool"}
        text += "\n" + right_table(right, results,
                                   {tool: names[tool] for tool in names if tool in present})
    if "lode" in present:
        text += list_of(bugs, results, "Not found by lode", ("missed", "refused"))
        text += list_of(right, results, "Accused, or not run",
                        ("false alarm", "wrong result", "hangs", "broken", "refused"))
    return text


def write_section(path, text):
    """Replaces the generated part of the section: what lies between its two markers."""
    begin, end = "<!-- begin: tests/bugs/run --docs -->\n", "<!-- end: tests/bugs/run --docs -->\n"
    document = path.read_text()
    if SECTION not in document or begin not in document or end not in document:
        raise SystemExit(f"{path} has no section '{SECTION[3:]}' with the markers of the table.")
    head, rest = document.split(begin, 1)
    _, tail = rest.split(end, 1)
    path.write_text(head + begin + "\n" + text + "\n" + end + tail)
