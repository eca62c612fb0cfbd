"""The sections of lode_bench_kernels and its peers: roofline, products, families."""
import math

from . import figures, svg
from .sections import section
from .svg import number

# Useful operations for each byte of traffic of the families whose results don't say it: additions,
# multiplications, exponentials; moving an element counts as one.
OPERATIONS_PER_BYTE = {"vector": 2 / 12, "reduce": 1 / 4, "histogram": 1 / 4, "softmax": 5 / 8}
MOVES_PER_BYTE = 1 / 8


def size_of(problem):
    extents = list(problem["problem"])
    while len(extents) > 1 and extents[-1] == 1:
        extents.pop()
    return " x ".join(f"2^{e.bit_length() - 1}" if e > 8192 and e & (e - 1) == 0 else str(e)
                      for e in extents)


def problems_of(run):
    """The problems of lode_bench_kernels, with the copy rate of their run and with the peers that
    Python measured among their results."""
    data = figures.data_of(run, "kernels")
    if data is None:
        return None, []
    problems = [{"copy_rate": data["copy_rate"]} | problem
                | {"results": list(problem["results"])} for problem in data["problems"]]
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
    _, problems = problems_of(run)
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
                      number(rate * 1e9 / problem["copy_rate"]), peer["name"] if peer else "–",
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
