"""Tables of the documents, made from a committed run. A document has them between two comments:

    <!-- figures: NAME -->
    …
    <!-- end of figures -->

NAME is a key of TABLES. The prose around them is written by hand."""
import re

from . import kernel_tables, plots, sections
from .kernel_tables import markdown
from .svg import number

BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL)


def on_axis(run, program, name, wanted, x_name, digits):
    """One row for each place on the axis; `wanted`: (series, column)."""
    values = {}
    for one in sections.group(run, program, name):
        values.setdefault(one["x"], {})[one["series"]] = one["value"]
    if not values:
        return None
    return markdown([x_name] + [column for _, column in wanted],
                    [[f"{x:g}"] + [f"{row[series]:.{digits}f}" if series in row else "–"
                                  for series, _ in wanted]
                     for x, row in sorted(values.items())])


def noop(run):
    return on_axis(run, "launch_overhead", "launch into a no-op driver",
                   [("raw call", "raw call"), ("typed adds", "typed adds"),
                    ("typed, shape from a variable, adds", "typed, with a shape from a variable"),
                    ("packed adds", "packed adds"), ("prepared adds", "prepared adds"),
                    ("attributes add to raw Ex", "attributes add to raw Ex")], "Arguments", 1)


def ratios(run, program, name, wanted, x_name):
    """As on_axis, with the ratio of each series to a raw one; `wanted`: (series, raw, column)."""
    values = {}
    for one in sections.group(run, program, name):
        values.setdefault(one["x"], {})[one["series"]] = one["value"]
    if not values:
        return None
    return markdown([x_name] + [column for _, _, column in wanted],
                    [[f"{x:g}"] + [f"{row[series] / row[raw]:.3f}" if {series, raw} <= row.keys()
                                  else "–" for series, raw, _ in wanted]
                     for x, row in sorted(values.items())])


def device(run):
    kernel = "raw, CUkernel"
    return ratios(run, "launch_overhead", "launch of an empty kernel",
                  [("lode, typed", kernel, "typed"), ("lode, packed", kernel, "packed"),
                   ("lode, prepared", kernel, "prepared"),
                   ("lode, with attributes", "raw, cuLaunchKernelEx", "with attributes")],
                  "Arguments")


def graphs(run):
    return ratios(run, "launch_overhead", "launch of a graph of empty kernels",
                  [("lode", "raw cuGraphLaunch", "ratio")], "Kernels")


def peers(run):
    """The libraries by the time of a launch without arguments, in microseconds."""
    found = (sections.group(run, "launch_overhead", "launch of an empty kernel")
             + sections.group(run, "launch_peers", "launch of an empty kernel"))
    rows = {}
    for one in found:
        rows.setdefault(one["series"], {})[one["x"]] = one["value"] / 1e3
    if not rows:
        return None
    counts = sorted({x for row in rows.values() for x in row})
    return markdown(["Launch of an empty kernel, µs"] + [f"{x:g} arguments" for x in counts],
                    [[name] + [f"{row[x]:.2f}" if x in row else "–" for x in counts]
                     for name, row in sorted(rows.items(), key=lambda item: item[1][counts[0]])])


def compilation(run):
    pairs = {}
    for one in sections.group(run, "cold_compile", "compile"):
        source, who = one["series"].rsplit(", ", 1)
        pairs.setdefault(source, {})[who] = one["value"]
    if not pairs:
        return None
    return markdown(["Source", "raw, ms", "lode, ms", "ratio"],
                    [[source, f"{row['raw NVRTC']:.2f}", f"{row['lode']:.2f}",
                      f"{row['lode'] / row['raw NVRTC']:.3f}"] for source, row in pairs.items()])


def start(run):
    rows = [[one["series"], f"{one['value']:.1f} ms ({one['low']:.1f} to {one['high']:.1f})"]
            for one in sections.group(run, "warm_start", "process start")]
    rows += [["ratio, median of the pairs (95 % interval)",
              f"{one['value']:.4f} ({one['low']:.4f} to {one['high']:.4f})"]
             for one in sections.group(run, "warm_start", "process start, ratio (95 % interval)")]
    return markdown(["From the start of a process to its first result", "Median (quartiles)"],
                    rows) if rows else None


def figure_text(row):
    what = row["what"].strip()
    return f"{what}: {number(row['measured'])} {row['unit']}".strip().replace("|", r"\|")


def outcome(one):
    if one["problem"] is not None:
        return one["problem"] if one["skipped"] else f"**fails**: {one['problem']}"
    met = [row for row in one["rows"] if row["verdict"] == "as expected"]
    missed = [row for row in one["rows"] if row["verdict"] == "missed"]
    parts = []
    if met:
        parts.append(f"{len(met)} as expected, such as {figure_text(met[-1])}")
    if missed:
        more = f" and {len(missed) - 3} more" if len(missed) > 3 else ""
        parts.append("**missed** " + "; ".join(figure_text(row) for row in missed[:3]) + more)
    if not parts:
        shown = next((row for row in one["rows"] if row["measured"] is not None), None)
        return f"reported: {figure_text(shown)}" if shown else "not measured"
    return "; ".join(parts)


def experiments(run):
    found = plots.experiments(run)
    if not found:
        return None
    return markdown(["Experiment", "What the guide says, and what is expected today",
                     run["machine"].get("device", "")],
                    [[f"[{one['name']}]({one['name']}.cpp)", one["claim"].replace("|", r"\|"),
                      outcome(one)] for one in found])


TABLES = {"launch-overhead": noop, "launch-ratios": device, "graph-launches": graphs,
          "launch-peers": peers, "compilation": compilation, "process-start": start,
          "experiments": experiments, **kernel_tables.TABLES}


def filled(text, run):
    """The document with its tables from the run; a table of which the run lacks the figures stays.
    Unknown names raise KeyError."""
    def fill(match):
        table = TABLES[match[2]](run)
        return match[0] if table is None else f"{match[1]}{table}{match[4]}"

    return BLOCK.sub(fill, text)
