// The progress line of the commands that compile: on a terminal, and nowhere else.
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode::test;

namespace {

/// Runs `lode` with a terminal as stderr and returns what it wrote there.
std::string on_terminal(std::vector<std::string> arguments, const std::string& cache) {
    const int ours = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(ours >= 0);
    REQUIRE(::grantpt(ours) == 0);
    REQUIRE(::unlockpt(ours) == 0);
    const std::string name = ::ptsname(ours);
    const pid_t child = ::fork();
    if (child == 0) {
        const int theirs = ::open(name.c_str(), O_RDWR | O_NOCTTY);
        const int nowhere = ::open("/dev/null", O_WRONLY);
        ::dup2(nowhere, STDOUT_FILENO);
        ::dup2(theirs, STDERR_FILENO);
        ::setenv("TERM", "xterm", 1);
        ::setenv("LODE_CACHE_DIR", cache.c_str(), 1);
        std::vector<char*> values{const_cast<char*>(LODE_COMMAND)};
        for (auto& argument : arguments)
            values.push_back(argument.data());
        values.push_back(nullptr);
        ::execv(LODE_COMMAND, values.data());
        ::_exit(127);
    }
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(ours, buffer, sizeof buffer)) > 0;)  // EIO at the end.
        text.append(buffer, static_cast<std::size_t>(got));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    ::close(ours);
    CHECK(WIFEXITED(status));
    return text;
}

}  // namespace

TEST_CASE("progress line: on a terminal, removed at the end and before other text; not in a file") {
    const auto folder = make_scratch();
    const auto source = put(folder.path() / "k.cu", "__global__ void k(int* x) { int y; *x = 1; }");
    const std::vector<std::string> arguments{
        "compile", source.string(), "--arch", "sm_80,sm_90", "-o", folder.path().string()};
    const std::string shown = on_terminal(arguments, folder.path() / "cache");
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
    const std::string again = on_terminal(arguments, folder.path() / "cache");
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
    const std::string shown = on_terminal({"warm", manifest.string()}, folder.path() / "cache");
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
