"""A run as scripts/report writes it, with figures made up by formulas, for the tests of the page."""


def figure(group, series, unit, value, x=None, x_name=None, better="less", spread=0.02):
    made = {"group": group, "series": series, "unit": unit, "value": value,
            "low": value * (1 - spread), "high": value * (1 + spread), "better": better}
    return made if x is None else made | {"x": x, "x_name": x_name}


def row(what, unit, measured, low=None, high=None, note=""):
    judged = low is not None or high is not None
    met = (low is None or measured >= low) and (high is None or measured <= high)
    return {"what": what, "unit": unit, "measured": measured, "spread": 0.01, "low": low,
            "high": high, "note": note,
            "verdict": "reported" if not judged else "as expected" if met else "missed"}


def bench(program, figures):
    return {"program": program, "command": f"lode_bench_{program}", "exit_code": 0, "seconds": 1.5,
            "last_line": "", "data": {"bench": program, "command": program, "figures": figures}}


def experiment(name, rows):
    return {"program": f"experiment:{name}", "command": f"lode_experiment_{name}", "exit_code": 0,
            "seconds": 0.5, "last_line": "",
            "data": {"experiment": name, "claim": f"What {name} says.", "rows": rows}}


def launches():
    noop = "launch into a no-op driver"
    empty = "launch of an empty kernel"
    counts = (0, 1, 4, 8, 16)
    found = [figure(noop, f"{kind} adds", "ns", base + n / 20, n, "arguments")
             for kind, base in (("typed", 1.7), ("packed", 4.5)) for n in counts]
    found += [figure(empty, kind, "ns", base + 10 * n, n, "arguments")
              for kind, base in (("raw, CUkernel", 3000), ("lode, typed", 2980)) for n in counts]
    peers = [figure(empty, kind, "ns", base + 90 * n, n, "arguments")
             for kind, base in (("CuPy 14.2", 9000), ("Triton 3.6", 21000)) for n in counts]
    return [bench("launch_overhead", found), bench("launch_peers", peers)]


def kernels():
    def problem(family, size, byte_count, operations, candidates):
        return {"family": family, "extents": "", "problem": size, "sets": 2, "bytes": byte_count,
                "operations": operations,
                "results": [{"name": name, "kind": kind, "verified": True, "median_ms": ms,
                             "low_ms": ms * 0.99, "high_ms": ms * 1.01, "rounds": 21, "batch": 4}
                            for name, kind, ms in candidates]}

    problems = [problem("gemm_f16", [n, n, n], 6 * n * n, 2 * n**3,
                        [("wgmma", "row", 2 * n**3 / 6e11), ("cuBLAS", "peer", 2 * n**3 / 6.6e11)])
                for n in (1024, 2048, 4096, 8192)]
    problems += [problem("reduce", [2**27, 1, 1], 2**29, 0,
                         [("redux", "row", 0.12), ("CUB", "peer", 0.125)]),
                 problem("scan", [2**26, 1, 1], 2**29, 0,
                         [("bulk_copy", "row", 0.13), ("CUB", "peer", 0.12)])]
    data = {"program": "lode_bench_kernels", "copy_rate": 4.2e12, "theoretical_rate": 4.814e12,
            "problems": problems, "device": "Example GPU", "command": "kernels"}
    return {"program": "kernels", "command": "lode_bench_kernels", "exit_code": 0, "seconds": 9,
            "last_line": "", "data": data}


def run(factor=1.0):
    """`factor` makes the process start slower."""
    copies = [figure("copy rate", name, "GB/s", limit * size / (size + half), size, "bytes", "more")
              for name, limit, half in (("on the device, kernel", 4200, 2**22),
                                        ("to the device, page-locked", 55, 2**18))
              for size in (4**k for k in range(6, 16))]
    overlap = [row("copy (tT)", "ms", 1.2), row("kernel (tE)", "ms", 1.4),
               row("one after the other", "ms", 2.6, 2.2, 3.0)]
    for order in ("depth", "breadth"):
        overlap += [row(f"{n} streams, {order} first", "ms", 1.4 + 1.2 / n, 1.2 + 1.02 / n,
                        1.6 + 1.38 / n) for n in (2, 4, 8, 16)]
    for part in range(1, 5):
        overlap += [row(f"timeline, part {part}, {what}", "ms", at + 0.3 * part)
                    for what, at in (("copy begins", 0), ("copy ends", 0.3), ("kernel ends", 0.7))]
    results = [
        *launches(), bench("transfers", copies), kernels(),
        bench("cold_compile", [figure("compile", f"saxpy, {who}", "ms", 49.0)
                               for who in ("raw NVRTC", "lode")]),
        bench("cache", [figure("cache", "memory tier: get, of 1000", "ns", 25),
                        figure("cache", "saxpy: disk hit by a fresh compiler object", "ms", 0.15),
                        figure("cache", "saxpy: compiled", "ms", 49)]),
        bench("memory", [figure("A copy of 256 MiB to the device", f"from {kind} memory", "us", value)
                         for kind, value in (("page-locked", 4900), ("pageable", 30000))]),
        bench("warm_start", [figure("process start", "lode, from its disk cache", "ms",
                                    186 * factor),
                             figure("process start", "the driver alone", "ms", 185),
                             figure("process start, ratio (95 % interval)",
                                    "lode / the driver alone", "x", 1.005 * factor,
                                    spread=0.004)]),
        bench("emulator", [figure("ratio to plain C++", name, "x", value)
                           for name, value in (("saxpy", 2.9), ("binary_search", 0.3))]),
        experiment("coalescing_stride", [row(f"stride {n} beside stride 1", "x", max(1 / n, 0.07),
                                             0.7 / min(n, 16), 1.3 / min(n, 8))
                                         for n in (2, 3, 4, 8, 16, 32)]),
        experiment("coalescing_offset", [row(f"offset {n} beside offset 0", "x",
                                             1 if n % 8 == 0 else 0.9, 0.8)
                                         for n in (1, 2, 8, 17, 32)]),
        experiment("overlap", overlap),
        experiment("fast_math", [row("sinf, IEEE", "ulp", 1.5, None, 2.5),
                                 row("sinf, fast", "2^-21", 0.7, None, 0.8),
                                 row("sinf, fast, near zeros", "ulp", 2e5),
                                 row("sinf, fast, gain", "x", 4.0, 2),
                                 row("expf, IEEE", "ulp", 1.2, None, 2.5),
                                 row("expf, fast", "ulp", 9.0, None, 13.5),
                                 row("expf, fast, gain", "x", 1.05, 1.1)]),
        {"program": "experiment:peer_bandwidth", "command": "lode_experiment_peer_bandwidth",
         "exit_code": 77, "seconds": 0.1, "last_line": "skipped: one device", "data": None}]
    return {"lode_report": 1, "commit": "0123456789abcdef", "date": "2026-11-25 18:00 UTC",
            "command": "scripts/report", "left_out": [],
            "machine": {"device": "Example GPU", "processor": "Example CPU", "processors": 16,
                        "system": "Example OS", "kernel": "6.1",
                        "gpu": {"driver_version": "580.1", "clocks.sm": "1980 MHz"}},
            "results": results}
