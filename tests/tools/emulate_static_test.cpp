// `lode emulate`: programs and libraries that are linked with NVIDIA's static runtime library.
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;
namespace fs = std::filesystem;

constexpr const char* result = "3 6 9 12, 7\n";

struct StaticBench {
    [[nodiscard]] Outcome emulate(std::vector<std::string> command) const {
        command.insert(command.begin(), {"emulate", "--devices", "sm_90", "--"});
        return lode::test::lode(
            command,
            {{"TMPDIR", folder.path().string()}, {"LODE_DRIVER", ""}, {"LODE_EMULATOR_CHECK", ""}});
    }
    /// A copy that another program has changed.
    [[nodiscard]] std::string changed(const std::string& file, const std::string& change) const {
        const auto copy = (folder.path() / (fs::path(file).filename().string() + ".copy")).string();
        fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
        REQUIRE(std::system((change + " " + copy).c_str()) == 0);
        return copy;
    }

    lode::ScratchFolder folder = make_scratch();
};

}  // namespace

TEST_CASE("emulate: programs with the static runtime run, and so do their libraries") {
    const StaticBench bench;
    const auto runs = [&](const std::vector<std::string>& command) {
        const auto outcome = bench.emulate(command);
        CHECK_MESSAGE(outcome.out == result, outcome.err);
        CHECK(outcome.exit_code == 0);
        CHECK(outcome.complains("No findings in 1 process."));
    };
    runs({LODE_EMULATE_STATIC_CLIENT});
    runs({LODE_EMULATE_STATIC_FIXED_CLIENT});
    runs({LODE_EMULATE_STATIC_CLIENT, LODE_EMULATE_STATIC_LIBRARY});
}

TEST_CASE("emulate: the static runtime and the shared one in a process") {
    const StaticBench bench;
    const auto outcome =
        bench.emulate({LODE_EMULATE_STATIC_CLIENT, "both", LODE_EMULATE_SHARED_LIBRARY});
    CHECK_MESSAGE(outcome.out == std::string(result) + result, outcome.err);
    CHECK(outcome.exit_code == 0);
}

TEST_CASE("emulate: the static runtime is found in stripped files, or not at all") {
    const StaticBench bench;
    for (const std::string file : {LODE_EMULATE_STATIC_CLIENT, LODE_EMULATE_STATIC_FIXED_CLIENT}) {
        CAPTURE(file);
        const auto stripped = bench.changed(file, "strip");
        const auto outcome = bench.emulate({stripped});
        CHECK_MESSAGE(outcome.out == result, outcome.err);
        CHECK(outcome.complains("No findings in 1 process."));
    }
    const auto library = bench.changed(LODE_EMULATE_STATIC_LIBRARY, "strip");
    CHECK(bench.emulate({LODE_EMULATE_STATIC_CLIENT, library}).out == result);

    // Another version in the runtime's code: it is another release.
    const auto other = bench.changed(LODE_EMULATE_STATIC_CLIENT, "strip");
    std::string content = lode::read_text(other).value();
    const auto is_version = [&](std::size_t at) {
        const auto byte = [&](std::size_t i) {
            return static_cast<unsigned char>(content[at + i]);
        };
        const unsigned number = byte(2) | byte(3) << 8U;
        return byte(4) == 0 && byte(5) == 0 && number >= 12000 && number < 20000 &&
               number % 10 == 0;
    };
    std::size_t changes = 0;
    for (std::size_t at = 0; at + 6 < content.size(); ++at) {
        if (content.compare(at, 2, "\xc7\x07") != 0 || !is_version(at)) continue;
        content[at + 2] ^= 1;
        ++changes;
    }
    REQUIRE(changes > 0);
    REQUIRE(put(other, content) == other);
    const auto outcome = bench.emulate({other});
    CHECK(outcome.out.starts_with("fails: "));
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("linked statically into the program,"));
}

TEST_CASE("emulate: a function of the static runtime that the stand-in lacks is named") {
    const StaticBench bench;
    const auto outcome = bench.emulate({LODE_EMULATE_STATIC_CLIENT, "lacking"});
    CHECK(outcome.out == "0, 801\n");
    CHECK(outcome.complains("doesn't support __cudaGetProcAddress"));
}
