// The command with invalid environment variables, and on files that aren't regular.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

namespace {

using namespace lode::test;

struct Row {
    const char* name;
    const char* value;
    const char* allowed;
};

constexpr Row wrong[] = {
    {"LODE_CACHE", "maybe", "one of on, read-only, off"},
    {"LODE_CACHE_MAX_BYTES", "2GiX", "a number of bytes, such as 512MB, at least 1048576"},
    {"LODE_CACHE_MAX_BYTES", "5", "a number of bytes, such as 512MB, at least 1048576"},
    {"LODE_FORCE_PTX", "2", "one of 0, 1"},
    {"LODE_FORCE_PTX", "yes", "one of 0, 1"},
    {"LODE_JIT", "never", "one of allow, warn, forbid"},
    {"LODE_SYNC_LAUNCHES", "x", "one of 0, 1"},
};

}  // namespace

TEST_CASE("lode environment: a variable's wrong value is an error of every command that reads it") {
    const auto folder = make_scratch();
    const auto file = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const std::vector<std::string> lines[] = {
        {"compile", file, "--arch", "compute_90", "--out-dir", folder.path().string()},
        {"run", file, "saxpy", "--arch", "compute_90", "--cover", "4", "--", "2f", "f32[4]",
         "f32[4]", "4"},
        {"variants", "reduce"},
        {"cache", "why", file, "--arch", "sm_90"}};
    for (const auto& line : lines) {
        CAPTURE(line.front());
        for (const Row& row : wrong) {
            CAPTURE(row.name);
            const auto outcome = lode::test::lode(
                line, {{"LODE_DRIVER", LODE_SCRIPTED_DRIVER}, {row.name, row.value}});
            CHECK(outcome.exit_code == 2);
            CHECK_MESSAGE(outcome.err.starts_with("lode: " + std::string(row.name) + " is '" +
                                                  row.value + "'; it must be " + row.allowed + "."),
                          outcome.err);
            CHECK(lode::test::lode(line, {{"LODE_DRIVER", LODE_SCRIPTED_DRIVER},
                                          {"LODE_CACHE_DIR", folder.path().string()},
                                          {row.name, ""}})
                      .err.find(row.name) == std::string::npos);
        }
    }
}

TEST_CASE(
    "lode environment: a forced variant of an unknown family is reported with the known families") {
    const auto folder = make_scratch();
    const auto file = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const std::vector<std::string> lines[] = {{"run", file, "saxpy", "--arch", "compute_90",
                                               "--cover", "4", "--", "2f", "f32[4]", "f32[4]", "4"},
                                              {"variants", "reduce"}};
    for (const auto& line : lines) {
        CAPTURE(line.front());
        const auto with = [&](const char* forced) {
            return lode::test::lode(
                line, {{"LODE_DRIVER", LODE_SCRIPTED_DRIVER}, {"LODE_FORCE_VARIANT", forced}});
        };
        const auto unknown = with("reduce:shuffle,redcue:shuffle");
        CHECK(unknown.exit_code == 1);
        CHECK_MESSAGE(unknown.complains("There is no kernel family 'redcue'. The families are: "),
                      unknown.err);
        CHECK(unknown.complains("while reading LODE_FORCE_VARIANT"));
        const auto malformed = with("reduce");
        CHECK(malformed.exit_code == 2);
        CHECK_MESSAGE(malformed.complains("'reduce' doesn't name a kernel variant"), malformed.err);
    }
}

TEST_CASE("lode files: a pipe or a device is refused with a clear error wherever a file is named") {
    const auto folder = make_scratch();
    const auto fifo = (folder.path() / "f.cu").string();
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    const auto zero = (folder.path() / "z.cu").string();
    std::filesystem::create_symlink("/dev/zero", zero);
    const auto good = put(folder.path() / "good.cu", saxpy_source).string();
    for (const std::string& file : {fifo, zero}) {
        CAPTURE(file);
        const std::string kind = file == fifo ? "a pipe" : "a device";
        const std::string sentence =
            "'" + file + "' is " + kind + ", not a regular file, so lode doesn't read it.";
        const std::vector<std::string> lines[] = {
            {"compile", file, "--arch", "sm_90"},
            {"run", file, "saxpy", "--arch", "compute_90", "--cover", "1"},
            {"run", good, "saxpy", "--arch", "compute_90", "--cover", "1", "--", "2f",
             "f32[4]@" + file, "f32[4]", "4"},
            {"cache", "why", file, "--arch", "sm_90"},
            {"cache", "unpack", file}};
        for (const auto& line : lines) {
            CAPTURE(line.front());
            const auto outcome =
                lode::test::lode(line, {{"LODE_DRIVER", LODE_SCRIPTED_DRIVER},
                                        {"LODE_CACHE_DIR", (folder.path() / "cache").string()}});
            CHECK(outcome.exit_code == 1);
            CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
        }
        const auto packs = lode::test::lode(
            {"compile", good, "--arch", "compute_90", "--out-dir", folder.path().string()},
            {{"LODE_CACHE", "on"},
             {"LODE_CACHE_DIR", (folder.path() / "cache").string()},
             {"LODE_CACHE_PACKS", file}});
        CHECK(packs.exit_code == 0);
        CHECK_MESSAGE(packs.complains(sentence), packs.err);
    }
}
