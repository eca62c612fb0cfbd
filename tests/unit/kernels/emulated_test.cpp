// Every row of every family on the software device: forced, with poisoned outputs, against the
// host's references.
#include "base/file.hpp"
#include "gemm/product.hpp"
#include "lode_kernels/families.hpp"
#include "tests/unit/kernels/emulated_machine.hpp"

#include <lode/runtime/runtime.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::Errc;
using lode::Problem;
using lode::VariantLoader;
using lode::test::Machine;

namespace {

void run_row(const VariantLoader& loader, const lode::kernels::FamilyEntry& entry,
             const lode::LoadedVariant& variant, const Problem& problem) {
    CAPTURE(problem.x);
    CAPTURE(problem.y);
    CAPTURE(problem.z);
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    const auto workload = entry.make(loader.device(), problem, seed);
    if (!workload) FAIL(workload.error().describe());
    const auto stream = loader.device().create_stream();
    REQUIRE(stream);
    // The second launch finds the state that the first one left behind.
    for (int run = 0; run < 2; ++run) {
        CAPTURE(run);
        REQUIRE((*workload)->poison());
        CHECK_FALSE((*workload)->check());
        const auto launched = (*workload)->launch(variant, *stream);
        if (!launched) FAIL(launched.error().describe());
        const auto done = stream->sync();
        if (!done) FAIL(done.error().describe());
        const auto checked = (*workload)->check();
        if (!checked) FAIL(checked.error().message);
    }
}

/// Forces every row that the device may run; returns the names of those that ran. For the others
/// the error must say that the emulator doesn't run them.
std::set<std::string> run_every_row(const VariantLoader& loader, bool of_products) {
    std::set<std::string> ran;
    for (const auto& entry : lode::kernels::all()) {
        if ((entry.folder == "gemm") != of_products) continue;
        for (const auto& row : entry.family.rows) {
            const std::string name = entry.family.name + ":" + row.name;
            CAPTURE(name);
            for (const auto& problem : entry.test_problems) {
                if (!lode::kernels::is_small(entry, problem) ||
                    lode::refusal_of(row, loader.device_properties(), problem))
                    continue;
                const auto variant =
                    loader.load(entry.family, {.problem = problem, .forced = row.name});
                if (!variant) {
                    CAPTURE(variant.error().message);
                    CHECK(variant.error().message.find("The software device doesn't run") !=
                          std::string::npos);
                    break;
                }
                CHECK(variant->row.name == row.name);
                run_row(loader, entry, *variant, problem);
                ran.insert(name);
            }
        }
    }
    return ran;
}

/// Checks that these rows run on an architecture, and no others.
void check_that_rows_run(const char* architecture, bool of_products,
                         const std::set<std::string>& expected) {
    const Machine machine(architecture);
    if (!machine.compiles) return;
    const auto ran = run_every_row(*machine.loader, of_products);
    for (const auto& name : expected) {
        CAPTURE(name);
        CHECK(ran.contains(name));
    }
    for (const auto& name : ran) {
        CAPTURE(name);
        CHECK(expected.contains(name));
    }
}

/// The same for all families but the matrix products: the portable rows and `more`.
void check_rows_of(const char* architecture, std::initializer_list<const char*> more) {
    std::set<std::string> expected;
    const auto add = [&](std::initializer_list<const char*> families,
                         std::initializer_list<const char*> rows) {
        for (const std::string family : families) {
            for (const char* row : rows)
                expected.insert(family + ":" + row);
        }
    };
    add({"histogram"}, {"global", "shared"});
    add({"layer_norm", "softmax"},
        {"passes", "registers", "registers_narrow", "registers_wide", "vec16", "warps"});
    add({"layer_norm"}, {"registers_full"});
    add({"reduce", "reduce_float", "reduce_int64"}, {"shuffle"});
    add({"scan", "scan_float", "scan_int64"}, {"serial", "warp", "wave", "wave_small"});
    add({"select"}, {"look_back", "small"});
    add({"sort"}, {"portable"});
    add({"transpose"}, {"any", "naive", "padded", "tiled", "vec16"});
    add({"vector"}, {"scalar", "vec16"});
    expected.insert(more.begin(), more.end());
    // A family for each type has the same rows.
    const auto copy_rows = [&](std::string_view family, std::initializer_list<const char*> copies) {
        for (const std::string& name : std::set<std::string>(expected)) {
            if (!name.starts_with(std::string(family) + ":")) continue;
            for (const auto* copy : copies)
                expected.insert(copy + name.substr(family.size()));
        }
    };
    copy_rows("select",
              {"select_float", "select_int64", "partition", "partition_float", "partition_int64"});
    copy_rows("sort", {"sort_float", "sort_int64", "sort_pairs"});
    check_that_rows_run(architecture, false, expected);
}

/// The same for the matrix products. `mma` says whether 16-bit products have that row, `wgmma`
/// whether all have the rows of that source, `tcgen05` whether those of C = A · Bᵀ have that row.
void check_products_of(const char* architecture, bool mma, bool wgmma, bool tcgen05) {
    std::set<std::string> expected{"gemm:wmma"};
    for (const auto& product : lode::kernels::gemm::products()) {
        const std::string family(product.family);
        expected.insert(family + ":tiled");
        const bool halves = product.in.bytes == 2;
        if (mma && halves) expected.insert(family + ":mma");
        // It needs as much shared memory as 9.0 and 10.0 have.
        if ((wgmma || tcgen05) && halves) expected.insert(family + ":mma_256x128");
        if (tcgen05 && halves && !product.a_m_major && !product.b_n_major)
            expected.insert(family + ":tcgen05");
        if (!wgmma) continue;
        for (const auto& row : lode::kernels::gemm::rows_of(product)) {
            if (lode::kernels::gemm::tile_of(row) != nullptr)
                expected.insert(family + ":" + row.name);
        }
    }
    check_that_rows_run(architecture, true, expected);
}

}  // namespace

TEST_CASE("emulated kernels: every row for 7.5 runs and is correct") {
    check_rows_of("sm_75", {});
}

TEST_CASE("emulated kernels: the row that each family picks for 9.0 runs and is correct") {
    const Machine machine("sm_90");
    if (!machine.compiles) return;
    unsigned ran = 0;
    for (const auto& entry : lode::kernels::all()) {
        const auto small = std::ranges::find_if(entry.test_problems, [&](const Problem& problem) {
            return lode::kernels::is_small(entry, problem);
        });
        if (entry.folder == "gemm" || small == entry.test_problems.end()) continue;
        CAPTURE(entry.family.name);
        const auto variant = machine.loader->load(entry.family, {.problem = *small});
        if (!variant) FAIL(variant.error().describe());
        run_row(*machine.loader, entry, *variant, *small);
        ++ran;
    }
    CHECK(ran >= 20);
}

TEST_CASE("emulated kernels: every row for 9.0 runs and is correct") {
    check_rows_of(
        "sm_90",
        {"reduce:redux", "reduce:cluster", "histogram:packed", "layer_norm:cluster",
         "scan:bulk_copy", "scan_float:bulk_copy", "scan_int64:bulk_copy", "select:bulk_copy",
         "softmax:cluster", "softmax:cluster_full", "softmax:cluster_split", "sort:bulk_copy",
         "sort:bulk_late", "sort:medium", "sort:onesweep", "sort:small", "vector:bulk_copy"});
}

TEST_CASE("emulated kernels: every row of every product for 7.5 runs and is correct") {
    check_products_of("sm_75", false, false, false);
}

TEST_CASE("emulated kernels: every row of every product for 9.0 runs and is correct") {
    check_products_of("sm_90", true, true, false);
}

TEST_CASE("emulated kernels: every row of every product for 10.0 runs and is correct") {
    check_products_of("sm_100", true, false, true);
}

TEST_CASE("emulated kernels: every row of every product for 12.0 runs and is correct") {
    check_products_of("sm_120", true, false, false);
}

namespace {

/// Runs rows of gemm_sm90a.cu with every check and in shuffled order: those of this name, or all if
/// it is empty.
void check_wgmma_rows_of(const char* family, std::string_view name) {
    // Read when the driver is opened; ctest runs each case in a process of its own.
    ::setenv("LODE_EMULATOR_CHECK", "all", 1);
    ::setenv("LODE_EMULATOR_SEED", "3", 1);
    const Machine machine("sm_90");
    if (!machine.compiles) return;
    const auto& entry = *lode::kernels::find(family);
    const auto load = [&](const lode::VariantRow& row, const Problem& problem) {
        auto variant = machine.loader->load(entry.family, {.problem = problem, .forced = row.name});
        if (!variant) FAIL(variant.error().describe());
        return *std::move(variant);
    };
    unsigned ran = 0;
    for (const auto& row : entry.family.rows) {
        if (lode::kernels::gemm::tile_of(row) == nullptr || (!name.empty() && row.name != name))
            continue;
        CAPTURE(row.name);
        const auto refuses = [&](const Problem& problem) {
            return lode::refusal_of(row, machine.loader->device_properties(), problem).has_value();
        };
        for (const auto& problem : entry.test_problems) {
            if (!lode::kernels::is_small(entry, problem) || refuses(problem)) continue;
            run_row(*machine.loader, entry, load(row, problem), problem);
            ++ran;
        }
        // As if the device had four multiprocessors: a block has several tiles, which have fewer
        // steps of k than the ring has stages, or more.
        for (const Problem& several : {Problem{264, 264, 48}, Problem{264, 264, 464}}) {
            if (refuses(several) || (name.empty() && several.z > 48)) continue;
            auto variant = load(row, several);
            variant.device_properties.multiprocessors = 4;
            if (!lode::kernels::gemm::tile_of(row)->split_k)
                CHECK(variant.shape(several).grid.x <= 4);
            run_row(*machine.loader, entry, variant, several);
        }
    }
    CHECK(ran >= 2);
}

}  // namespace

TEST_CASE("emulated kernels: the checks find nothing in the row wgmma, in shuffled order") {
    check_wgmma_rows_of("gemm_bf16_tn", "wgmma");
}

TEST_CASE("emulated kernels: the checks find nothing in every row of every product by wgmma") {
    for (const char* family : {"gemm", "gemm_bf16_silu", "gemm_bf16_tn", "gemm_fp8"})
        check_wgmma_rows_of(family, {});
}

TEST_CASE("emulated kernels: blocks of a product that share a tile needn't wait for each other") {
    ::setenv("LODE_EMULATOR_CHECK", "all", 1);
    ::setenv("LODE_EMULATOR_SEED", "7", 1);
    const Machine machine("sm_90");
    if (!machine.compiles) return;
    const auto& entry = *lode::kernels::find("gemm_bf16_relu");
    auto family = entry.family;
    unsigned ran = 0;
    for (auto& row : family.rows) {
        const auto* const tile = lode::kernels::gemm::tile_of(row);
        if (tile == nullptr || !tile->split_k) continue;
        // Every block but the last leaves its share to the last one.
        row.definitions.push_back({"LODE_GEMM_POLLS", "0"});
        for (const Problem& problem : {Problem{24, 40, 784}, Problem{136, 264, 328}}) {
            CAPTURE(row.name);
            const auto variant =
                machine.loader->load(family, {.problem = problem, .forced = row.name});
            if (!variant) FAIL(variant.error().describe());
            run_row(*machine.loader, entry, *variant, problem);
            ++ran;
        }
    }
    CHECK(ran >= 6);
}

TEST_CASE("emulated kernels: the checks find nothing in look-back, in shuffled order") {
    ::setenv("LODE_EMULATOR_CHECK", "race,init", 1);
    ::setenv("LODE_EMULATOR_SEED", "5", 1);
    const Machine machine("sm_90");
    if (!machine.compiles) return;
    constexpr std::uint64_t most = 50000;
    unsigned ran = 0;
    for (const char* name : {"sort", "sort_pairs", "select", "partition_int64"}) {
        const auto& entry = *lode::kernels::find(name);
        for (const auto& row : entry.family.rows) {
            for (const auto& problem : entry.test_problems) {
                if (problem.x > most) continue;
                CAPTURE(name);
                CAPTURE(row.name);
                const auto variant =
                    machine.loader->load(entry.family, {.problem = problem, .forced = row.name});
                if (!variant) FAIL(variant.error().describe());
                run_row(*machine.loader, entry, *variant, problem);
                ++ran;
            }
        }
    }
    CHECK(ran >= 40);
}

TEST_CASE("emulated kernels: every row for 10.0 runs and is correct") {
    check_rows_of(
        "sm_100",
        {"reduce:redux", "reduce:cluster", "histogram:packed", "layer_norm:cluster",
         "scan:bulk_copy", "scan_float:bulk_copy", "scan_int64:bulk_copy", "select:bulk_copy",
         "softmax:cluster", "softmax:cluster_full", "softmax:cluster_split", "sort:bulk_copy",
         "sort:bulk_late", "sort:medium", "sort:onesweep", "sort:small", "vector:bulk_copy"});
}

TEST_CASE("emulated kernels: every row for 12.0 runs and is correct") {
    // The bulk_copy rows of scans, selections and sorts need more shared memory than 12.0 has.
    check_rows_of("sm_120",
                  {"reduce:redux", "reduce:cluster", "layer_norm:cluster", "partition:bulk_copy",
                   "partition_float:bulk_copy", "partition_int64:bulk_copy", "softmax:cluster",
                   "softmax:cluster_full", "softmax:cluster_split", "sort:medium", "sort:onesweep",
                   "sort:small", "vector:bulk_copy"});
}
