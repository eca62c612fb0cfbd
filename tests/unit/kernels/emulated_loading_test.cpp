// Loading rows on the software device: rows that fail to load, helpers, a user's definitions,
// forced rows.
#include "lode_kernels/families.hpp"
#include "tests/unit/kernels/emulated_machine.hpp"

#include <lode/runtime/variants_loader.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::Errc;
using lode::Problem;
using lode::test::Machine;

namespace {

/// A family whose first row has an instruction that the emulator doesn't run.
lode::KernelFamily family_with_refused_row() {
    static constexpr lode::EmbeddedFile files[] = {
        {"samples.cu",
         "extern \"C\" __global__ void store(int* to) { asm volatile(\"tex.2dms.v4.s32.s32 {%0, "
         "%1, "
         "%2, %3}, [%4, {0, 0, 0, 0}];\" : \"=r\"(to[0]), \"=r\"(to[1]), \"=r\"(to[2]), "
         "\"=r\"(to[3]) : \"l\"(0ull)); }"},
        {"store.cu", "extern \"C\" __global__ void store(int* to) { *to = 1; }"}};
    lode::KernelFamily family{"store", {}, files};
    for (const char* name : {"samples", "portable"}) {
        lode::VariantRow row;
        row.name = name;
        row.source = row.name == "samples" ? "samples.cu" : "store.cu";
        row.kernel = "store";
        row.needs.arch = *lode::Arch::parse("sm_75");
        row.shape = [](const Problem&, const lode::VariantDeviceProperties&) {
            return lode::LaunchShape{};
        };
        family.rows.push_back(std::move(row));
    }
    return family;
}

}  // namespace

TEST_CASE(
    "emulated kernels: each row that doesn't load is logged, counted and followed by the next") {
    const Machine machine("sm_80");
    if (!machine.compiles) return;
    const auto variant = machine.loader->load(family_with_refused_row());
    if (!variant) FAIL(variant.error().describe());
    CHECK(variant->row.name == "portable");
    CHECK(machine.loader->counters().fallbacks == 1);
    CHECK(machine.loader->counters().loads == 1);
    std::vector<std::string> warnings;
    for (const auto& line : machine.lines) {
        if (line.find("skips row") != std::string::npos) warnings.push_back(line);
    }
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("warning: Kernel family 'store' skips row 'samples', which fails to "
                           "load: ") == 0);
    CHECK(warnings[0].find('\n') == std::string::npos);
    CHECK(variant->describe().find("refuses samples: it fails to load: ") != std::string::npos);
}

TEST_CASE("emulated kernels: with strict, a row that doesn't load is an error") {
    const Machine machine("sm_80");
    if (!machine.compiles) return;
    const auto strict = machine.loader->load(family_with_refused_row(), {.strict = true});
    REQUIRE_FALSE(strict);
    CHECK(strict.error().message.find("loading row 'samples' of kernel family 'store'") !=
          std::string::npos);
    CHECK(machine.loader->counters().fallbacks == 0);
    CHECK(machine.loader->counters().loads == 0);
}

TEST_CASE("emulated kernels: a row that doesn't compile is followed by the next, unless strict") {
    const Machine machine("sm_80");
    if (!machine.compiles) return;
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
        row.shape = [](const Problem&, const lode::VariantDeviceProperties&) {
            return lode::LaunchShape{};
        };
        family.rows.push_back(std::move(row));
    }
    const auto variant = machine.loader->load(family);
    if (!variant) FAIL(variant.error().describe());
    CHECK(variant->row.name == "portable");
    CHECK(machine.loader->counters().fallbacks == 1);
    const auto strict = machine.loader->load(family, {.strict = true});
    REQUIRE_FALSE(strict);
    CHECK(strict.error().code == Errc::compile_failed);
    CHECK(strict.error().log.find("nonsense") != std::string::npos);
}

TEST_CASE("emulated kernels: a row's helpers are loaded, and a missing one is a failure to load") {
    const Machine machine("sm_80");
    if (!machine.compiles) return;
    constexpr lode::EmbeddedFile files[] = {
        {"two.cu",
         "extern \"C\" __global__ void set(int* to) { *to = 20; }\n"
         "extern \"C\" __global__ void add(int* to) { *to += 1; }\n"}};
    lode::KernelFamily family{"two", {}, files};
    for (const char* helper : {"subtract", "set"}) {
        lode::VariantRow row;
        row.name = helper;
        row.source = "two.cu";
        row.kernel = "add";
        row.helpers = {helper};
        row.needs.arch = *lode::Arch::parse("sm_75");
        row.shape = [](const Problem&, const lode::VariantDeviceProperties&) {
            return lode::LaunchShape{};
        };
        family.rows.push_back(std::move(row));
    }
    const auto variant = machine.loader->load(family);
    if (!variant) FAIL(variant.error().describe());
    CHECK(variant->row.name == "set");
    CHECK(machine.loader->counters().fallbacks == 1);
    const auto forced = machine.loader->load(family, {.forced = "subtract"});
    REQUIRE_FALSE(forced);
    CHECK(forced.error().message.find("subtract") != std::string::npos);

    REQUIRE(variant->helpers.size() == 1);
    CHECK(variant->helpers[0].name() == "set");
    const auto stream = machine.loader->device().create_stream();
    REQUIRE(stream);
    const auto to = machine.loader->device().upload(std::vector<int>(1));
    REQUIRE(to);
    int* address = to->data();
    void* arguments[] = {&address};
    REQUIRE(variant->helpers[0].launch(*stream, variant->shape({}), arguments));
    REQUIRE(variant->kernel.launch(*stream, variant->shape({}), arguments));
    REQUIRE(stream->sync());
    CHECK(to->to_vector().value()[0] == 21);
}

TEST_CASE("emulated kernels: a user's predicate is compiled into every row of the selection") {
    const Machine machine("sm_90");
    if (!machine.compiles) return;
    const auto& family = lode::kernels::find("select")->family;
    const auto& device = machine.loader->device();
    constexpr int n = 5000;
    std::vector<int> values(n);
    std::vector<int> wanted;
    for (int i = 0; i < n; ++i) {
        values[static_cast<std::size_t>(i)] = i - n / 2;
        if ((i - n / 2) % 3 == 0) wanted.push_back(i - n / 2);
    }
    for (const auto& row : family.rows) {
        CAPTURE(row.name);
        lode::VariantOptions options{.problem = Problem{n}, .forced = row.name};
        options.compile.definitions = {{"SELECT_PREDICATE", "x % 3 == 0"}};
        const auto variant = machine.loader->load(family, options);
        if (!variant) FAIL(variant.error().describe());
        const auto from = device.upload(values);
        const auto to = device.upload(std::vector<int>(n));
        const auto count = device.upload(std::vector<unsigned>(1));
        const auto state = device.upload(std::vector<unsigned long long>(n));
        const auto stream = device.create_stream();
        REQUIRE(stream);
        const int* from_address = from->data();
        int* to_address = to->data();
        unsigned* count_address = count->data();
        unsigned long long* state_address = state->data();
        unsigned long long size = n;
        void* arguments[] = {&from_address, &to_address, &count_address, &state_address, &size};
        REQUIRE(variant->kernel.launch(*stream, variant->shape({n}), arguments));
        REQUIRE(stream->sync());
        CHECK(count->to_vector().value()[0] == wanted.size());
        auto selected = to->to_vector().value();
        selected.resize(wanted.size());
        CHECK(selected == wanted);
    }
}

TEST_CASE("emulated kernels: a forced row that was only compiled says so when it is loaded") {
    Machine machine("sm_80");
    if (!machine.compiles) return;
    lode::KernelFamily family = lode::kernels::find("reduce")->family;
    lode::VariantRow untried = family.rows.back();
    untried.name = "untried";
    untried.caveat = "it has only been compiled";
    family.rows.insert(family.rows.begin(), std::move(untried));
    const auto usual = machine.loader->load(family);
    REQUIRE(usual);
    CHECK(usual->row.name == "redux");
    CHECK(machine.lines.empty());
    const auto forced = machine.loader->load(family, {.forced = "untried"});
    REQUIRE(forced);
    CHECK(forced->describe().find("although it has only been compiled") != std::string::npos);
    REQUIRE(machine.lines.size() == 1);
    CHECK(machine.lines[0] ==
          "warning: Kernel family 'reduce' takes row 'untried' because it is "
          "forced: it has only been compiled");
}

TEST_CASE("emulated kernels: LODE_FORCE_VARIANT is read at load, and an option overrides it") {
    const Machine machine("sm_80");
    if (!machine.compiles) return;
    const auto& family = lode::kernels::find("reduce")->family;
    ::setenv("LODE_FORCE_VARIANT", "gemm:tiled,reduce:shuffle", 1);
    CHECK(machine.loader->load(family)->row.name == "shuffle");
    CHECK(machine.loader->load(family, {.forced = "redux"})->row.name == "redux");
    ::setenv("LODE_FORCE_VARIANT", "reduce:shufle", 1);
    const auto unknown = machine.loader->load(family);
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code == Errc::not_found);
    CHECK(unknown.error().message.find("Its rows are: redux, cluster, shuffle.") !=
          std::string::npos);
    ::setenv("LODE_FORCE_VARIANT", "reduce", 1);
    const auto unreadable = machine.loader->load(family);
    REQUIRE_FALSE(unreadable);
    CHECK(unreadable.error().code == Errc::invalid_argument);
    CHECK(unreadable.error().message.find("while reading LODE_FORCE_VARIANT") != std::string::npos);
    ::unsetenv("LODE_FORCE_VARIANT");
    CHECK(machine.loader->load(family)->row.name == "redux");
}
