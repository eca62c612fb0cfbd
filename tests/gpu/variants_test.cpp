// Forces every row of every family that the device can run, and checks it against the host's
// references.
#include "base/file.hpp"
#include "lode_kernels/families.hpp"
#include "tests/support/scratch_folder.hpp"

#include <lode/runtime/runtime.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <string>

#include <doctest/doctest.h>

using lode::kernels::FamilyEntry;

namespace {

/// A loader on the first device; nullopt, with the reason, if there is none.
std::optional<lode::VariantLoader> make_loader(
    lode::TunedChoices choices = lode::TunedChoices(std::filesystem::path())) {
    const auto runtime = lode::Runtime::open();
    if (!runtime) {
        MESSAGE("skipped: " << runtime.error().message);
        return std::nullopt;
    }
    const auto device = runtime->device(0);
    if (!device) {
        MESSAGE("skipped: " << device.error().message);
        return std::nullopt;
    }
    const lode::Log log([](lode::LogLevel, std::string_view line) { MESSAGE(std::string(line)); });
    return lode::VariantLoader(*runtime, *device, log, std::move(choices));
}

std::string text_of(const lode::Problem& problem) {
    return std::to_string(problem.x) + " x " + std::to_string(problem.y) + " x " +
           std::to_string(problem.z);
}

/// Runs one row on one problem twice; the second run finds what the first one left behind. The
/// software device, which takes minutes for all rows, runs it once. False if that reports that it
/// doesn't run such code.
bool check_row(const lode::VariantLoader& loader, const FamilyEntry& entry,
               const lode::VariantRow& row, const lode::Problem& problem, std::uint64_t seed,
               bool is_emulated) {
    const std::string what = entry.family.name + ":" + row.name + " on " + text_of(problem) +
                             ", seed " + std::to_string(seed);
    CAPTURE(what);
    const auto variant = loader.load(entry.family, {.problem = problem, .forced = row.name});
    if (!variant && variant.error().code == lode::Errc::not_supported && is_emulated) {
        CHECK(variant.error().message.find("The software device doesn't run ") !=
              std::string::npos);
        MESSAGE("leaves out " << what << ": " << variant.error().message);
        return false;
    }
    if (!variant) FAIL(what << ": " << variant.error().describe());
    const auto workload = entry.make(loader.device(), problem, seed);
    if (!workload) FAIL(what << ": " << workload.error().describe());
    const auto stream = loader.device().create_stream();
    REQUIRE(stream);
    for (int run = 0; run < (is_emulated ? 1 : 2); ++run) {
        CAPTURE(run);
        const auto poisoned = (*workload)->poison();
        if (!poisoned) FAIL(what << ": " << poisoned.error().describe());
        const auto launched = (*workload)->launch(*variant, *stream);
        if (!launched) FAIL(what << ": " << launched.error().describe());
        const auto done = stream->sync();
        if (!done) FAIL(what << ": " << done.error().describe());
        const auto checked = (*workload)->check();
        if (!checked) FAIL(what << ": " << checked.error().message);
    }
    return true;
}

void check_family_on_device(const std::string& name) {
    const auto loader = make_loader();
    if (!loader) return;
    const auto* const entry = lode::kernels::find(name);
    REQUIRE(entry != nullptr);
    const bool is_emulated = lode::Runtime::open()->driver().is_emulator();
    std::random_device entropy;
    std::size_t ran = 0;
    for (const auto& row : entry->family.rows) {
        if (!row.caveat.empty()) {
            MESSAGE("leaves out " << name << ":" << row.name << ": " << row.caveat);
            continue;
        }
        for (const auto& problem : entry->test_problems) {
            if (is_emulated && !lode::kernels::is_small(*entry, problem)) continue;
            const auto why = lode::refusal_of(row, loader->device_properties(), problem);
            if (why) {
                MESSAGE("leaves out " << name << ":" << row.name << " on " << text_of(problem)
                                      << ": " << *why);
                continue;
            }
            if (!check_row(*loader, *entry, row, problem, entropy(), is_emulated)) break;
            ++ran;
        }
    }
    CHECK(ran > 0);
}

}  // namespace

TEST_CASE("gpu variants: gemm") {
    for (const char* family : {"gemm", "gemm_nn", "gemm_tn", "gemm_tt"})
        check_family_on_device(family);
}
TEST_CASE("gpu variants: gemm_bf16") {
    for (const char* family : {"gemm_bf16", "gemm_bf16_nn", "gemm_bf16_tn", "gemm_bf16_tt"})
        check_family_on_device(family);
}
TEST_CASE("gpu variants: gemm_bf16 with an epilogue") {
    check_family_on_device("gemm_bf16_relu");
    check_family_on_device("gemm_bf16_silu");
}
TEST_CASE("gpu variants: gemm_fp8") {
    check_family_on_device("gemm_fp8");
}
TEST_CASE("gpu variants: histogram") {
    check_family_on_device("histogram");
}
TEST_CASE("gpu variants: layer_norm") {
    check_family_on_device("layer_norm");
}
TEST_CASE("gpu variants: partition, of integers and floats") {
    for (const char* name : {"partition", "partition_float", "partition_int64"})
        check_family_on_device(name);
}
TEST_CASE("gpu variants: reduce, of integers and floats") {
    for (const char* name : {"reduce", "reduce_float", "reduce_int64"})
        check_family_on_device(name);
}
TEST_CASE("gpu variants: scan, of integers and floats") {
    for (const char* name : {"scan", "scan_float", "scan_int64"})
        check_family_on_device(name);
}
TEST_CASE("gpu variants: select, of integers and floats") {
    for (const char* name : {"select", "select_float", "select_int64"})
        check_family_on_device(name);
}
TEST_CASE("gpu variants: softmax") {
    check_family_on_device("softmax");
}
TEST_CASE("gpu variants: sort, of integers and floats") {
    for (const char* name : {"sort", "sort_float", "sort_int64"})
        check_family_on_device(name);
}
TEST_CASE("gpu variants: sort_pairs") {
    check_family_on_device("sort_pairs");
}
TEST_CASE("gpu variants: transpose") {
    check_family_on_device("transpose");
}
TEST_CASE("gpu variants: vector") {
    check_family_on_device("vector");
}

TEST_CASE("gpu variants: the check against the reference fails for a kernel that hasn't run") {
    const auto loader = make_loader();
    if (!loader) return;
    for (const auto& entry : lode::kernels::all()) {
        CAPTURE(entry.family.name);
        const auto workload = entry.make(loader->device(), entry.test_problems.back(), 1);
        REQUIRE(workload);
        REQUIRE((*workload)->poison());
        CHECK_FALSE((*workload)->check());
    }
}

TEST_CASE("gpu variants: tuning measures the eligible rows and keeps the winner") {
    const auto scratch = *lode::ScratchFolder::create();
    const auto loader = make_loader(lode::TunedChoices(scratch.path()));
    if (!loader) return;
    const auto& entry = *lode::kernels::find("transpose");
    const lode::Problem problem{2048, 2048};
    const auto workload = entry.make(loader->device(), problem, 1);
    REQUIRE(workload);
    const lode::TuneOptions options{.variant = {.problem = problem, .problem_class = "square"},
                                    .rounds = 5};
    const auto report = loader->tune(
        entry.family, options, [&](const lode::LoadedVariant& variant, lode::StreamRef stream) {
            return (*workload)->launch(variant, stream);
        });
    if (!report) FAIL(report.error().describe());
    CHECK(report->kept);
    for (const auto& row : report->rows) {
        CAPTURE(row.name);
        CHECK(row.problem.empty());
        CHECK(row.milliseconds > 0);
        MESSAGE(row.name << ": " << row.milliseconds << " ms");
    }
    const auto tuned = loader->load(entry.family, {.problem = problem, .problem_class = "square"});
    REQUIRE(tuned);
    CHECK(tuned->row.name == report->choice.row);
    CHECK(loader->counters().tuned == 1);
}

TEST_CASE("gpu variants: a row that doesn't compile falls back to the next, unless strict") {
    const auto loader = make_loader();
    if (!loader) return;
    constexpr lode::EmbeddedFile files[] = {
        {"broken.cu", "extern \"C\" __global__ void store(int* to) { *to = nonsense; }"},
        {"store.cu", "extern \"C\" __global__ void store(int* to) { *to = 1; }"}};
    lode::KernelFamily family{"store", {}, files};
    for (const char* name : {"broken", "portable"}) {
        lode::VariantRow row;
        row.name = name;
        row.source = row.name == "broken" ? "broken.cu" : "store.cu";
        row.kernel = "store";
        row.needs.arch = *lode::Arch::parse("sm_75");
        row.shape = [](const lode::Problem&, const lode::VariantDeviceProperties&) {
            return lode::LaunchShape{};
        };
        family.rows.push_back(std::move(row));
    }
    const auto variant = loader->load(family);
    if (!variant) FAIL(variant.error().describe());
    CHECK(variant->row.name == "portable");
    CHECK(loader->counters().fallbacks == 1);
    CHECK(variant->describe().find("refuses broken: it fails to load") != std::string::npos);
    const auto strict = loader->load(family, {.strict = true});
    REQUIRE_FALSE(strict);
    CHECK(strict.error().code == lode::Errc::compile_failed);
}
