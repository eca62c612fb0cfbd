// `lode emulate`: programs that use the software device without knowing it.
#include "tests/support/scratch.hpp"
#include "tests/support/variable.hpp"
#include "tests/tools/process.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;
namespace fs = std::filesystem;

constexpr std::string_view kernels = R"(
extern "C" __global__ void neighbours(int* out) {
    __shared__ int values[33];
    values[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = values[threadIdx.x + 1];
}
extern "C" __global__ void outside(int* out) { out[threadIdx.x + 1000] = 1; }
extern "C" __global__ void right(int* out) { out[threadIdx.x] = 1; }
)";

/// A folder for temporary files, in which the command must leave nothing.
struct EmulateBench {
    [[nodiscard]] Environment environment() const {
        return {{"TMPDIR", temporary.string()},
                {"LODE_DRIVER", ""},
                {"LODE_EMULATOR_DEVICES", ""},
                {"LODE_EMULATOR_CHECK", ""}};
    }
    [[nodiscard]] Outcome emulate(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), "emulate");
        return lode::test::lode(arguments, environment());
    }
    [[nodiscard]] Outcome shell(const std::string& script,
                                std::vector<std::string> options = {}) const {
        options.insert(options.end(), {"--", "sh", "-c", script});
        return emulate(std::move(options));
    }
    /// The line for a shell that runs a kernel.
    [[nodiscard]] std::string run(const std::string& kernel) const {
        return LODE_COMMAND " run " + source + " " + kernel +
               " --grid 1 --block 32 -- i32[32]:zeros";
    }
    [[nodiscard]] nlohmann::json report() const {
        return nlohmann::json::parse(lode::read_text(json).value());
    }
    [[nodiscard]] bool is_clean() const { return fs::is_empty(temporary); }

    lode::ScratchFolder folder = make_scratch();
    fs::path temporary = [this] {
        const auto path = folder.path() / "tmp";
        fs::create_directory(path);
        return path;
    }();
    std::string source = put(folder.path() / "kernels.cu", kernels).string();
    std::string json = (folder.path() / "report.json").string();
};

/// Waits until the shell of a test has written its file.
void wait_for_file(const fs::path& path) {
    for (int i = 0; i < 3000 && !fs::exists(path); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    REQUIRE(fs::exists(path));
}

}  // namespace

TEST_CASE("emulate: a program finds the software device under the driver's names") {
    const EmulateBench bench;
    for (const char* name : {"libcuda.so.1", "libcuda.so"}) {
        const auto outcome =
            bench.emulate({"--devices", "sm_75,sm_120", "--", LODE_EMULATE_CLIENT, name});
        CHECK(outcome.exit_code == 0);
        CHECK(outcome.out == "lode emulator (CPU) sm_75\nlode emulator (CPU) sm_120\n");
        CHECK(outcome.complains("lode: The software device ("));
        CHECK(outcome.complains("is the CUDA driver of '" LODE_EMULATE_CLIENT "'"));
        CHECK(outcome.complains("lode: No findings in 1 process.\n"));
    }
    CHECK(bench.is_clean());
}

TEST_CASE("emulate: the toolkit's stand-ins come first, and only for the program") {
    const EmulateBench bench;
    const auto outcome = bench.shell(
        "ptxas --version | head -1; $TRITON_PTXAS_PATH --version | head -1; "
        "for name in cudart.so.12 cudart.so.13 nvJitLink.so.12 nvJitLink.so.13; do "
        "test -e ${LD_LIBRARY_PATH%%:*}/lib$name && echo $name; done; stat -c %a "
        "${LD_LIBRARY_PATH%%:*}");
    const std::string ptxas = "ptxas: lode's stand-in, which keeps PTX for the software device\n";
    CHECK(outcome.out ==
          ptxas + ptxas + "cudart.so.12\ncudart.so.13\nnvJitLink.so.12\nnvJitLink.so.13\n700\n");
    CHECK(bench.is_clean());
}

TEST_CASE("emulate: the program's output, exit code and signal are its own") {
    const EmulateBench bench;
    const auto outcome = bench.shell("echo out; echo err >&2; exit 7");
    CHECK(outcome.exit_code == 7);
    CHECK(outcome.out == "out\n");
    CHECK(outcome.complains("\nerr\n"));
    CHECK(outcome.complains("lode: No process has used the software device.\n"));
    CHECK(bench.shell("kill -SEGV $$").exit_code == 128 + SIGSEGV);
    CHECK(bench.shell("kill -PIPE $$").exit_code == 128 + SIGPIPE);
    CHECK(bench.emulate({"--", "printf", "%s|", "--help", "--"}).out == "--help|--|");
    CHECK(bench.is_clean());
}

TEST_CASE("emulate: findings of processes below the program are collected and fail the command") {
    const EmulateBench bench;
    const auto script = "(" + bench.run("neighbours") + " >/dev/null 2>&1; " +
                        bench.run("outside") + " >/dev/null 2>&1; " + bench.run("right") +
                        ") >/dev/null; exit 0";
    const auto outcome = bench.shell(script, {"--check", "memory,race", "--json=" + bench.json});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("lode: 2 findings in 3 processes:\n"));
    CHECK(outcome.complains("kernels.cu:5: neighbours reads values in a race with the write at "));
    CHECK(outcome.out.empty());
    const auto report = bench.report();
    CHECK(report["ok"] == false);
    CHECK(report["exit_code"] == 1);
    CHECK(report["processes"].size() == 3);
    CHECK(report["processes"][0]["program"] == "lode");
    REQUIRE(report["findings"].size() == 2);
    CHECK(report["findings"][0]["kind"] == "finding");
    CHECK(report["findings"][0]["kernel"] == "neighbours");
    CHECK(report["findings"][1]["kind"] == "fault");
    CHECK(report["findings"][1]["kernel"] == "outside");
    CHECK(report["findings"][0]["pid"] != report["findings"][1]["pid"]);
    CHECK(bench.is_clean());

    // Without the check there is no race to find, and the program's own failure counts.
    const auto unchecked = bench.shell(bench.run("neighbours"));
    CHECK(unchecked.exit_code == 0);
    CHECK(unchecked.complains("lode: No findings in 1 process.\n"));
}

TEST_CASE("emulate: the facts about a finding are printed once, and the others refer to them") {
    const EmulateBench bench;
    const auto occurrences = [](const std::string& text, std::string_view part) {
        std::size_t count = 0;
        for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1))
            ++count;
        return count;
    };
    const std::string headline = "outside writes 4 bytes past the end of a 128-byte allocation";
    const auto summary = bench.shell(bench.run("outside"));
    CHECK_MESSAGE(occurrences(summary.err, headline) == 2, summary.err);
    CHECK(occurrences(summary.err, "allocation: 128 bytes of device memory") == 1);
    CHECK(summary.complains("facts: in the summary of lode emulate, at the end"));

    auto logging = bench.environment();
    logging["LODE_EMULATOR_LOG"] = "stderr";
    const auto logged =
        lode::test::lode({"emulate", "--", "sh", "-c", bench.run("outside")}, logging);
    CHECK_MESSAGE(occurrences(logged.err, headline) == 3, logged.err);
    CHECK(occurrences(logged.err, "allocation: 128 bytes of device memory") == 1);
    CHECK(occurrences(logged.err, "facts: in the software device's log above") == 2);

    const auto alone = lode::test::lode(
        {"run", bench.source, "outside", "--grid", "1", "--block", "32", "--", "i32[32]:zeros"},
        {{"LODE_DRIVER", "emulator"}});
    CHECK_MESSAGE(occurrences(alone.err, headline) == 1, alone.err);
    CHECK(occurrences(alone.err, "allocation: 128 bytes of device memory") == 1);
}

TEST_CASE("emulate: programs that can't be started, and values that make no sense") {
    const EmulateBench bench;
    const auto missing = bench.emulate({"--", "/nonexistent/program"});
    CHECK(missing.exit_code == 127);
    CHECK(missing.complains(
        "lode: The program '/nonexistent/program' can't be started: No such file or directory."));
    CHECK(bench.emulate({"--", bench.source}).exit_code == 126);
    const auto devices = bench.emulate({"--devices", "sm_91", "--", "true"});
    CHECK(devices.exit_code == 2);
    CHECK_MESSAGE(devices.complains("sm_91"), devices.err);
    const auto checks = bench.emulate({"--check", "everything", "--", "true"});
    CHECK(checks.exit_code == 2);
    CHECK_MESSAGE(checks.complains("--check contains 'everything'"), checks.err);
    CHECK(bench.emulate({}).exit_code == 2);
    const auto no_program = bench.emulate({"--json"});
    CHECK(no_program.exit_code == 2);
    CHECK(no_program.json()["error"]["code"] == "bad_usage");
    const Variable misspelt("LODE_EMULATR_CHECK", "race");
    CHECK(bench.emulate({"--", "true"})
              .complains("lode: LODE_EMULATR_CHECK is set, but lode has no such variable. "
                         "LODE_EMULATOR_CHECK may be meant.\n"));
    CHECK(bench.is_clean());
}

TEST_CASE("emulate: CUDA_VISIBLE_DEVICES hides devices, and the summary says so") {
    const EmulateBench bench;
    const Variable variable("CUDA_VISIBLE_DEVICES", "1");
    const auto hidden = bench.emulate({"--", LODE_EMULATE_CLIENT});
    CHECK(hidden.exit_code != 0);
    CHECK_MESSAGE(hidden.complains("lode: CUDA_VISIBLE_DEVICES is '1', which also hides devices"),
                  hidden.err);
    const auto shown = bench.emulate({"--devices", "sm_75,sm_90", "--", LODE_EMULATE_CLIENT});
    CHECK_FALSE(shown.complains("CUDA_VISIBLE_DEVICES"));
    CHECK(bench.is_clean());
}

TEST_CASE("emulate: a program that doesn't use the software device fails the command") {
    const EmulateBench bench;
    const auto unused = bench.shell("echo out");
    CHECK(unused.exit_code == 1);
    CHECK(unused.out == "out\n");
    CHECK(unused.complains("lode: No process has used the software device.\n"));
    CHECK(unused.complains("--allow-unused"));
    CHECK(bench.shell("exit 7").exit_code == 7);
    const auto allowed = bench.shell("echo out", {"--allow-unused"});
    CHECK(allowed.exit_code == 0);
    CHECK(allowed.complains("lode: No process has used the software device.\n"));
    CHECK_FALSE(allowed.complains("--allow-unused"));
}

TEST_CASE("emulate: with --json stdout is one object, and with a file it is the program's") {
    const EmulateBench bench;
    const auto printed = bench.shell("echo out", {"--allow-unused", "--json"});
    CHECK(printed.exit_code == 0);
    CHECK(printed.complains("\nout\n"));
    CHECK(printed.json()["command"] == "emulate");
    CHECK(printed.json()["ok"] == true);
    const std::vector<std::string> words = {"emulate", "--allow-unused", "--json", "--", "true"};
    for (const Stream stream : {Stream::closed, Stream::full})
        CHECK(lode::test::lode(words, bench.environment(), {.out = stream}).exit_code == 1);
    const auto written = bench.shell("echo out", {"--json=" + bench.json});
    CHECK(written.exit_code == 1);
    CHECK(written.out == "out\n");
    CHECK(bench.report()["ok"] == false);
    CHECK(bench.report()["exit_code"] == 1);
}

TEST_CASE("emulate: a program with NVIDIA's runtime library fails with one sentence") {
    const EmulateBench bench;
    for (const char* steps : {"r", "ir"}) {  // Also if the program has called cuInit before.
        CAPTURE(steps);
        const auto outcome = bench.emulate(
            {"--json=" + bench.json, "--", LODE_EMULATE_CLIENT, "libcuda.so.1", steps});
        CHECK(outcome.exit_code == 1);
        CHECK(outcome.complains("lode: The software device can't run 1 thing:\n"));
        CHECK(outcome.complains("linked statically into the program,"));
        CHECK(outcome.complains("--cudart shared"));
        CHECK_FALSE(outcome.complains("No findings"));
        CHECK(bench.report()["unusable"].size() == 1);
        CHECK(bench.report()["refusals"].empty());
        CHECK(bench.report()["ok"] == false);
    }
    CHECK(bench.is_clean());
}

TEST_CASE("emulate: a program that asks for other tables and goes on isn't told of it") {
    const EmulateBench bench;
    for (const char* steps : {"n", "in"}) {
        CAPTURE(steps);
        const auto outcome = bench.emulate({"--", LODE_EMULATE_CLIENT, "libcuda.so.1", steps});
        CHECK(outcome.exit_code == 0);
        CHECK(outcome.complains("lode: No findings in 1 process.\n"));
        CHECK_FALSE(outcome.complains("table"));
        CHECK_FALSE(outcome.complains("refused"));
    }
}

TEST_CASE("emulate: a kernel that exists only as machine code is a failure") {
    const EmulateBench bench;
    const auto outcome =
        bench.emulate({"--json=" + bench.json, "--", LODE_EMULATE_CLIENT, "libcuda.so.1", "im"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("lode: The software device can't run 1 thing:\n"));
    CHECK(outcome.complains("is a cubin, which is machine code for a GPU"));
    CHECK(outcome.complains("-gencode arch=compute_80,code=compute_80"));
    CHECK(bench.report()["refusals"].empty());
    // A program may try machine code first.
    const auto both = bench.emulate({"--", LODE_EMULATE_CLIENT, "libcuda.so.1", "imp"});
    CHECK(both.exit_code == 0);
    CHECK(both.complains("lode: The software device has refused 1 thing:\n"));
    CHECK(both.complains("lode: No findings in 1 process.\n"));
}

TEST_CASE("emulate: temporary folders that a library path can't name, relative or missing ones") {
    const EmulateBench bench;
    const auto in = [&](const std::string& temporary, const std::string& script) {
        auto environment = bench.environment();
        environment["TMPDIR"] = temporary;
        return lode::test::lode({"emulate", "--", "sh", "-c", script}, environment);
    };
    for (const char* name : {"with:colon", "with;semicolon", "with$dollar"}) {
        const auto path = bench.folder.path() / name;
        fs::create_directory(path);
        const auto outcome = in(path.string(), "echo runs");
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.out.empty());
        CHECK(outcome.complains(path.string()));
        CHECK(outcome.complains("Set TMPDIR to another folder."));
        CHECK(fs::is_empty(path));
    }
    const auto relative = fs::relative(bench.temporary).string();
    CHECK(in(relative, "cd / && " LODE_EMULATE_CLIENT).out == "lode emulator (CPU) sm_90\n");
    CHECK(in("/nonexistent/folder", "true").complains("'/nonexistent/folder'"));
    CHECK(bench.is_clean());
}

TEST_CASE("emulate: a signal reaches the program, and nothing is left behind") {
    const EmulateBench bench;
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        const auto started = bench.folder.path() / ("started" + std::to_string(signal));
        const std::string script = "trap 'echo got it; exit 9' TERM INT HUP; touch " +
                                   started.string() + "; while :; do sleep 0.02; done";
        Running running({"emulate", "--", "sh", "-c", script}, bench.environment());
        wait_for_file(started);
        CHECK(fs::exists(started));
        CHECK_FALSE(bench.is_clean());
        running.send(signal);
        const auto outcome = running.wait();
        CHECK(outcome.exit_code == 9);
        CHECK(outcome.out == "got it\n");
        CHECK(bench.is_clean());
    }
}
