"""The sections of the page, from one run's results; kernel_plots has those of kernel families.
Without the figures that a plot needs there is none."""
import re

from . import figures, kernel_plots, svg
from .sections import group, in_bars, rows_of, section, series_of, table_of, turned
from .svg import number


def copy_rate(run):
    series = series_of(group(run, "transfers", "copy rate"))
    if not series:
        return None
    places = sorted({p[0] for one in series for p in one["points"]})
    picture = svg.lines("Copy rate against size", "size", "GB/s", series, "log", "log",
                        svg.bytes_text, places[::2])
    return section("copies", "Copy rate against size",
                   "Copies on the device count what they read and write, copies between host and "
                   "device what they move. Up to the size of the L2 cache, copies on the device "
                   "don't reach the memory.", picture, [one["name"] for one in series],
                   table_of(series, "size", svg.bytes_text))


def coalescing(run):
    found = []
    for name, title, word, kind in (("coalescing_stride", "Strides", "stride", "log"),
                                    ("coalescing_offset", "Offsets", "offset", "linear")):
        rows = rows_of(run, name)
        if not rows:
            continue
        series = {}
        dense = 1 if word == "stride" else 0
        for what, row in rows.items():
            match = re.match(rf"{word} (\d+) beside {word} \d+(.*)", what)
            if match:
                case = match[2].strip(", ") or "1 element a thread"
                half = row["spread"] / 2 * row["measured"]
                series.setdefault(case, [(dense, 1, 1, 1)]).append(
                    (int(match[1]), row["measured"], row["measured"] - half,
                     row["measured"] + half))
        series = [{"name": case, "points": points} for case, points in series.items()]
        if not series:
            continue
        places = [1, 2, 4, 8, 16, 32] if kind == "log" else None
        picture = svg.lines(title, f"{word} in floats", "part of the dense bandwidth", series,
                            kind, "log" if kind == "log" else "linear", x_ticks=places)
        texts = {"stride": "A copy of every n-th float. Memory moves sectors of 32 bytes whole, so "
                           "an eighth of the bandwidth is left at stride 8.",
                 "offset": "A copy that begins n floats beyond an aligned address: a warp touches "
                           "one sector more than it needs."}
        found.append(section(word, title, texts[word], picture, [one["name"] for one in series],
                             table_of(series, word)))
    return found


def overlap(run):
    rows = rows_of(run, "overlap")
    if not rows:
        return None
    spans, times = {}, {}
    for what, row in rows.items():
        match = re.match(r"timeline, part (\d+), (copy begins|copy ends|kernel ends)", what)
        if match:
            spans.setdefault(int(match[1]), {})[match[2]] = row["measured"]
        match = re.match(r"(\d+) streams, (depth|breadth) first", what)
        if match:
            times[int(match[1]), match[2]] = row
    found = []
    if spans:
        lanes = [(f"stream {part}",
                  [(at["copy begins"], at["copy ends"], "copy", 0),
                   (at["copy ends"], at["kernel ends"], "kernel and its wait", 1)])
                 for part, at in sorted(spans.items())]
        found.append(section(
            "timeline", "Overlap of copies and kernels",
            "Four parts on four streams, from events around each step. A kernel's bar begins when "
            "its own copy has ended and includes what it waits for the kernels before it.",
            svg.timeline("Overlap of copies and kernels", "ms", lanes),
            ["copy to the device", "kernel and its wait"],
            (["stream", "copy begins, ms", "copy ends, ms", "kernel ends, ms"],
             [[str(part)] + [number(at[key]) for key in ("copy begins", "copy ends",
                                                         "kernel ends")]
              for part, at in sorted(spans.items())])))
    if times:
        series = []
        for order in ("depth", "breadth"):
            points = [(n, row["measured"]) for (n, o), row in sorted(times.items()) if o == order]
            series.append({"name": f"{order} first", "points": points})
        expected = [(n, (row["low"] + row["high"]) / 2) for (n, o), row in sorted(times.items())
                    if o == "depth" and row["low"] is not None and row["high"] is not None]
        if expected:
            series.append({"name": "max + min / streams", "points": expected})
        alone = [(rows[key]["measured"], text) for key, text in
                 (("one after the other", "one after the other"),) if key in rows]
        found.append(section(
            "overlap", "Time by the number of streams",
            "A copy and a kernel in n parts, beside the guide's estimate.",
            svg.lines("Time by the number of streams", "streams", "ms", series, "log", "linear",
                      x_ticks=sorted({p[0] for s in series for p in s["points"]}),
                      references=alone),
            [one["name"] for one in series], table_of(series, "streams")))
    return found


def maths(run):
    rows = rows_of(run, "fast_math")
    if not rows:
        return None
    ieee, fast, table = [], [], []
    for what, row in rows.items():
        match = re.fullmatch(r"(.+), IEEE", what)
        if not match:
            continue
        name = match[1]
        exact = rows.get(f"{name}, fast, near zeros") or rows.get(f"{name}, fast")
        gain = rows.get(f"{name}, fast, gain")
        if exact is None or gain is None:
            continue
        ieee.append((max(row["measured"], 0.3), 1))
        fast.append((max(exact["measured"], 0.3), gain["measured"], name))
        table.append([name, number(row["measured"]), number(exact["measured"]),
                      number(gain["measured"])])
    if not table:
        return None
    series = [{"name": "IEEE", "points": ieee}, {"name": "fast", "points": fast}]
    return section("maths", "Accuracy against speed of maths functions",
                   "The largest error over two million arguments in units in the last place, and "
                   "the speed beside the IEEE profile. sinf and cosf have an absolute bound in the "
                   "fast profile: near their zeros, errors in ulp are large.",
                   svg.scatter("Accuracy against speed", "largest error, ulp",
                               "speed beside the IEEE profile", series, "log", "log"),
                   [one["name"] for one in series],
                   (["function", "IEEE, ulp", "fast, ulp", "times as fast"], table))


def launches(run):
    found = []
    series = series_of(group(run, "launch_overhead", "launch of an empty kernel")
                       + group(run, "launch_peers", "launch of an empty kernel"), 1e-3)
    if series:
        left_out = (figures.data_of(run, "launch_peers") or {}).get("left_out", [])
        picture = svg.lines("Launch of an empty kernel", "arguments", "us", series, "linear", "log")
        found.append(section(
            "launches", "Launch of an empty kernel, by library",
            "The host's time of a launch that doesn't wait, with 0 to 16 ints."
            + ("" if not left_out else " Left out: " + "; ".join(left_out) + "."),
            picture, [one["name"] for one in series], turned(table_of(series, "arguments"), "us")))
    noop = [one for one in group(run, "launch_overhead", "launch into a no-op driver")
            if not one["series"].startswith("raw")]
    series = series_of(noop)
    if series:
        picture = svg.lines("What lode adds to a launch", "arguments", "ns", series)
        found.append(section("overhead", "What lode adds to a launch",
                             "Nanoseconds beyond the raw call of a driver that does nothing.",
                             picture, [one["name"] for one in series],
                             table_of(series, "arguments")))
    return found


def compilation(run):
    return in_bars(run, "cold_compile", "compile", "Compilation beside raw NVRTC",
                   "lode's complete compilation and NVRTC with the same flags, in turns.", "ms",
                   lambda _: 1, "log", lambda name: 0 if name.endswith("lode") else 1)


def compilers(run):
    data = figures.data_of(run, "compile_peers")
    if not data:
        return None
    left_out = data.get("left_out", [])
    return in_bars(run, "compile_peers", "compilation by library", "Compilation by library",
                   f"{data['what']}; no library has a cache, except where it says so."
                   + ("" if not left_out else " Left out: " + "; ".join(left_out) + "."), "s",
                   lambda _: 1, "log", lambda name: 0 if name.startswith("lode") else 1)


def cache(run):
    micro = {"ns": 1e-3, "us": 1, "ms": 1e3}
    return in_bars(run, "cache", "cache", "The cache",
                   "Answers from memory and from disk, beside the compilation that they save.",
                   "us", lambda unit: micro[unit], "log",
                   lambda name: 1 if name.endswith("compiled") else 0)


def start(run):
    found = in_bars(run, "warm_start", "process start", "Start of a process",
                    "From the start of a process to its first verified result, with lode's disk "
                    "cache and with the driver alone and the same machine code in a file.", "ms",
                    lambda _: 1, "linear", lambda name: 0 if name.startswith("lode") else 1)
    ratio = group(run, "warm_start", "process start, ratio (95 % interval)")
    if found and ratio:
        one = ratio[0]
        found["text"] += (f" The median ratio of the pairs is {one['value']:.4f}; its 95 % interval "
                          f"is {one['low']:.4f} to {one['high']:.4f}.")
    return found


def memory(run):
    data = figures.data_of(run, "memory")
    groups = dict.fromkeys(one["group"] for one in data["figures"]) if data else {}
    return [in_bars(run, "memory", name, name, "Ways to do the same, in turns in one run.", "us",
                    lambda _: 1, "log") for name in groups]


def emulator(run):
    return in_bars(run, "emulator", "ratio to plain C++", "The software device beside plain C++",
                   "The time of each kernel on the software device, one worker, as a multiple of "
                   "the same algorithm in C++.", "times plain C++", lambda _: 1, "log",
                   reference=(1, "as fast as plain C++"))


def sections(run):
    found = []
    for make in (kernel_plots.roofline, copy_rate, coalescing, overlap, kernel_plots.products,
                 kernel_plots.families, maths, launches,
                 start, compilation, compilers, cache, memory, emulator):
        made = make(run)
        found += made if isinstance(made, list) else [made] if made else []
    return found


def experiments(run):
    """(name, claim, figures as expected, missed, other) of every experiment, and its rows."""
    found = []
    for result in run["results"]:
        if not result["program"].startswith("experiment:"):
            continue
        name, data = result["program"].split(":", 1)[1], result["data"]
        if result["exit_code"] != 0 or data is None:
            found.append({"name": name, "problem": result["last_line"], "skipped":
                          result["exit_code"] == 77, "rows": [], "claim": ""})
            continue
        found.append({"name": name, "claim": data["claim"], "rows": data["rows"], "problem": None})
    return sorted(found, key=lambda one: one["name"])
