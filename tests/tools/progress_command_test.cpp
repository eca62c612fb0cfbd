// The progress line of the commands that compile: on a terminal, and nowhere else.
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode::test;

TEST_CASE("progress line: on a terminal, not in a file, removed at the end and before other text") {
    const auto folder = make_scratch();
    const auto source = put(folder.path() / "k.cu", "__global__ void k(int* x) { int y; *x = 1; }");
    const std::vector<std::string> arguments{
        "compile", source.string(), "--arch", "sm_80,sm_90", "--out-dir", folder.path().string()};
    const std::string shown = on_terminal(arguments, {{"LODE_CACHE_DIR", folder.path() / "cache"}});
    CHECK_CONTAINS(shown, "/2] ");
    CHECK_CONTAINS(shown, "k.cu for sm_80: compiling");
    CHECK_CONTAINS(shown, "\r\033[K");
    // The compiler's warning starts on an empty line.
    const auto warning = shown.find("warning");
    REQUIRE(warning != std::string::npos);
    const auto line = shown.rfind('\n', warning);
    const auto cleared = shown.rfind("\033[K", warning);
    REQUIRE(cleared != std::string::npos);
    CHECK((line == std::string::npos || line < cleared));
    const std::string again = on_terminal(arguments, {{"LODE_CACHE_DIR", folder.path() / "cache"}});
    CHECK_CONTAINS(again, "[2/2]");

    const auto quiet = ::lode::test::lode(
        arguments, {{"LODE_CACHE_DIR", (folder.path() / "other").string()}, {"TERM", "xterm"}});
    CHECK(quiet.exit_code == 0);
    CHECK(quiet.err.find("/2]") == std::string::npos);
    CHECK(quiet.err.find('\r') == std::string::npos);
}

TEST_CASE("progress line: lode warm shows how many of its compilations have ended") {
    const auto folder = make_scratch();
    put(folder.path() / "k.cu", "__global__ void k(int* x) { *x = 1; }");
    const auto manifest =
        put(folder.path() / "app.json",
            R"({"manifest": 1, "requests": [{"file": "k.cu", "arch": ["sm_80", "sm_90"]}]})");
    const char* const before = std::getenv("LODE_CACHE");
    const std::string mode = before == nullptr ? "" : before;
    ::setenv("LODE_CACHE", "on", 1);
    const std::string shown =
        on_terminal({"warm", manifest.string()}, {{"LODE_CACHE_DIR", folder.path() / "cache"}});
    CHECK_CONTAINS(shown, "/2] ");
    CHECK_CONTAINS(shown, "k.cu for sm_");
    CHECK_CONTAINS(shown, ": compiling, ");
    CHECK_CONTAINS(shown, "\r\033[K");
    const auto quiet =
        ::lode::test::lode({"warm", manifest.string()},
                           {{"LODE_CACHE_DIR", (folder.path() / "b").string()}, {"TERM", "xterm"}});
    ::setenv("LODE_CACHE", mode.c_str(), 1);  // An empty variable counts as unset.
    CHECK(quiet.exit_code == 0);
    CHECK(quiet.err.empty());
}
