// `lode run` on the software device: a kernel's errors make the command fail and appear in its
// JSON.
#include "base/file.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

constexpr std::string_view wrong_source = R"(
extern "C" __global__ void neighbours(int* out) {
    __shared__ int values[33];
    values[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = values[threadIdx.x + 1];  // line 5: a race, and never written by the last
}
extern "C" __global__ void outside(int* out) {
    out[threadIdx.x + 1000] = 1;
}
extern "C" __global__ void right(int* out) { out[threadIdx.x] = 1; }
)";

/// A software device with checks, and `lode run` of a kernel on it.
struct Bench {
    [[nodiscard]] Outcome run(const char* kernel, const char* checks,
                              const char* findings = "") const {
        return lode::test::lode({"run", source, kernel, "--grid", "1", "--block", "32", "--json",
                                 "--", "i32[32]:zeros"},
                                {{"LODE_DRIVER", "emulator"},
                                 {"LODE_EMULATOR_DEVICES", "sm_90"},
                                 {"LODE_EMULATOR_CHECK", checks},
                                 {"LODE_EMULATOR_FINDINGS", findings}});
    }
    decltype(make_scratch()) folder = make_scratch();
    std::string source = put(folder.path() / "wrong.cu", wrong_source).string();
};

}  // namespace

TEST_CASE("run: a race fails the command, which lists it") {
    const Bench bench;
    const auto outcome = bench.run("neighbours", "memory,race");
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("wrong.cu:5: neighbours reads values in a race with the write at "));
    const auto json = outcome.json();
    CHECK(json["ok"] == false);
    CHECK(json["error"]["native"]["name"] == "CUDA_ERROR_LAUNCH_FAILED");
    REQUIRE(json["findings"].size() == 1);
    const std::string finding = json["findings"][0];
    CHECK_MESSAGE(
        finding.find("wrong.cu:5: neighbours reads values in a race with the write at ") !=
            std::string::npos,
        finding);
    CHECK_MESSAGE(finding.find("\n  race: it reads what thread (") != std::string::npos, finding);
    const std::string message = json["error"]["message"];
    CHECK(message.starts_with(finding));
    CHECK_FALSE(outcome.complains("must be restarted"));
}

TEST_CASE("run: --findings writes SARIF with the line and the earlier access") {
    const Bench bench;
    const std::string file = (bench.folder.path() / "findings.sarif").string();
    const auto outcome =
        lode::test::lode({"run", bench.source, "neighbours", "--grid", "1", "--block", "32",
                          "--findings", file, "--", "i32[32]:zeros"},
                         {{"LODE_DRIVER", "emulator"},
                          {"LODE_EMULATOR_DEVICES", "sm_90"},
                          {"LODE_EMULATOR_CHECK", "memory,race"}});
    CHECK(outcome.exit_code == 1);
    const auto sarif = nlohmann::json::parse(lode::read_text(file).value());
    CHECK(sarif["version"] == "2.1.0");
    const auto& results = sarif["runs"][0]["results"];
    REQUIRE(results.size() == 1);
    CHECK(results[0]["ruleId"] == "race");
    CHECK(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 5);
    REQUIRE(results[0]["relatedLocations"].size() >= 1);
    CHECK(results[0]["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 4);
    CHECK(count_entries(bench.folder.path()) == 2);
}

TEST_CASE("run: --check takes the software device with these checks, and says so") {
    const Bench bench;
    ::unsetenv("LODE_DRIVER");
    const auto run = [&](const char* checks, Environment environment = {}) {
        const std::string file = (bench.folder.path() / "new" / "findings.sarif").string();
        return lode::test::lode({"run", bench.source, "neighbours", "--grid", "1", "--block", "32",
                                 "--check", checks, "--findings", file, "--", "i32[32]:zeros"},
                                environment);
    };
    const auto outcome = run("memory,race");
    CHECK(outcome.exit_code == 1);
    CHECK(
        outcome.err.starts_with("lode: The software device runs the kernel with --check "
                                "memory,race; no GPU is used.\n"));
    CHECK(outcome.complains(" in a race with "));
    const auto text = lode::read_text(bench.folder.path() / "new" / "findings.sarif").value();
    CHECK(nlohmann::json::parse(text)["runs"][0]["results"].size() == 1);
    CHECK(run("none").exit_code == 0);
    const Environment emulated = {{"LODE_DRIVER", "emulator"}, {"LODE_EMULATOR_CHECK", "race"}};
    CHECK(run("none", emulated).err.empty());

    const auto unknown = run("memory,races");
    CHECK(unknown.exit_code == 2);
    CHECK_MESSAGE(unknown.complains("--check contains 'races'"), unknown.err);
    CHECK(unknown.complains("Did you mean 'race'?"));
    CHECK(run("").complains("--check is empty"));
    const auto other = run("race", no_driver);
    CHECK(other.exit_code == 2);
    CHECK_MESSAGE(other.complains("--check needs the software device, and LODE_DRIVER is"),
                  other.err);
}

TEST_CASE("run: several findings are all listed, and the message quotes the first") {
    const Bench bench;
    const auto outcome = bench.run("neighbours", "race,init");
    CHECK(outcome.exit_code == 1);
    const auto json = outcome.json();
    REQUIRE(json["findings"].size() == 2);
    const std::string first = json["findings"][0];
    const std::string second = json["findings"][1];
    const std::string message = json["error"]["message"];
    CHECK_MESSAGE(message.starts_with(first), message);
    CHECK_MESSAGE(
        message.find(" There are more findings; the log lists them all.") != std::string::npos,
        message);
    const std::string log = json["error"]["log"];
    CHECK_MESSAGE(log.starts_with(first), log);
    CHECK_MESSAGE(log.find("\n" + second) != std::string::npos, log);
    // The text that a user sees has each once.
    CHECK(outcome.err.find(first) == outcome.err.rfind(first));
    CHECK(outcome.complains(second));
}

TEST_CASE("run: LODE_EMULATOR_FINDINGS=log lists findings of a command that succeeds") {
    const Bench bench;
    const auto outcome = bench.run("neighbours", "race", "log");
    CHECK(outcome.exit_code == 0);
    const auto json = outcome.json();
    CHECK(json["ok"] == true);
    CHECK(json["findings"].size() == 1);
    CHECK(bench.run("neighbours", "race", "loud").exit_code == 2);
}

TEST_CASE("run: a memory error is a finding, too, and a correct kernel has none") {
    const Bench bench;
    const auto wrong = bench.run("outside", "memory");
    CHECK(wrong.exit_code == 1);
    REQUIRE(wrong.json()["findings"].size() == 1);
    CHECK(std::string(wrong.json()["findings"][0]).find("wrong.cu:8") != std::string::npos);
    const auto right = bench.run("right", "memory,race,init");
    CHECK(right.exit_code == 0);
    CHECK(right.json()["findings"] == nlohmann::json::array());
}
