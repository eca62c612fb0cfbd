#include "tests/support/variable.hpp"
#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/runtime/runtime.hpp>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

using namespace lode;
using lode::emulator_test::require;
using lode::test::Variable;

namespace {

const std::filesystem::path library = LODE_EMULATOR_LIBRARY;

}  // namespace

TEST_CASE("emulator search: LODE_EMULATOR names the library or its folder") {
    const Variable driver("LODE_DRIVER", nullptr);
    const Variable devices("LODE_EMULATOR_DEVICES", nullptr);
    lode::emulator_test::reset();
    for (const std::filesystem::path& path : {library, library.parent_path()}) {
        const Variable emulator("LODE_EMULATOR", path.c_str());
        const Driver opened = require(Driver::open({.emulator = true}));
        CHECK(opened.is_emulator());
        CHECK(opened.origin() == std::filesystem::canonical(library));
        CHECK(opened.version() == 13050);
        CHECK(opened.device_count() == 1);
        CHECK(opened.missing_entry_points().empty());
    }
}

TEST_CASE("emulator search: a program in the build tree finds it by itself") {
    const Variable driver("LODE_DRIVER", "emulator");
    const Variable emulator("LODE_EMULATOR", nullptr);
    CHECK(require(Driver::open()).is_emulator());
}

TEST_CASE("emulator search: it is never selected silently") {
    const Variable driver("LODE_DRIVER", "/nonexistent/libcuda.so.1");
    const Variable emulator("LODE_EMULATOR", library.c_str());
    const auto opened = Driver::open();
    REQUIRE(!opened);
    CHECK(opened.error().code == Errc::driver_missing);
    CHECK(opened.error().message.find("liblode_emulator") == std::string::npos);
}

TEST_CASE("emulator search: the error lists the places searched") {
    const Variable driver("LODE_DRIVER", nullptr);
    const Variable emulator("LODE_EMULATOR", "/nonexistent/emulator.so");
    const auto opened = Driver::open({.emulator = true});
    REQUIRE(!opened);
    CHECK(opened.error().code == Errc::driver_missing);
    CHECK(opened.error().message.find("/nonexistent/emulator.so (LODE_EMULATOR)") !=
          std::string::npos);
}

TEST_CASE("emulator search: LODE_EMULATOR_DEVICES selects the runtime's devices") {
    const Variable devices("LODE_EMULATOR_DEVICES", "sm_75,sm_90,sm_120");
    lode::emulator_test::reset();
    const Runtime runtime = require(Runtime::open({.driver = {.library = library}}));
    CHECK(runtime.driver().is_emulator());
    REQUIRE(runtime.device_count() == 3);
    const Device last = require(runtime.device(2));
    CHECK(last.name() == "lode emulator (CPU) sm_120");
    CHECK(last.cc() == ComputeCapability(12, 0));
}
