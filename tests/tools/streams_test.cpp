// The command with standard streams that are closed, full, or a pipe without a reader. The exit
// code is that of the work, except that an answer which can't be written to stdout is a failure,
// and a broken pipe on stdout ends the command with SIGPIPE.
#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <algorithm>
#include <csignal>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

constexpr Stream broken[] = {Stream::closed, Stream::full, Stream::broken_pipe};

struct Line {
    std::vector<std::string> arguments;
    int exit_code;
};

/// A folder for the command lines' files; each line runs with its own cache.
class Lines {
public:
    /// Lines that fail, for every command, and lines with bad usage.
    [[nodiscard]] std::vector<Line> failing() const {
        return {{{"compile", "/nonexistent/a.cu", "--arch", "sm_90"}, 1},
                {{"compile", broken_.string(), "--arch", "sm_90"}, 1},
                {{"compile", broken_.string()}, 2},
                {{"run", "/nonexistent/a.cu", "k", "--grid", "1"}, 1},
                {{"run", broken_.string(), "k"}, 2},
                {{"run", broken_.string(), "k", "--grid", "1", "--", "x"}, 2},
                {{"variants"}, 1},
                {{"variants", "nothing"}, 2},
                {{"variants", "--cc", "x"}, 2},
                {{"cache", "stats", "--folder", "/proc/nonexistent"}, 1},
                {{"cache", "show", "0123"}, 1},
                {{"cache", "why", "/nonexistent/a.cu", "--arch", "sm_90"}, 1},
                {{"cache"}, 2},
                {{"info", "--nothing"}, 2},
                {{"nothing"}, 2},
                {{}, 2}};
    }
    /// Lines that succeed, for every command.
    [[nodiscard]] std::vector<Line> succeeding() const {
        return {{{"info"}, 0},
                {{"compile", good_.string(), "--arch", "compute_90", "--out-dir",
                  folder_.path().string()},
                 0},
                {{"variants", "reduce", "--cc", "9.0"}, 0},
                {{"variants", "--choices"}, 0},
                {{"cache", "stats"}, 0},
                {{"cache", "why", good_.string(), "--arch", "sm_90"}, 0},
                {{"completion", "bash"}, 0},
                {{"help", "emulate"}, 0},
                {{"--help"}, 0},
                {{"compile", "--help"}, 0},
                {{"--version"}, 0}};
    }
    [[nodiscard]] Outcome run(const Line& line, bool json, Streams streams) const {
        auto arguments = line.arguments;
        if (json && !arguments.empty()) {
            arguments.insert(std::ranges::find(arguments, std::string("--")), "--json");
        }
        Environment environment = no_driver;
        environment["LODE_CACHE"] = "on";
        environment["LODE_CACHE_DIR"] = (folder_.path() / "cache").string();
        return lode::test::lode(arguments, environment, streams);
    }

private:
    lode::ScratchFolder folder_ = make_scratch();
    std::filesystem::path broken_ = put(folder_.path() / "broken.cu", broken_source);
    std::filesystem::path good_ = put(folder_.path() / "good.cu", saxpy_source);
};

std::string name_of(const Line& line) {
    std::string name = "lode";
    for (const auto& argument : line.arguments)
        name += " " + argument;
    return name;
}

}  // namespace

TEST_CASE("streams: a failing command exits as it should whatever its streams are") {
    const Lines lines;
    for (const auto& line : lines.failing()) {
        for (const bool json : {false, true}) {
            for (const Stream stream : broken) {
                CAPTURE(name_of(line));
                CAPTURE(json);
                CAPTURE(static_cast<int>(stream));
                CHECK(lines.run(line, json, {.err = stream}).exit_code == line.exit_code);
                CHECK(lines.run(line, json, {.out = stream}).exit_code == line.exit_code);
                CHECK(lines.run(line, json, {stream, stream}).exit_code == line.exit_code);
            }
        }
    }
}

TEST_CASE("streams: output that can't be written is a failure, reported once") {
    const Lines lines;
    for (const auto& line : lines.succeeding()) {
        REQUIRE_MESSAGE(lines.run(line, false, {}).exit_code == 0, name_of(line));
        for (const bool json : {false, true}) {
            for (const Stream stream : {Stream::closed, Stream::full}) {
                CAPTURE(name_of(line));
                CAPTURE(json);
                CAPTURE(static_cast<int>(stream));
                const auto outcome = lines.run(line, json, {.out = stream});
                CHECK(outcome.exit_code == 1);
                CHECK(outcome.complains("lode: The output can't be written to stdout: "));
                CHECK_MESSAGE(lines_of(outcome.err) == 1, outcome.err);
                CHECK(lines.run(line, json, {stream, stream}).exit_code == 1);
            }
            CHECK(lines.run(line, json, {.err = Stream::closed}).exit_code == 0);
            CHECK(lines.run(line, json, {.err = Stream::full}).exit_code == 0);
            CHECK(lines.run(line, json, {.err = Stream::broken_pipe}).exit_code == 0);
        }
    }
}

TEST_CASE("streams: a closed pipe ends the command silently by SIGPIPE") {
    const Lines lines;
    for (const auto& line : lines.succeeding()) {
        for (const bool json : {false, true}) {
            CAPTURE(name_of(line));
            CAPTURE(json);
            const auto outcome = lines.run(line, json, {.out = Stream::broken_pipe});
            CHECK(outcome.signal == SIGPIPE);
            CHECK_MESSAGE(outcome.err.empty(), outcome.err);
        }
    }
}

TEST_CASE("streams: output for a closed stderr isn't written to a file that has its descriptor") {
    const auto folder = make_scratch();
    const auto source = put(folder.path() / "warned.cu", "__global__ void k() { int unused; }");
    Environment environment = no_driver;
    environment["LODE_CACHE"] = "on";
    environment["LODE_CACHE_DIR"] = (folder.path() / "cache").string();
    const std::vector<std::string> compile = {
        "compile", source.string(), "--arch", "compute_90", "--out-dir", folder.path().string()};
    CHECK(lode::test::lode(compile, environment, {.err = Stream::closed}).exit_code == 0);
    CHECK(lode::test::lode({"cache", "verify"}, environment).exit_code == 0);
    CHECK(lode::test::lode(compile, environment).says("hit (disk)"));
}
