#!/usr/bin/env python3
"""Makes one table of results of lode_bench_kernels --json and of kernel_peers.py --json:

    bench/peers/merge_kernels.py FILE… [--json MERGED] [--markdown]

A line for each problem has the fastest row, and beside it the rate of copies and the fastest peer.
Of a row or peer that several files have, the last file counts. Results of different devices or
drivers aren't merged: times may be compared only on one machine. The exit code is 1 if a row's
result was wrong, 2 if the files can't be merged.
"""
import argparse
import json
import pathlib
import sys


def give_up(message):
    print(f"merge_kernels: {message}", file=sys.stderr)
    sys.exit(2)


def merged_of(files):
    """One result with the candidates of all; the first file gives the rates and the sizes."""
    merged, problems = None, {}
    for file in files:
        found = json.loads(pathlib.Path(file).read_text())
        if merged is None:
            merged = found | {"commands": []}
        for key in ("device", "driver"):
            if found[key] != merged[key]:
                give_up(f"{file} has the {key} '{found[key]}' and {files[0]} '{merged[key]}'.")
        merged["commands"].append(found["command"])
        for problem in found["problems"]:
            key = (problem["family"], *problem["problem"])
            results = problems.setdefault(key, problem | {"results": {}})["results"]
            results.update({result["name"]: result for result in problem["results"]})
    merged.pop("command", None)
    merged["problems"] = [problem | {"results": list(problem["results"].values())}
                          for _, problem in sorted(problems.items())]
    return merged


def size_text(problem):
    extents = list(problem["problem"])
    while len(extents) > 1 and extents[-1] == 1:
        extents.pop()
    return "x".join(f"2^{e.bit_length() - 1}" if e > 4096 and e & (e - 1) == 0 else str(e)
                    for e in extents)


def line_of(problem, copy_rate):
    """The cells of a problem's line; None without a measured row."""
    measured = [result for result in problem["results"] if "median_ms" in result]
    rows = [result for result in measured if result["kind"] == "row"]
    peers = [result for result in measured if result["kind"] == "peer"]
    if not rows:
        return None
    best = min(rows, key=lambda row: row["median_ms"])
    milliseconds = best["median_ms"]
    spread = 50 * (best["high_ms"] - best["low_ms"]) / milliseconds
    rate = (f"{problem['operations'] / milliseconds / 1e9:.1f} TFLOP/s" if problem["operations"]
            else f"{problem['bytes'] / milliseconds * 1e3 / copy_rate:.3f} of copy")
    cells = [problem["family"], size_text(problem), best["name"], f"{milliseconds:.4f}",
             f"{spread:.1f}", rate, f"{rows[0]['median_ms'] / milliseconds:.3f}"]
    if not peers:
        return cells + ["", "", ""]
    peer = min(peers, key=lambda row: row["median_ms"])
    return cells + [peer["name"], f"{peer['median_ms']:.4f}",
                    f"{peer['median_ms'] / milliseconds:.3f}"]


TITLES = ["family", "size", "fastest row", "ms", "± %", "rate", "× the first row", "fastest peer",
          "its ms", "× as fast as it"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--json", type=pathlib.Path, metavar="MERGED")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    merged = merged_of(options.files)
    print(f"{merged['device']}, driver {merged['driver']}, lode {merged['lode']} "
          f"{merged['commit']}, copies {merged['copy_rate'] / 1e9:.0f} GB/s")
    lines = [line_of(problem, merged["copy_rate"]) for problem in merged["problems"]]
    lines = [line for line in lines if line]
    if options.markdown:
        for cells in [TITLES, ["---"] * len(TITLES), *lines]:
            print("| " + " | ".join(cells) + " |")
    else:
        widths = [max(map(len, column)) for column in zip(TITLES, *lines)]
        for cells in [TITLES, *lines]:
            print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip())
    if options.json:
        options.json.write_text(json.dumps(merged, indent=1) + "\n")
    wrong = [f"{problem['family']} {size_text(problem)} {result['name']}"
             for problem in merged["problems"] for result in problem["results"]
             if result["kind"] == "row" and not result["verified"]]
    for what in wrong:
        print(f"WRONG: {what}")
    sys.exit(1 if wrong else 0)


main()
