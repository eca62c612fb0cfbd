// A cache that was filled from the enumeration of a family answers every load of the family.
#include "lode_kernels/families.hpp"
#include "tests/support/scratch.hpp"

#include <lode/jit/cache.hpp>
#include <lode/runtime/runtime.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

lode::CacheOptions warmed_cache(const lode::ScratchFolder& scratch, lode::JitPolicy policy) {
    lode::CacheOptions options;
    options.folder = scratch.path() / "cache";
    options.policy = policy;
    return options;
}

lode::Runtime emulated(const lode::CacheOptions& cache) {
    // The same machine as in the other tests of this program.
    ::setenv("LODE_EMULATOR_DEVICES", "sm_75,sm_80,sm_90,sm_120", 1);
    auto runtime =
        lode::Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}, .cache = cache});
    if (!runtime) FAIL(runtime.error().describe());
    return *std::move(runtime);
}

/// How many rows of the family load without a compiler on every device. `expect_hit` is whether
/// they must.
int load_every_row(const lode::Runtime& runtime, const lode::KernelFamily& family,
                   bool expect_hit) {
    int loaded = 0;
    const auto devices = runtime.devices().value();
    for (const auto& device : devices) {
        const lode::VariantLoader loader(runtime, device, {},
                                         lode::TunedChoices(std::filesystem::path()));
        for (const auto& row : family.rows) {
            if (lode::refusal_of(row, loader.device_properties())) continue;
            CAPTURE(device.cc().to_string());
            CAPTURE(row.name);
            const auto variant = loader.load(family, {.forced = row.name});
            const std::string problem = variant ? "" : variant.error().message;
            CAPTURE(problem);
            const bool refused = problem.find("isn't in the cache") != std::string::npos;
            // The software device doesn't run every instruction, but it gets the code.
            const bool has_code =
                variant || problem.find("The software device doesn't run") != std::string::npos;
            CHECK(has_code == expect_hit);
            CHECK(refused == !expect_hit);
            if (has_code) ++loaded;
        }
    }
    return loaded;
}

}  // namespace

TEST_CASE("warmed families: every row loads where compiling is forbidden") {
    if (!lode::Compiler().info()) {
        MESSAGE("skipped: there is no compiler");
        return;
    }
    const auto scratch = lode::test::make_scratch();
    const auto strict = emulated(warmed_cache(scratch, lode::JitPolicy::forbid));
    const auto filling = emulated(warmed_cache(scratch, lode::JitPolicy::allow));
    const lode::CachedCompiler compiler({}, warmed_cache(scratch, lode::JitPolicy::allow));
    for (const char* name : {"reduce", "transpose", "vector", "gemm_bf16"}) {
        const auto& family = lode::kernels::find(name)->family;
        CHECK(load_every_row(strict, family, false) == 0);
        int compiled = 0;
        const auto devices = filling.devices().value();
        for (const auto& device : devices) {
            std::vector<std::string> rows;  // Also those that have a caveat.
            for (const auto& row : family.rows)
                rows.push_back(row.name);
            const auto compilations =
                lode::compilations_of(family, lode::variant_device_properties(device), {}, rows)
                    .value();
            for (const auto& [row, source, options, names, suffix] : compilations) {
                const auto arch = device.target(suffix).value().arch;
                const auto image = compiler.compile(source, arch, options, names);
                if (!image) FAIL(image.error().describe());
                ++compiled;
            }
        }
        CHECK(load_every_row(strict, family, true) == compiled);
        CHECK(compiled > 4);
    }
}

TEST_CASE("warmed families: the enumeration has the rows that a device may run") {
    const auto& family = lode::kernels::find("gemm")->family;
    const auto rows_for = [&](lode::ComputeCapability cc, std::vector<std::string> named = {}) {
        std::string list;
        const auto compilations =
            lode::compilations_of(family, lode::assumed_device_properties(cc), {}, named).value();
        for (const auto& compilation : compilations)
            list += compilation.row + ' ';
        return list;
    };
    CHECK(rows_for({7, 5}) == "wmma tiled ");
    CHECK(rows_for({8, 0}) == "mma wmma tiled ");
    CHECK(rows_for({9, 0}).starts_with("wgmma "));
    CHECK(rows_for({9, 0}).ends_with(" mma mma_256x128 wmma tiled "));
    // tcgen05 has a caveat.
    CHECK(rows_for({10, 0}) == "mma mma_256x128 wmma tiled ");
    CHECK(rows_for({10, 0}, {"tcgen05", "tiled"}) == "tcgen05 tiled ");
    CHECK(rows_for({9, 0}, {"tcgen05"}).empty());
    const std::vector<std::string> wrong = {"tiles"};
    const auto refused =
        lode::compilations_of(family, lode::assumed_device_properties({9, 0}), {}, wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == lode::Errc::not_found);
    CHECK(refused.error().message == "Kernel family 'gemm' has no row 'tiles'.");
}

TEST_CASE("warmed families: a row with precompiled code isn't compiled") {
    const std::string text = "extern \"C\" __global__ void k() {}";
    const auto compiled =
        lode::Compiler().compile(lode::Source::text(text), *lode::Arch::parse("sm_80"));
    if (!compiled) {
        MESSAGE("skipped: there is no compiler");
        return;
    }
    const auto& cubin = compiled->cubin;
    const lode::EmbeddedFile files[] = {
        {"a.cu", text},
        {"a.sm_80.cubin", {reinterpret_cast<const char*>(cubin.data()), cubin.size()}}};
    lode::VariantRow row;
    row.name = "only";
    row.source = "a.cu";
    row.kernel = "k";
    row.needs.arch = *lode::Arch::parse("sm_75");
    row.shape = [](const lode::Problem&, const lode::VariantDeviceProperties&) {
        return lode::LaunchShape{};
    };
    const lode::KernelFamily family{"own", {row}, files};
    const auto count = [&](lode::ComputeCapability cc, const lode::CompileOptions& options = {}) {
        return lode::compilations_of(family, lode::assumed_device_properties(cc), options)
            .value()
            .size();
    };
    CHECK(count({7, 5}) == 1);
    CHECK(count({8, 0}) == 0);
    CHECK(count({8, 0}, {.debug = true}) == 1);
}
