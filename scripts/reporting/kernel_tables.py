"""Tables of the documents about the kernel families, made from lode_bench_kernels and its peers."""
from .kernel_plots import measured, problems_of


def markdown(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join(["---"] * len(columns)) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


class Problem:
    """One problem: its fastest row, and how its rows compare with the peers and with copying."""

    def __init__(self, found):
        self.family, self.size = found["family"], tuple(found["problem"])
        self.operations = found["operations"]
        self.bytes, self.copy_rate = found["bytes"], found["copy_rate"]
        self.rows = {row["name"]: row["median_ms"] for row in measured(found, "row")}
        self.peers = {peer["name"]: peer["median_ms"] for peer in measured(found, "peer")}
        self.best = min(self.rows, key=self.rows.get) if self.rows else None
        self.peer = min(self.peers, key=self.peers.get) if self.peers else None

    def times_as_fast(self):
        return self.peers[self.peer] / self.rows[self.best]

    def of_copy(self):
        return self.bytes / self.rows[self.best] * 1e3 / self.copy_rate

    def time_text(self):
        ms = self.rows[self.best]
        return f"{ms * 1e3:.0f} µs" if ms < 1 else f"{ms:.2f} ms"


def all_of(run):
    made = [Problem(one) for one in problems_of(run)[1]]
    return {(one.family, one.size): one for one in made if one.best and one.peer}


def of_families(run, prefix):
    return {key: one for key, one in all_of(run).items() if key[0].startswith(prefix)}


def size_text(size):
    m, n, k = size
    return f"{m}³" if m == n == k else f"{m} × {n} × {k}"


def products(run):
    """Some rows of gemm_bf16 at 4096³ and 8192³."""
    found = of_families(run, "gemm_bf16")
    both = [found.get(("gemm_bf16", (n, n, n))) for n in (4096, 8192)]
    if None in both:
        return None

    def cells(name):
        for one in both:
            ms = one.rows.get(name, one.peers.get(name))
            yield f"{one.operations / ms / 1e9:.0f}"
            yield f"{one.peers[one.peer] / ms:.3f}"

    rows = [("wgmma, clusters of two", "wgmma"), ("wgmma_single", "wgmma_single"),
            ("mma.sync with cp.async (sm_80)", "mma"), ("mma_256x128, likewise", "mma_256x128"),
            ("tiled, portable", "tiled"),
            ("cuBLAS", both[0].peer)]
    return markdown(["gemm_bf16", "4096³, TFLOP/s", "of cuBLAS", "8192³, TFLOP/s", "of cuBLAS"],
                    [[text, *cells(name)] for text, name in rows])


def every_product(run):
    goal = 0.95
    found = [one for one in of_families(run, "gemm").values() if "cuBLAS" in one.peers]
    found.sort(key=lambda one: (one.family, one.size[0] * one.size[1] * one.size[2]))
    return markdown(
        ["Product", "of cuBLAS", "fastest row", f"Goal {goal}"],
        [[f"{one.family}, {size_text(one.size)}", f"{one.times_as_fast():.3f}", f"`{one.best}`",
          "reached" if one.times_as_fast() >= goal else "not reached"] for one in found]) \
        if found else None


def by_power(run, families, title, text_of):
    """A row for each family and a column for each power of two."""
    found = {key: one for key, one in all_of(run).items()
             if key[0] in families and key[1][1:] == (1, 1)}
    powers = sorted({key[1][0] for key in found if key[1][0] & (key[1][0] - 1) == 0})
    if not powers:
        return None
    one_of = {(key[0], key[1][0]): one for key, one in found.items()}
    return markdown([title] + [f"2^{power.bit_length() - 1}" for power in powers],
                    [[family] + [text_of(one_of[family, power]) if (family, power) in one_of else ""
                                 for power in powers] for family in families])


def sums_and_scans(run):
    return by_power(run, ("reduce", "reduce_float", "reduce_int64", "scan", "scan_float",
                          "scan_int64"), "Times as fast as CUB",
                    lambda one: f"{one.times_as_fast():.2f}")


def with_time(one):
    return f"{one.times_as_fast():.2f} ({one.time_text()})"


def sorts(run):
    return by_power(run, ("sort", "sort_float", "sort_int64", "sort_pairs"),
                    "Times as fast as CUB", with_time)


def selections(run):
    return by_power(run, ("select", "select_float", "select_int64", "partition", "partition_float",
                          "partition_int64"), "Times as fast as CUB", with_time)


def rows_of_matrices(run):
    found = of_families(run, ("softmax", "layer_norm"))
    sizes = sorted({key[1] for key in found}, key=lambda size: (size[1], size[0]))

    def cells(size):
        for family in ("softmax", "layer_norm"):
            one = found.get((family, size))
            yield f"{one.of_copy():.2f} (`{one.best}`)" if one else ""
            yield f"{one.times_as_fast():.2f} ({one.peer})" if one else ""

    return markdown(["Rows × columns", "softmax, of copy", "times as fast as the peers' best",
                     "layer_norm, of copy", "times as fast as the peers' best"],
                    [[f"{size[0]:,} × {size[1]:,}", *cells(size)] for size in sizes]) \
        if found else None


def transposes_and_vectors(run):
    found = of_families(run, ("transpose", "vector"))
    return markdown(["Matrix or elements", "row", "of copy", "times as fast as PyTorch's best"],
                    [[f"transpose, {one.size[0]:,} × {one.size[1]:,}" if family == "transpose"
                      else f"vector, 2^{one.size[0].bit_length() - 1} elements",
                      f"`{one.best}`", f"{one.of_copy():.2f}", f"{one.times_as_fast():.2f}"]
                     for (family, _), one in sorted(found.items())]) if found else None


def histograms(run):
    found = sorted(of_families(run, "histogram").values(),
                   key=lambda one: (one.size[1], one.size[2], one.size[0]))
    return markdown(
        ["Histogram, values × bins", "row", "ms", "of copy", "times as fast as CUB"],
        [[f"2^{one.size[0].bit_length() - 1} × {one.size[1]:,}"
          + (", half of the values in four bins" if one.size[2] == 2 else ""), f"`{one.best}`",
          f"{one.rows[one.best]:.3f}", f"{one.of_copy():.2f}",
          f"{one.times_as_fast():.{0 if one.times_as_fast() >= 10 else 1}f}"] for one in found]) \
        if found else None


TABLES = {"products": products, "every-product": every_product, "sums-and-scans": sums_and_scans,
          "sorts": sorts, "selections": selections, "rows-of-matrices": rows_of_matrices,
          "transposes-and-vectors": transposes_and_vectors, "histograms": histograms}
