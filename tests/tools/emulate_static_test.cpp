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

/// Changes the version in the runtime's code of a file, so that it is of no known release.
std::string another_release(const std::string& file) {
    std::string content = lode::read_text(file).value();
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
    REQUIRE(put(file, content) == file);
    return file;
}

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

TEST_CASE("emulate: each object with the static runtime has a last error of its own") {
    const StaticBench bench;
    const auto outcome =
        bench.emulate({LODE_EMULATE_STATIC_CLIENT, "error", LODE_EMULATE_STATIC_LIBRARY});
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

    const auto other = another_release(bench.changed(LODE_EMULATE_STATIC_CLIENT, "strip"));
    const auto outcome = bench.emulate({other});
    CHECK(outcome.out.starts_with("fails: "));
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("linked statically into the program,"));
    CHECK(outcome.complains("Don't strip the program, or build it"));

    const auto packaged = (bench.folder.path() / "site-packages/library.so").string();
    fs::create_directory(bench.folder.path() / "site-packages");
    fs::copy_file(another_release(library), packaged);
    const auto package = bench.emulate({LODE_EMULATE_STATIC_CLIENT, packaged});
    CHECK(package.exit_code == 1);
    CHECK(package.complains("This Python package can't run here, unless it is built anew"));
}

TEST_CASE("emulate: the static runtime is found by the names of CUDA 12.3 and before") {
    const StaticBench bench;
    // A byte of a function that is replaced makes it another release than those of the table.
    const auto other = bench.changed(LODE_EMULATE_STATIC_CLIENT,
                                     R"(sh -c 'set -e
           place=$(nm $0 | sed -n "s/ [tT] cudaMallocPitch$//p")
           printf "\314" | dd of=$0 bs=1 seek=$((0x$place + 20)) conv=notrunc 2> /dev/null
           nm $0 | sed -n "s/.* \(libcudart_static_[0-9a-f]*\)$/\1/p" | sort -u |
               sed "=" | sed "N;s/\(.*\)\n\(.*\)/\2 __cudart\1/" > $0.names
           objcopy --redefine-syms=$0.names $0')");
    const auto outcome = bench.emulate({other});
    CHECK_MESSAGE(outcome.out == result, outcome.err);
    CHECK(outcome.complains("No findings in 1 process."));
    CHECK(bench.emulate({bench.changed(other, "strip")}).exit_code == 1);
}

TEST_CASE("emulate: a function of the static runtime that the stand-in lacks is named") {
    const StaticBench bench;
    const auto outcome = bench.emulate({LODE_EMULATE_STATIC_CLIENT, "lacking"});
    CHECK(outcome.out == "0, 801\n");
    CHECK(outcome.complains("doesn't support __cudaGetProcAddress"));
}
