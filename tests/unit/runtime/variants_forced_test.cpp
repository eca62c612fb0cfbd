// LODE_FORCE_VARIANT and the families that a process loads.
#include "tests/unit/runtime/support.hpp"

#include <lode/runtime/variants_loader.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

/// A family of one row that can't be loaded: the warnings come before that.
KernelFamily family_named(const std::string& name) {
    static constexpr EmbeddedFile files[] = {{"k.cu", "no code"}};
    KernelFamily family{name, {}, files};
    family.rows.push_back(
        {.name = "plain",
         .source = "k.cu",
         .kernel = "k",
         .needs = {.arch = require(Arch::parse("sm_75"))},
         .definitions = {},
         .shape = [](const Problem&, const VariantDeviceProperties&) { return LaunchShape{}; },
         .refuses = {},
         .caveat = {}});
    return family;
}

struct Loader {
    Loader()
        : loader(machine.runtime, machine.device(),
                 Log([this](LogLevel, std::string_view line) { lines.emplace_back(line); }),
                 TunedChoices(std::filesystem::path())) {}

    /// The log lines about the variable.
    [[nodiscard]] std::vector<std::string> load(const std::string& family) {
        lines.clear();
        const auto loaded = loader.load(family_named(family), {.strict = true});
        CHECK_FALSE(loaded.has_value());
        std::vector<std::string> about;
        for (const auto& line : lines) {
            if (contains(line, "LODE_FORCE_VARIANT")) about.push_back(line);
        }
        return about;
    }

    FakeMachine machine;
    std::vector<std::string> lines;
    VariantLoader loader;
};

}  // namespace

TEST_CASE("forced variants: a family that isn't loaded is reported once, with those that are") {
    ::setenv("LODE_FORCE_VARIANT", "redcue:plain,redcue:other,scna:plain", 1);
    Loader loader;
    const auto told = loader.load("reduce");
    REQUIRE(told.size() == 1);
    CHECK(told[0] ==
          "LODE_FORCE_VARIANT forces rows of: redcue, scna. None of these kernel families is "
          "loaded; loaded so far: reduce.");
    CHECK(loader.load("scan").empty());
    ::unsetenv("LODE_FORCE_VARIANT");
}

TEST_CASE("forced variants: nothing is reported if one of the families is loaded") {
    ::setenv("LODE_FORCE_VARIANT", "reduce:plain,theirs:plain", 1);
    Loader loader;
    CHECK(loader.load("reduce").empty());
    CHECK(loader.load("scan").empty());
    ::unsetenv("LODE_FORCE_VARIANT");
    CHECK(Loader().load("reduce").empty());
}

TEST_CASE("forced variants: an invalid value is an error of opening a runtime") {
    FakeDriver driver;
    ::setenv("LODE_FORCE_VARIANT", "reduce", 1);
    const auto error = require_error(Runtime::with_driver(require(driver.open())));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "'reduce' doesn't name a kernel variant: write family:row");
    CHECK_CONTAINS(error.message, "while reading LODE_FORCE_VARIANT");
    ::setenv("LODE_FORCE_VARIANT", "reduce:nothing", 1);
    Loader loader;
    CHECK(require_error(loader.loader.load(family_named("reduce"))).code == Errc::not_found);
    ::unsetenv("LODE_FORCE_VARIANT");
}

TEST_CASE(
    "forced variants: a wrong value of any closed variable is an error of opening a runtime") {
    for (const char* name : {"LODE_CACHE", "LODE_FORCE_PTX", "LODE_JIT", "LODE_SYNC_LAUNCHES"}) {
        FakeDriver driver;
        ::setenv(name, "x", 1);
        // Also if the host sets the option in code.
        const auto error =
            require_error(Runtime::with_driver(require(driver.open()), {.cache = CacheOptions{}}));
        CHECK(error.code == Errc::invalid_argument);
        CHECK_CONTAINS(error.message, std::string(name) + " is 'x'; it must be one of ");
        ::unsetenv(name);
    }
}
