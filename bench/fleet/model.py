#!/usr/bin/env python3
"""What a fleet's start costs with a remote cache, by measured figures, against compiling alone.

    model.py FIGURES [--nodes 10000] [--kernels 500] [--processors 16] [--trip-ms 1]

FIGURES is what fleet.py --save has written. All nodes start at the same moment with empty folders
and need the same kernels. Assumptions:

- A node compiles on all its processors at the same time, and asks for 64 kernels in one round trip
  where it fetches a manifest (`lode warm --from-remote`).
- One server. Its time is the longest of: the requests at the rate that one of its cores was
  measured to answer, the bytes through its network, the round trips of one node.
- Cold with Redis: the nodes need the kernels in the same order, the worst case, so that all wait
  for the same few compilations; a node that waits asks four times a second for each kernel.
"""

import argparse
import json
import pathlib

DEFAULTS = {"nodes": 10000, "kernels": 500, "processors": 16, "trip_ms": 1.0}
BATCH = 64
GBIT = (10, 25)
POLLS_PER_SECOND = 2 * 4  # The lease and the entry.


def fetched(server, inputs, gbit):
    """The seconds until all nodes have fetched all kernels, and what limits them."""
    requests = inputs["nodes"] * inputs["kernels"] * server["requests_per_kernel"]
    size = inputs["nodes"] * inputs["kernels"] * server["bytes_per_kernel"]
    trips = -(-inputs["kernels"] // BATCH) * server["requests_per_kernel"]
    times = {
        "requests": requests / server["requests_per_second"],
        "network": size * 8 / (gbit * 1e9),
        "round trips": trips * inputs["trip_ms"] / 1e3
        + inputs["kernels"] * server["hit_ms"] / 1e3,
    }
    limit = max(times, key=times.get)
    return requests, size, times[limit], limit


def rows(figures, inputs):
    """Compilations, requests, bytes, seconds and limit of each way of starting."""
    nodes, kernels = inputs["nodes"], inputs["kernels"]
    compile_s = figures["compile_ms"] / 1e3
    alone_s = kernels * compile_s / inputs["processors"]
    yield "each node compiles", nodes * kernels, 0, 0, alone_s, "compilation"
    for name, title in (("nginx", "HTTP"), ("redis", "Redis")):
        server = figures[name]
        for gbit in GBIT:
            requests, size, seconds, limit = fetched(server, inputs, gbit)
            yield (f"{title}, warmed before, {gbit} Gbit/s", kernels, requests, size, seconds,
                   limit)
    server = figures["redis"]
    for gbit in GBIT:
        requests, size, seconds, limit = fetched(server, inputs, gbit)
        polls = nodes * inputs["processors"] * POLLS_PER_SECOND * alone_s
        requests += polls
        asked_s = requests / server["requests_per_second"]
        total = max(alone_s + seconds, asked_s)
        limit = "requests" if asked_s >= alone_s + seconds else f"compilation, then {limit}"
        yield f"Redis, cold, {gbit} Gbit/s", kernels, requests, size, total, limit


def table(figures, inputs):
    """The table in Markdown, under its inputs."""
    lines = [
        f"{inputs['nodes']:,} nodes, {inputs['kernels']} kernels of "
        f"{figures['compile_ms']:.0f} ms, {inputs['processors']} processors a node, "
        f"{inputs['trip_ms']:g} ms a round trip. Measured: "
        + "; ".join(
            f"{title} {figures[name]['requests_per_kernel']:.1f} requests and "
            f"{figures[name]['bytes_per_kernel'] / 1e3:.1f} kB a kernel, "
            f"{figures[name]['requests_per_second']:,.0f} requests/s"
            for name, title in (("nginx", "HTTP"), ("redis", "Redis"))) + ".",
        "",
        "| Start | Compilations | Processor hours | Requests | Data | Time to warm | Limit |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for what, compilations, requests, size, seconds, limit in rows(figures, inputs):
        hours = compilations * figures["compile_ms"] / 3.6e6
        lines.append(f"| {what} | {compilations:,} | {hours:,.2f} | {requests:,.0f} | "
                     f"{size / 1e9:,.1f} GB | {seconds:,.1f} s | {limit} |")
    return "\n".join(lines)


def tables(figures, inputs):
    """A table for each kind of kernel."""
    titles = {"header": "Kernels with one header", "cub": "Kernels with CUB"}
    return "\n\n".join(f"{title}: {table(figures[mode], inputs)}"
                       for mode, title in titles.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", type=pathlib.Path)
    for name, value in DEFAULTS.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    arguments = vars(parser.parse_args())
    print(tables(json.loads(arguments.pop("figures").read_text()), arguments))


if __name__ == "__main__":
    main()
