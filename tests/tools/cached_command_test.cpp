// `lode cached`: which programs it reaches, what it says, and what it does where there is no cache.
// tests/cached compares what programs get with what NVRTC gives.
#include "base/file.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;
namespace fs = std::filesystem;

/// NVIDIA's NVRTC, as lode finds it.
std::string nvrtc_for_cached() {
    static const std::string found =
        lode::test::lode({"info", "--json"}, no_driver).json()["compiler"]["library"];
    return found;
}

struct CachedBench {
    /// The report of a compilation inside; its output goes to `out`.
    nlohmann::json inside(const Environment& more = {},
                          const std::string& options = "-arch=sm_90") {
        const auto report = folder.path() / "report.json";
        const auto outcome = lode::test::lode({"cached", "--json=" + report.string(), "--", "sh",
                                               "-c", compile(nvrtc_for_cached(), options)},
                                              variables(more));
        out = outcome.out;
        return nlohmann::json::parse(lode::read_text(report).value_or(""), nullptr, false);
    }
    [[nodiscard]] Environment variables(Environment more) const {
        more.insert({{"LODE_CACHE_DIR", (folder.path() / "cache").string()},
                     {"LODE_CACHE", "on"},
                     {"TMPDIR", temporary.string()}});
        return more;
    }
    [[nodiscard]] static std::string compile(const std::string& library,
                                             const std::string& options) {
        return std::string(LODE_EMULATE_NVRTC_CLIENT) + " " + library + " " + options;
    }
    /// What the program says outside.
    [[nodiscard]] std::string outside(const std::string& line) const {
        const auto file = (folder.path() / "out").string();
        (void)std::system((line + " >" + file).c_str());
        return lode::read_text(file).value();
    }

    lode::ScratchFolder folder = make_scratch();
    fs::path temporary = [this] {
        const auto made = folder.path() / "tmp";
        fs::create_directory(made);
        return made;
    }();
    std::string out;
};

}  // namespace

TEST_CASE("cached: a second process compiles nothing, by whatever way it finds NVRTC") {
    CachedBench bench;
    const auto wanted = bench.outside(CachedBench::compile(nvrtc_for_cached(), "-arch=sm_90"));
    auto report = bench.inside();
    CHECK(report["compiled"] == 1);
    CHECK(report["hits"] == 0);
    CHECK(bench.out == wanted);
    report = bench.inside();
    CHECK(report["compiled"] == 0);
    CHECK(report["hits"] == 1);
    CHECK(report["saved_seconds"] > 0);
    CHECK(report["programs"]["lode_emulate_nvrtc_client"]["hits"] == 1);
    CHECK(bench.out == wanted);
    CHECK(fs::is_empty(bench.temporary));
    // Another option is another call.
    CHECK(bench.inside({}, "-arch=sm_90 -maxrregcount=16")["compiled"] == 1);
    const auto summary = lode::test::lode({"cached", "--stats", "--", "sh", "-c",
                                           CachedBench::compile(nvrtc_for_cached(), "-arch=sm_90")},
                                          bench.variables({}));
    CHECK(
        summary.err.starts_with("lode: 1 compilation: 1 from the cache, 0 compiled, 0 by the "
                                "original; "));
}

TEST_CASE("cached: processes that start together compile once") {
    CachedBench bench;
    const auto program = CachedBench::compile(nvrtc_for_cached(), "-arch=sm_90 -G");
    const auto outcome =
        lode::test::lode({"cached", "--json", "--", "sh", "-c",
                          "for i in 1 2 3 4 5 6 7 8; do " + program + " & done; wait"},
                         bench.variables({}));
    CHECK(outcome.json()["compiled"] == 1);
    CHECK(outcome.json()["hits"] == 7);
}

TEST_CASE("cached: without a cache, a worker or a known option NVRTC itself compiles") {
    CachedBench bench;
    const auto wanted = bench.outside(CachedBench::compile(nvrtc_for_cached(), "-arch=sm_90"));
    const std::vector<std::pair<std::string, std::string>> problems = {
        {"LODE_CACHE", "off"},
        {"LODE_WORKERS", "off"},
        {"LODE_WORKER", "/nonexistent/lode-worker"},
        {"NVRTC_APPEND_FLAGS", "-DADDED"}};
    for (const auto& problem : problems) {
        CAPTURE(problem.first);
        CAPTURE(problem.second);
        const auto report = bench.inside({problem});
        CHECK(report["uncached"] == 1);
        CHECK(report["reasons"].size() == 1);
        CHECK(bench.out == wanted);
    }
    const auto report = bench.inside({}, "-arch=sm_90 -DNOW=__TIME__");
    CHECK(report["reasons"].contains("the source depends on the time of compilation"));
    // A folder that can't be written keeps nothing, and changes nothing.
    const auto unkept = bench.inside({{"LODE_CACHE_DIR", "/proc/nothing"}});
    CHECK(bench.out == wanted);
    REQUIRE(unkept["reasons"].size() == 1);
    CHECK(unkept["reasons"].begin().key().starts_with("The cache doesn't use the disk"));
}

TEST_CASE("cached: a folder gives NVRTC from the cache without the command") {
    CachedBench bench;
    const auto folder = (bench.folder.path() / "drop-in").string();
    for (int i = 0; i < 2; ++i)  // It may be made again.
        CHECK(lode::test::lode({"cached", "--drop-in", folder}, bench.variables({})).exit_code ==
              0);
    std::string name;
    for (const auto& file : fs::directory_iterator(folder)) {
        const auto one = file.path().filename().string();
        if (one.starts_with("libnvrtc.so.")) name = one;
    }
    REQUIRE(!name.empty());
    // nvJitLink too, where there is one.
    const auto made =
        lode::test::lode({"cached", "--drop-in", folder, "--json"}, bench.variables({}))
            .json()["libraries"];
    CHECK(made.at(0)["name"] == name);
    for (const auto& library : made) {
        CHECK(fs::exists(fs::path(folder) / library["name"].get<std::string>()));
        CHECK(fs::equivalent(
            fs::path(folder) / ("lode-uncached-" + library["name"].get<std::string>()),
            library["library"].get<std::string>()));
    }
    const auto wanted = bench.outside(CachedBench::compile(nvrtc_for_cached(), "-arch=sm_90"));
    const auto journal = (bench.folder.path() / "journal").string();
    for (const std::string& way :
         {"LD_LIBRARY_PATH=" + folder, "LD_PRELOAD=" + folder + "/" + name}) {
        CAPTURE(way);
        const auto line = "env " + way + " LODE_CACHE=on LODE_CACHED_REPORT=" + journal +
                          " LODE_CACHE_DIR=" + (bench.folder.path() / "cache").string() + " " +
                          CachedBench::compile(name, "-arch=sm_90");
        CHECK(bench.outside(line) == wanted);
        CHECK(bench.outside("env LODE_CACHE_MAX_BYTES=many " + line) == wanted);
    }
    const auto text = lode::read_text(journal);
    REQUIRE_MESSAGE(text, text.error().message);
    const std::string& lines = *text;
    CAPTURE(lines);
    CHECK(lines.find("\"compiled\"") < lines.find("\"hit\""));
    CHECK(lines.find("\"hit\"") != lines.npos);
    // Files of others stay.
    const auto other = bench.folder.path() / "other";
    fs::create_directory(other);
    std::ofstream(other / name) << "mine";
    CHECK(
        lode::test::lode({"cached", "--drop-in", other.string()}, bench.variables({})).exit_code ==
        1);
    CHECK(lode::read_text(other / name).value() == "mine");
}

TEST_CASE("cached: inside and around lode emulate the device gets PTX") {
    CachedBench bench;
    const auto program = CachedBench::compile(nvrtc_for_cached(), "-arch=sm_90");
    const std::string command = LODE_COMMAND;
    for (const std::string& line : {command + " emulate -- " + command + " cached --stats -- ",
                                    command + " cached --stats -- " + command + " emulate -- "}) {
        const auto outcome = lode::test::lode({"cached", "--", "sh", "-c", line + program},
                                              bench.variables({{"LODE_DRIVER", ""}}));
        CHECK_MESSAGE(outcome.out.find("cubin: 0 0 PTX\n") != outcome.out.npos, outcome.err);
        CHECK(outcome.out.find("last value: 217\n") != outcome.out.npos);
        CHECK(outcome.err.find("1 compilation") != outcome.err.npos);
    }
}

TEST_CASE("cached: the program's exit code, and what is wrong with the command line") {
    const CachedBench bench;
    const auto run = [&](std::vector<std::string> words) {
        return lode::test::lode(words, bench.variables({}));
    };
    CHECK(run({"cached", "--", "sh", "-c", "exit 7"}).exit_code == 7);
    const auto missing = run({"cached", "--", "/nonexistent/program"});
    CHECK(missing.exit_code == 127);
    CHECK(missing.err.find("can't be started") != missing.err.npos);
    CHECK(run({"cached"}).exit_code == 2);
    CHECK(run({"cached", "--drop-in", "folder", "--", "sh"}).exit_code == 2);
    const auto nowhere = run({"cached", "--drop-in", ""});
    CHECK(nowhere.exit_code == 2);
    CHECK(nowhere.complains("--drop-in is empty; it needs a value (DIR)."));
    const auto folder = (bench.folder.path() / "unmade").string();
    for (const auto& words : {std::vector<std::string>{"cached", "--", "true"},
                              std::vector<std::string>{"cached", "--drop-in", folder}}) {
        const auto wrong =
            lode::test::lode(words, bench.variables({{"LODE_CACHE_MAX_BYTES", "1GBB"}}));
        CHECK(wrong.exit_code == 2);
        CHECK(wrong.complains("LODE_CACHE_MAX_BYTES is '1GBB'; it must be a number of bytes"));
    }
    CHECK_FALSE(fs::exists(folder));
}
