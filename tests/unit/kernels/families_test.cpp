#include "lode_kernels/families.hpp"

#include "base/file.hpp"
#include "gemm/random_elements.hpp"

#include <lode/jit/compiler.hpp>
#include <lode/runtime/variants.hpp>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include <doctest/doctest.h>

using lode::Arch;
using lode::ComputeCapability;
using lode::Problem;
using lode::kernels::FamilyEntry;

namespace {

lode::CompileOptions options_of(const lode::KernelFamily& family) {
    lode::CompileOptions options;
    for (const auto& file : family.files) {
        if (file.name.ends_with(".cuh"))
            options.headers.push_back({std::string(file.name), std::string(file.content)});
    }
    return options;
}

/// Compiles every row for its own architecture and for those of `more` that it supports.
void check_that_rows_compile(const char* name, std::initializer_list<const char*> more) {
    const lode::Compiler compiler;
    if (const auto info = compiler.info(); !info) {
        MESSAGE("skipped: " << info.error().message);
        return;
    }
    const auto* const entry = lode::kernels::find(name);
    REQUIRE(entry != nullptr);
    const auto& family = entry->family;
    for (const auto& row : family.rows) {
        std::vector<Arch> targets{row.needs.arch};
        for (const char* text : more) {
            const auto arch = *Arch::parse(text);
            if (row.needs.arch.suffix() == lode::ArchSuffix::none &&
                arch.cc() > row.needs.arch.cc())
                targets.push_back(arch);
        }
        const auto* const file = family.file(row.source);
        REQUIRE(file != nullptr);
        const auto source = lode::Source::text(std::string(file->content), row.source);
        for (const auto& target : targets) {
            CAPTURE(row.name);
            CAPTURE(target.to_string());
            auto options = options_of(family);
            options.definitions = row.definitions;
            const auto image = compiler.compile(source, target, options);
            if (!image) FAIL(image.error().describe());
            CHECK_FALSE(image->cubin.empty());
            CHECK(image->signature_of(row.kernel) != nullptr);
            const auto* const resources = image->resources_of(row.kernel);
            REQUIRE(resources != nullptr);
            // The row must declare at least as much as its code uses.
            if (row.needs.shared_bytes_per_block != 0)
                CHECK(resources->shared_bytes <= row.needs.shared_bytes_per_block);
        }
    }
}

lode::VariantDeviceProperties properties_of_cc(int number) {
    return lode::assumed_device_properties(ComputeCapability::from_number(number));
}

}  // namespace

TEST_CASE("kernel families: every table is complete, and the last row handles every problem") {
    std::set<std::string> names;
    for (const auto& entry : lode::kernels::all()) {
        CAPTURE(entry.family.name);
        const auto checked = lode::check_family(entry.family);
        if (!checked) FAIL(checked.error().message);
        CHECK(names.insert(entry.family.name).second);
        CHECK(lode::kernels::find(entry.family.name) == &entry);
        CHECK(entry.family.rows.back().needs.arch == *Arch::parse("sm_75"));
    }
    CHECK(names.size() == 32);
    CHECK(lode::kernels::find("gone") == nullptr);
}

TEST_CASE(
    "kernel families: each row handles a test problem, and each problem has an eligible row") {
    for (const auto& entry : lode::kernels::all()) {
        std::set<std::size_t> used;
        for (const int number : {75, 80, 90, 100}) {
            for (const auto& problem : entry.test_problems) {
                const auto rows =
                    lode::eligible_rows(entry.family, properties_of_cc(number), problem);
                CHECK_FALSE(rows.empty());
                used.insert(rows.begin(), rows.end());
            }
        }
        for (std::size_t i = 0; i < entry.family.rows.size(); ++i) {
            CAPTURE(entry.family.rows[i].name);
            if (entry.family.rows[i].caveat.empty()) CHECK(used.contains(i));
        }
    }
}

TEST_CASE("kernel families: launch shapes stay inside the limits of every device") {
    constexpr std::uint64_t largest_grid_y = 65535;
    for (const auto& entry : lode::kernels::all()) {
        auto problems = entry.test_problems;
        problems.insert(problems.end(), entry.bench_problems.begin(), entry.bench_problems.end());
        for (const int number : {75, 86, 90}) {
            const auto properties = properties_of_cc(number);
            for (const auto& problem : problems) {
                for (const auto i : lode::eligible_rows(entry.family, properties, problem)) {
                    const auto& row = entry.family.rows[i];
                    CAPTURE(entry.family.name);
                    CAPTURE(row.name);
                    const auto shape = row.shape(problem, properties);
                    CHECK(shape.grid.volume() > 0);
                    CHECK(shape.grid.y <= largest_grid_y);
                    CHECK(shape.block.volume() <= 1024);
                    CHECK(shape.dynamic_shared_bytes <= properties.shared_bytes_per_block);
                    CHECK(shape.grid.x % shape.cluster.x == 0);
                    CHECK((shape.cluster.x == 1 || row.needs.cluster_launch));
                }
            }
        }
    }
}

TEST_CASE("kernel families: the best row by device") {
    struct Row {
        const char* family;
        int device;
        const char* chosen;
    };
    constexpr Row rows[] = {
        {"gemm", 75, "wmma"},       {"gemm", 86, "mma"},         {"gemm", 90, "wgmma"},
        {"gemm", 120, "mma"},       {"reduce", 75, "shuffle"},   {"reduce", 89, "redux"},
        {"reduce", 90, "redux"},    {"vector", 90, "vec16"},     {"gemm_bf16", 75, "tiled"},
        {"transpose", 75, "vec16"}, {"scan", 75, "wave_small"},  {"scan", 90, "wave_small"},
        {"softmax", 90, "warps"},   {"histogram", 75, "shared"}, {"sort", 75, "portable"},
        {"sort", 86, "small"},      {"select", 80, "small"},     {"select", 90, "small"}};
    for (const auto& row : rows) {
        CAPTURE(row.family);
        CAPTURE(row.device);
        const auto& family = lode::kernels::find(row.family)->family;
        const auto choice = lode::select(family, properties_of_cc(row.device));
        REQUIRE(choice);
        CHECK(family.rows[choice->row].name == row.chosen);
    }
}

TEST_CASE("kernel families: the best row of a product by problem, as measured on H200s") {
    struct Row {
        Problem problem;
        const char* chosen;
    };
    constexpr Row rows[] = {{{512, 512, 512}, "wgmma_64x64"},
                            {{1024, 1024, 1024}, "wgmma_64x128"},
                            {{1000, 1016, 1032}, "wgmma_64x128_pair"},
                            {{512, 512, 16384}, "wgmma_128x128_split"},
                            {{600, 3000, 1208}, "wgmma_128x128_quad_n"},
                            {{1200, 1200, 1208}, "wgmma_128x128_square"},
                            {{1000, 2000, 3000}, "wgmma_128x144_square"},
                            {{2000, 1000, 3000}, "wgmma_128x144_quad"},
                            {{1024, 2160, 4096}, "wgmma_128x144_quad"},
                            {{3000, 5000, 2000}, "wgmma_128x192"},
                            {{4000, 4000, 4008}, "wgmma"},
                            {{8192, 8192, 8192}, "wgmma_single"}};
    auto properties = properties_of_cc(90);
    properties.multiprocessors = 132;
    const auto& family = lode::kernels::find("gemm_bf16")->family;
    for (const auto& row : rows) {
        CAPTURE(row.problem.x);
        CAPTURE(row.problem.y);
        CAPTURE(row.problem.z);
        const auto choice = lode::select(family, properties, {.problem = row.problem});
        REQUIRE(choice);
        CHECK(family.rows[choice->row].name == row.chosen);
    }
}

TEST_CASE("kernel families: embedded files are the files of the tree, byte by byte") {
    for (const auto& entry : lode::kernels::all()) {
        const std::filesystem::path folder =
            std::filesystem::path(LODE_SOURCE_DIR) / "kernels_src" / entry.folder;
        for (const auto& file : entry.family.files) {
            CAPTURE(file.name);
            const auto text = lode::read_text(folder / file.name);
            REQUIRE(text);
            CHECK(*text == file.content);
        }
    }
}

TEST_CASE("kernel families: vector and transpose compile for every target") {
    for (const char* name : {"vector", "transpose"})
        check_that_rows_compile(name, {"sm_80", "sm_90", "sm_121"});
}

TEST_CASE("kernel families: softmax and layer_norm compile for every target") {
    for (const char* name : {"softmax", "layer_norm"})
        check_that_rows_compile(name, {"sm_80", "sm_90", "sm_121"});
}

TEST_CASE("kernel families: reduce and histogram compile for every target") {
    for (const char* name : {"reduce", "reduce_float", "reduce_int64", "histogram"})
        check_that_rows_compile(name, {"sm_80", "sm_90", "sm_121"});
}

TEST_CASE("kernel families: scan compiles for every target") {
    for (const char* name : {"scan", "scan_float", "scan_int64"})
        check_that_rows_compile(name, {"sm_80", "sm_90", "sm_121"});
}

TEST_CASE("kernel families: sort and sort_pairs compile for every target") {
    for (const char* name : {"sort", "sort_pairs"})
        check_that_rows_compile(name, {"sm_80", "sm_121"});
}
TEST_CASE("kernel families: sort_float and sort_int64 compile for every target") {
    for (const char* name : {"sort_float", "sort_int64"})
        check_that_rows_compile(name, {"sm_80", "sm_121"});
}
TEST_CASE("kernel families: selections and partitions compile for every target") {
    for (const char* name : {"select", "select_float", "select_int64", "partition",
                             "partition_float", "partition_int64"})
        check_that_rows_compile(name, {"sm_80", "sm_121"});
}
TEST_CASE("kernel families: gemm_bf16 compiles for every target") {
    check_that_rows_compile("gemm_bf16", {"sm_86", "sm_90", "sm_121"});
}
TEST_CASE("kernel families: gemm compiles for every target") {
    check_that_rows_compile("gemm", {"sm_86", "sm_90", "sm_121"});
}
TEST_CASE("kernel families: gemm_bf16_tn and gemm_fp8 compile for every target") {
    check_that_rows_compile("gemm_bf16_tn", {"sm_121"});
    check_that_rows_compile("gemm_fp8", {"sm_121"});
}

TEST_CASE("half precision: known values") {
    using lode::kernels::half_to_float;
    CHECK(half_to_float(0x3c00) == 1.0F);
    CHECK(half_to_float(0xc000) == -2.0F);
    CHECK(half_to_float(0x7bff) == 65504.0F);
    CHECK(half_to_float(0x0001) == 0x1p-24F);
    CHECK(half_to_float(0x0400) == 0x1p-14F);
    CHECK(half_to_float(0x8000) == 0.0F);
    CHECK(std::isinf(half_to_float(0x7c00)));
    CHECK(std::isnan(half_to_float(0x7e00)));
    CHECK(lode::kernels::bfloat16_to_float(0x3f80) == 1.0F);
    CHECK(lode::kernels::bfloat16_to_float(0xc040) == -3.0F);
    using lode::kernels::e4m3_to_float;
    CHECK(e4m3_to_float(0x38) == 1.0F);
    CHECK(e4m3_to_float(0xc0) == -2.0F);
    CHECK(e4m3_to_float(0x7e) == 448.0F);
    CHECK(e4m3_to_float(0x01) == 0x1p-9F);
    CHECK(e4m3_to_float(0x08) == 0x1p-6F);
    CHECK(std::isnan(e4m3_to_float(0xff)));
    for (const auto& format :
         {lode::kernels::float16, lode::kernels::bfloat16, lode::kernels::float8}) {
        CAPTURE(format.fraction_bits);
        CHECK(format.to_float(format.quarter) == 0.25F);
        CHECK(std::isnan(format.to_float(format.not_a_number)));
        std::set<float> different;
        for (const auto bits : lode::kernels::random_elements<std::uint16_t>(format, 1000, 7)) {
            if (format.bytes == 1) continue;
            const float value = format.to_float(bits);
            CHECK(std::abs(value) >= 0.25F);
            CHECK(std::abs(value) < 1.0F);
            different.insert(value);
        }
        for (const auto bits : lode::kernels::random_elements<std::uint8_t>(format, 1000, 7)) {
            if (format.bytes == 2) continue;
            const float value = format.to_float(bits);
            CHECK(std::abs(value) >= 0.25F);
            CHECK(std::abs(value) < 1.0F);
            different.insert(value);
        }
        CHECK(different.size() >= (format.bytes == 1 ? 32 : 200));
    }
}
