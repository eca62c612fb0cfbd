"""The sections of the page: for each, the plot and the table beside it, from one run's results.

A section is a dict: id, title, text, svg, legend (names, in the order of their classes), columns and
rows (of the table). Without the figures that a plot needs there is none.
"""
import math
import re

from . import figures, svg
from .svg import number

# Useful operations for each byte of traffic of the families whose results don't say it: additions,
# multiplications, exponentials; moving an element counts as one.
OPERATIONS_PER_BYTE = {"vector": 2 / 12, "reduce": 1 / 4, "histogram": 1 / 4, "softmax": 5 / 8}
MOVES_PER_BYTE = 1 / 8


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


def size_of(problem):
    extents = list(problem["problem"])
    while len(extents) > 1 and extents[-1] == 1:
        extents.pop()
    return " x ".join(f"2^{e.bit_length() - 1}" if e > 8192 and e & (e - 1) == 0 else str(e)
                      for e in extents)


def problems_of(run):
    """The problems of lode_bench_kernels, with the peers that Python measured among their results."""
    data = figures.data_of(run, "kernels")
    if data is None:
        return None, []
    problems = [problem | {"results": list(problem["results"])} for problem in data["problems"]]
    known = {(p["family"], *p["problem"]): p for p in problems}
    for problem in (figures.data_of(run, "kernel_peers") or {}).get("problems", []):
        into = known.get((problem["family"], *problem["problem"]))
        if into is not None:
            into["results"] += problem["results"]
    return data, problems


def measured(problem, kind):
    return [result for result in problem["results"]
            if result["kind"] == kind and "median_ms" in result and result.get("verified", True)]


def operations_of(problem):
    per_byte = OPERATIONS_PER_BYTE.get(problem["family"].split("_")[0], MOVES_PER_BYTE)
    return problem["operations"] or problem["bytes"] * per_byte


def roofline(run):
    data, problems = problems_of(run)
    if not problems:
        return None
    best, peak = {}, 0
    for problem in problems:
        work = operations_of(problem)
        for result in measured(problem, "row") + measured(problem, "peer"):
            rate = work / result["median_ms"] / 1e9
            if problem["operations"]:
                peak = max(peak, rate)
            key = problem["family"], result["name"]
            if result["kind"] == "row" and rate > best.get(key, (0, 0))[1]:
                best[key] = (work / problem["bytes"], rate, size_of(problem))
    if not best:
        return None
    series = {}
    for (family, _), point in best.items():
        series.setdefault(family, []).append(point[:2])
    series = [{"name": name, "points": points} for name, points in series.items()]
    copy, theory = data["copy_rate"] / 1e12, data["theoretical_rate"] / 1e12
    peak = peak or math.inf
    roofs = [(f"copies, {copy:.2f} TB/s", lambda x: min(copy * x, peak))]
    if theory:
        roofs.append((f"theory, {theory:.2f} TB/s", lambda x: min(theory * x, peak)))
    picture = svg.scatter("Roofline", "operations per byte", "10^12 operations/s", series,
                          roofs=roofs)
    rows = [[family, row, size, number(x), number(y), f"{100 * y / min(copy * x, peak):.0f} %"]
            for (family, row), (x, y, size) in sorted(best.items())]
    return section(
        "roofline", "Roofline",
        "Every row of every kernel family at its fastest size. The sloping lines are the memory: "
        "the rate of copies in the same run, and the theoretical rate. The level line is the "
        "fastest matrix product that was measured, a peer's or lode's, if there is one. An "
        "operation is an addition, a multiplication or an exponential; where a kernel only moves "
        "elements, each move counts as one.", picture, [one["name"] for one in series],
        (["family", "row", "size", "operations/byte", "10^12/s", "of the roof"], rows))


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


def products(run):
    _, problems = problems_of(run)
    series, table = {}, []
    for problem in problems:
        x, y, z = problem["problem"]
        if not problem["operations"] or not problem["family"].startswith("gemm"):
            continue
        rate = {result["name"]: problem["operations"] / result["median_ms"] / 1e9
                for result in measured(problem, "row") + measured(problem, "peer")}
        rows = {r["name"]: rate[r["name"]] for r in measured(problem, "row")}
        peers = {r["name"]: rate[r["name"]] for r in measured(problem, "peer")}
        if not rows:
            continue
        row = max(rows, key=rows.get)
        best_peer = max(peers.values(), default=None)
        table.append([problem["family"], size_of(problem), row, number(rows[row]),
                      ", ".join(f"{name} {number(peers[name])}" for name in sorted(peers)) or "–",
                      number(rows[row] / best_peer) if best_peer else "–"])
        if x == y == z:
            series.setdefault(f"{problem['family']}, lode", []).append((x, rows[row]))
            for name, value in peers.items():
                series.setdefault(f"{problem['family']}, {name}", []).append((x, value))
    series = [{"name": name, "points": points} for name, points in sorted(series.items())]
    if not series:
        return None
    places = sorted({p[0] for one in series for p in one["points"]})
    picture = svg.lines("Matrix products", "n of n x n x n", "TFLOP/s", series, "log", "linear",
                        x_ticks=places[-6:] if len(places) > 7 else places)
    return section("products", "Matrix products beside cuBLAS",
                   "The fastest row of each family and the peers of the same run.", picture,
                   [one["name"] for one in series],
                   (["family", "size", "row", "TFLOP/s", "peers, TFLOP/s", "of the fastest peer"],
                    table))


def families(run):
    data, problems = problems_of(run)
    series, table = {}, []
    for problem in problems:
        if problem["operations"]:
            continue
        ours = min(measured(problem, "row"), key=lambda r: r["median_ms"], default=None)
        if ours is None:
            continue
        rate = problem["bytes"] / ours["median_ms"] / 1e6
        peer = min(measured(problem, "peer"), key=lambda r: r["median_ms"], default=None)
        ratio = peer and peer["median_ms"] / ours["median_ms"]
        table.append([problem["family"], size_of(problem), ours["name"], number(rate),
                      number(rate * 1e9 / data["copy_rate"]), peer["name"] if peer else "–",
                      number(ratio)])
        if ratio:
            series.setdefault(problem["family"], []).append(
                (problem["bytes"], ratio, peer["low_ms"] / ours["high_ms"],
                 peer["high_ms"] / ours["low_ms"]))
    if not series:
        return None
    series = [{"name": name, "points": points} for name, points in sorted(series.items())]
    places = [float(4**k * 2**10) for k in range(12)]
    low, high = (pick(p[0] for one in series for p in one["points"]) for pick in (min, max))
    picture = svg.lines("Kernel families", "bytes read and written", "times the peer's speed",
                        series, "log", "log", svg.bytes_text,
                        [place for place in places if low <= place <= high] or [low],
                        references=[(1, "as fast")])
    return section("families", "Kernel families beside their peers",
                   "The fastest row of each family, as times the speed of the fastest peer of the "
                   "same run; above 1 lode is faster.", picture, [one["name"] for one in series],
                   (["family", "size", "row", "GB/s", "of copies", "fastest peer",
                     "times its speed"], table))


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


def emulator(run):
    return in_bars(run, "emulator", "ratio to plain C++", "The software device beside plain C++",
                   "The time of each kernel on the software device, one worker, as a multiple of "
                   "the same algorithm in C++.", "times plain C++", lambda _: 1, "log",
                   reference=(1, "as fast as plain C++"))


def sections(run):
    found = []
    for make in (roofline, copy_rate, coalescing, overlap, products, families, maths, launches,
                 start, compilation, compilers, cache, emulator):
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
