// `lode run` and `lode info` on a real device.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <cstdlib>
#include <cstring>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

nlohmann::json info() {
    return lode::test::lode({"info", "--json"}).json();
}

/// Whether there is a device; if not, prints why the test is skipped.
bool has_device() {
    ::setenv("LODE_DRIVER", "libcuda.so.1", 0);  // No software device in place of the GPU.
    const auto found = info();
    if (!found["devices"].empty()) return true;
    const bool driver = found["driver"]["found"];
    MESSAGE("skipped: ", std::string(driver ? "the driver reports no device" : "no CUDA driver"));
    return false;
}

class Project {
public:
    explicit Project(std::string_view source) : file_(put(folder_.path() / "kernel.cu", source)) {}

    [[nodiscard]] Outcome run(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"run", file_.string()});
        return lode::test::lode(arguments);
    }
    [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

private:
    lode::ScratchFolder folder_ = make_scratch();
    std::filesystem::path file_;
};

}  // namespace

TEST_CASE("lode info: shows the device") {
    if (!has_device()) return;
    const auto json = info();
    CHECK(json["driver"]["found"] == true);
    const auto& device = json["devices"][0];
    CHECK(device["name"].get<std::string>().size() > 3);
    CHECK(device["uuid"].get<std::string>().starts_with("GPU-"));
    CHECK(device["target"].get<std::string>().starts_with("sm_"));
    CHECK(device["total_memory_bytes"] > 0);
    CHECK(device["theoretical_bandwidth"] > 0);
    CHECK(lode::test::lode({"info"}).says(device["uuid"].get<std::string>()));
}

TEST_CASE("lode run: saxpy gives the right numbers") {
    if (!has_device()) return;
    const Project project(saxpy_source);
    const auto outcome = project.run({"saxpy", "--cover", "1000", "--json", "--", "2f",
                                      "f32[1000]:iota", "f32[1000]:ones", "1000"});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    const auto json = outcome.json();
    CHECK(json["grid"] == nlohmann::json::array({4, 1, 1}));
    CHECK(json["block"] == nlohmann::json::array({256, 1, 1}));
    CHECK(json["registers"] > 0);
    CHECK(json["time_ms"]["first"] > 0);
    REQUIRE(json["arguments"].size() == 4);
    CHECK(json["arguments"][0]["value"] == 2.0);
    CHECK(json["arguments"][1]["sum"] == 499500.0);
    CHECK(json["arguments"][2]["head"] == nlohmann::json::array({1, 3, 5, 7, 9, 11, 13, 15}));
    CHECK(json["arguments"][2]["sum"] == 1000000.0);
    CHECK(json["arguments"][3]["value"] == 1000);
}

TEST_CASE("lode run: the text shows sums, heads and time") {
    if (!has_device()) return;
    const Project project(saxpy_source);
    const auto outcome = project.run({"saxpy", "--grid", "1", "--block", "32", "--", "0.5f",
                                      "f32[32]:ones", "f32[32]:iota", "32"});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("grid (1, 1, 1), block (32, 1, 1)"));
    CHECK(outcome.says("0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5 ..."));
    CHECK(outcome.says("512"));
    CHECK(outcome.says(" ms"));
}

TEST_CASE("lode run: repeated launches show the first one's results") {
    if (!has_device()) return;
    const Project project(saxpy_source);
    const auto json = project
                          .run({"saxpy", "--cover", "32", "--repeat", "20", "--json", "--", "1f",
                                "f32[32]:ones", "f32[32]:zeros", "32"})
                          .json();
    CHECK(json["launches"] == 20);
    CHECK(json["time_ms"]["min"] <= json["time_ms"]["median"]);
    CHECK(json["arguments"][2]["sum"] == 32.0);
}

TEST_CASE("lode run: a template, a namespaced kernel and a file") {
    if (!has_device()) return;
    const Project project(templates_source);
    const auto scaled = project.run({"math::scale<double>", "--grid", "1", "--block", "4", "--json",
                                     "--", "f64[4]:iota", "1.5"});
    REQUIRE_MESSAGE(scaled.exit_code == 0, scaled.err);
    CHECK(scaled.json()["arguments"][0]["head"] == nlohmann::json::array({0.0, 1.5, 3.0, 4.5}));

    const std::int32_t numbers[] = {1, 2, 3};
    std::string bytes(sizeof numbers, '\0');
    std::memcpy(bytes.data(), numbers, sizeof numbers);
    const auto file = put(project.folder() / "numbers.bin", bytes).string();
    const auto reversed = project.run(
        {"math::reverse", "--grid", "1", "--block", "3", "--json", "--", "i32[3]@" + file});
    REQUIRE_MESSAGE(reversed.exit_code == 0, reversed.err);
    CHECK(reversed.json()["arguments"][0]["head"] == nlohmann::json::array({3, 2, 1}));
}

TEST_CASE("lode run: wrong arguments are refused before the launch") {
    if (!has_device()) return;
    const Project project(saxpy_source);
    const auto fails = [&](const std::vector<std::string>& arguments, std::string_view sentence) {
        std::vector<std::string> all = {"saxpy", "--cover", "4", "--"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const auto outcome = project.run(all);
        CHECK_MESSAGE(outcome.exit_code == 1, outcome.err);
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
    };
    fails({"2f"}, "saxpy takes 4 arguments: f32, pointer");
    fails({"i32:2", "f32[4]", "f32[4]", "4"}, "Argument 1 ('i32:2') is a number of type i32");
    fails({"2f", "f32[4]", "f32[4]", "4f"}, "Argument 4 ('4f')");
    fails({"2f", "f32[4]", "f32[4]@/nonexistent.bin", "4"}, "/nonexistent.bin");
}

TEST_CASE("lode run: an unknown kernel, too large a block and an absent device fail") {
    if (!has_device()) return;
    const Project project(saxpy_source);
    const std::vector<std::string> arguments = {"--", "2f", "f32[4]", "f32[4]", "4"};
    const auto fails = [&](std::vector<std::string> start, std::string_view sentence) {
        start.insert(start.end(), arguments.begin(), arguments.end());
        const auto outcome = project.run(start);
        CHECK_MESSAGE(outcome.exit_code == 1, outcome.err);
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
    };
    fails({"saxpi", "--cover", "4"}, "saxpy");
    fails({"saxpy", "--grid", "1", "--block", "4096"}, "4096");
    fails({"saxpy", "--cover", "4", "--device", "4000"}, "4000");
    // Neither the machine code nor the PTX for these architectures runs on the device.
    const std::string other = info()["devices"][0]["target"] == "sm_90" ? "sm_100" : "sm_90a";
    fails({"saxpy", "--cover", "4", "--arch", other}, other);
}
