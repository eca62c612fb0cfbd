// `lode warm`: from a manifest or a recording to a cache or packs that answer every request.
#include "tests/support/endless_code.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"
#include "tests/tools/scripted.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

using namespace lode::test;
namespace fs = std::filesystem;

/// A folder with manifests and sources, and caches below it.
class WarmProject {
public:
    WarmProject() {
        put(folder_.path() / "saxpy.cu", saxpy_source);
        put(folder_.path() / "templates.cu", templates_source);
        // The cache doesn't trust files that were written a moment ago.
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    [[nodiscard]] fs::path path(const std::string& name = "") const {
        return folder_.path() / name;
    }
    std::string manifest(const std::string& requests, const std::string& name = "app.json") const {
        return put(path(name), R"({"manifest": 1, "requests": [)" + requests + "]}").string();
    }
    [[nodiscard]] Environment environment(const std::string& cache) const {
        return {{"LODE_DRIVER", "/nonexistent/libcuda.so.1"},
                {"LODE_CACHE", "on"},
                {"LODE_CACHE_DIR", path(cache).string()}};
    }
    [[nodiscard]] Outcome warm(std::vector<std::string> arguments,
                               const std::string& cache = "cache", Environment more = {}) const {
        arguments.insert(arguments.begin(), "warm");
        more.merge(environment(cache));
        return ::lode::test::lode(arguments, more);
    }
    /// Runs saxpy on the software device.
    [[nodiscard]] Outcome run_saxpy(const std::string& cache, Environment more = {}) const {
        more.insert({"LODE_DRIVER", "emulator"});
        more.merge(environment(cache));
        return ::lode::test::lode({"run", path("saxpy.cu").string(), "saxpy", "--cover", "4", "--",
                                   "2f", "f32[4]", "f32[4]", "4"},
                                  more);
    }

private:
    lode::ScratchFolder folder_ = make_scratch();
};

const std::string two_sources = R"(
    {"file": "saxpy.cu", "arch": ["sm_80", "sm_90"], "kernels": ["saxpy"]},
    {"file": "templates.cu", "arch": "sm_90",
     "names": ["math::scale<float>", "math::scale<int>"], "flags": ["-lineinfo"]})";

}  // namespace

TEST_CASE("lode warm: --check lists what is missing, and a warmed cache misses nothing") {
    const WarmProject project;
    const auto manifest = project.manifest(two_sources);
    const auto cold = project.warm({manifest, "--check"});
    CHECK(cold.exit_code == 1);
    CHECK(cold.says("saxpy.cu      sm_80 "));
    CHECK(cold.says("math::scale<float>, math::scale<int>"));
    CHECK(cold.says("it was never compiled before"));
    CHECK(cold.complains("lode: 3 of 3 compilations are missing from the cache."));
    CHECK_FALSE(fs::exists(project.path("cache/v6/entries")));

    const auto filled = project.warm({manifest});
    CHECK_MESSAGE(filled.exit_code == 0, filled.err);
    CHECK(filled.err.empty());
    CHECK(filled.says("3 compilations: 0 in the cache, 3 compiled in "));
    const auto checked = project.warm({manifest, "--check"});
    CHECK_MESSAGE(checked.exit_code == 0, checked.err);
    CHECK(checked.out == "The cache has everything that was asked for: 3 compilations.\n");
    CHECK(project.warm({manifest}).says("3 compilations: 3 in the cache, 0 compiled in "));

    const auto json = project.warm({manifest, "--arch", "sm_80", "--check", "--json"}).json();
    CHECK(json["ok"] == false);
    CHECK(json["error"]["code"] == "not_found");
    CHECK(json["hits"] == 1);
    CHECK(json["missing"] == 1);
    REQUIRE(json["requests"].size() == 2);
    CHECK(json["requests"][0]["state"] == "hit");
    CHECK(json["requests"][0]["tier"] == "disk");
    CHECK(json["requests"][1]["state"] == "missing");
    CHECK(json["requests"][1]["reason"] == "it was never compiled before");
    CHECK(json["requests"][1]["where"].get<std::string>().ends_with("app.json: /requests/1"));

    put(project.path("saxpy.cu"), std::string(saxpy_source) + "\n// edited\n");
    const auto edited = project.warm({manifest, "--check", "--json"}).json();
    CHECK(edited["missing"] == 2);
}

TEST_CASE("lode warm: what an application records is what it finds again in a warmed cache") {
    const WarmProject project;
    const auto recording = project.path("recording").string();
    for (int i = 0; i < 2; ++i)
        CHECK(project.run_saxpy("first", {{"LODE_RECORD", recording}}).exit_code == 0);
    CHECK(lode::read_text(recording).value().find('\n') ==
          lode::read_text(recording).value().size() - 1);

    CHECK(project.run_saxpy("second", {{"LODE_JIT", "forbid"}}).exit_code == 1);
    // The variable is for the application; warming compiles all the same.
    const auto filled = project.warm({recording}, "second", {{"LODE_JIT", "forbid"}});
    CHECK_MESSAGE(filled.says("1 compilation: 0 in the cache, 1 compiled in "), filled.err);
    const auto warmed = project.run_saxpy("second", {{"LODE_JIT", "forbid"}});
    CHECK_MESSAGE(warmed.exit_code == 0, warmed.err);
}

TEST_CASE("lode warm: what tests record on the software device answers on a GPU, from a pack") {
    const WarmProject project;
    const auto recording = project.path("tests.jsonl").string();
    // The scripted driver takes PTX only.
    Environment tests = {{"LODE_FORCE_PTX", "1"}, {"LODE_RECORD", recording}};
    CHECK(project.run_saxpy("tests", tests).exit_code == 0);
    const auto packed = project.warm({recording, "--pack", project.path("app.pack").string()});
    CHECK_MESSAGE(packed.says("app.compute_90.pack: 1 entry"), packed.err);

    Environment gpu = {{"LODE_FORCE_PTX", "1"}, {"LODE_JIT", "forbid"}};
    gpu.insert(scripted.begin(), scripted.end());
    CHECK(project.run_saxpy("gpu", gpu).complains("isn't in the cache"));
    gpu["LODE_CACHE_PACKS"] = project.path("app.compute_90.pack").string();
    const auto run = project.run_saxpy("gpu", gpu);
    CHECK_MESSAGE(run.exit_code == 0, run.err);
}

TEST_CASE("lode warm: a manifest for this machine's devices warms the kernels that load() gets") {
    const WarmProject project;
    const auto manifest = project.manifest(
        fmt::format(R"({{"file": "{}", "names": ["saxpy"]}}, {{"family": "reduce"}})",
                    project.path("saxpy.cu").string()));
    const Environment devices = {{"LODE_DRIVER", "emulator"},
                                 {"LODE_EMULATOR_DEVICES", "sm_75,sm_90"}};
    const auto filled = project.warm({manifest, "--json"}, "cache", devices);
    CHECK_MESSAGE(filled.exit_code == 0, filled.err);
    std::string tasks;
    const auto requests = filled.json()["requests"];
    for (const auto& request : requests) {
        tasks += request["source"] == project.path("saxpy.cu").string()
                     ? "saxpy"
                     : request["source"].get<std::string>();
        tasks += ' ' + request["arch"].get<std::string>() + ", ";
    }
    CHECK(tasks ==
          "saxpy sm_75, saxpy sm_90, reduce:shuffle sm_75, reduce:redux sm_90, "
          "reduce:cluster sm_90, reduce:shuffle sm_90, ");
    for (const char* device : {"sm_75", "sm_90"})
        CHECK(
            project.run_saxpy("cache", {{"LODE_JIT", "forbid"}, {"LODE_EMULATOR_DEVICES", device}})
                .exit_code == 0);
    // This loads every row of the family.
    Environment strict = devices;
    strict["LODE_JIT"] = "forbid";
    for (const bool is_warmed : {true, false}) {
        Environment environment = strict;
        environment.merge(project.environment(is_warmed ? "cache" : "cold"));
        const auto tuned = ::lode::test::lode(
            {"variants", "reduce", "--tune", "--problem", "1000", "--json"}, environment);
        CHECK((tuned.exit_code == 0) == is_warmed);
        CHECK((tuned.out.find("isn't in the cache") == std::string::npos) == is_warmed);
    }
    const auto none = project.warm({manifest});
    CHECK(none.exit_code == 1);
    CHECK(none.complains("app.json: /requests/0: No CUDA driver library can be opened."));
}

TEST_CASE("lode warm: kernels that are loaded by name are one compilation, except for templates") {
    const WarmProject project;
    const auto manifest = project.manifest(
        R"({"file": "templates.cu", "arch": "sm_90",
            "kernels": ["math::reverse", "math::scale<int>", "math::scale<float>", "other"]})");
    const auto requests = project.warm({manifest, "--check", "--json"}).json()["requests"];
    REQUIRE(requests.size() == 3);
    CHECK(requests[0]["names"].empty());
    CHECK(requests[1]["names"] == nlohmann::json{"math::scale<int>"});
    CHECK(requests[2]["names"] == nlohmann::json{"math::scale<float>"});
}

TEST_CASE("lode warm: each architecture gets a pack, which answers without a cache folder") {
    const WarmProject project;
    const auto manifest = project.manifest(two_sources);
    const auto pack = project.path("app.pack").string();
    const auto packed = project.warm({manifest, "--pack", pack, "--json"});
    CHECK_MESSAGE(packed.exit_code == 0, packed.err);
    const auto json = packed.json();
    REQUIRE(json["packs"].size() == 2);
    CHECK(json["packs"][0]["file"] == project.path("app.sm_80.pack").string());
    CHECK(json["packs"][0]["entries"] == 1);
    CHECK(json["packs"][1]["arch"] == "sm_90");
    CHECK(json["packs"][1]["entries"] == 2);
    CHECK(json["packs"][1]["bytes"] == fs::file_size(project.path("app.sm_90.pack")));
    CHECK_FALSE(fs::exists(pack));

    CHECK(project.warm({manifest, "--check", "--pack", pack}, "other").exit_code == 0);
    fs::remove(project.path("app.sm_80.pack"));
    const auto gone = project.warm({manifest, "--check", "--pack", pack, "--json"}, "other").json();
    CHECK(gone["missing"] == 1);
    CHECK_FALSE(fs::exists(project.path("other")));

    // The pack in use by an application.
    project.manifest(
        fmt::format(R"({{"file": "{}", "names": ["saxpy"]}})", project.path("saxpy.cu").string()),
        "native.json");
    const Environment emulated = {{"LODE_DRIVER", "emulator"}};
    const auto saxpy = project.path("native.json").string();
    CHECK(project.warm({saxpy, "--pack", project.path("native.p").string()}, "cache", emulated)
              .says("native.sm_90.p: 1 entry"));
    CHECK(project.run_saxpy("third", {{"LODE_JIT", "forbid"}}).exit_code == 1);
    const auto run = project.run_saxpy(
        "third",
        {{"LODE_JIT", "forbid"}, {"LODE_CACHE_PACKS", project.path("native.sm_90.p").string()}});
    CHECK_MESSAGE(run.exit_code == 0, run.err);
}

TEST_CASE("lode warm: what fails is named with its place, and the rest is compiled") {
    const WarmProject project;
    put(project.path("broken.cu"), broken_source);
    put(project.path("bomb.cu"), endless_code());
    put(project.path("time.cu"), "__device__ const char* t = __TIME__;\n");
    const auto manifest = project.manifest(
        R"({"file": "broken.cu", "arch": "sm_90"}, {"file": "saxpy.cu", "arch": "sm_90"},
           {"file": "absent.cu", "arch": "sm_90"}, {"file": "time.cu", "arch": "sm_90"},
           {"file": "saxpy.cu", "arch": "sm_80", "folder": "/nonexistent"})");
    const auto outcome = project.warm({manifest});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.says("5 compilations: 0 in the cache, 1 compiled in "));
    CHECK(outcome.says(", 4 failed."));
    CHECK(outcome.complains("lode: 4 of 5 compilations fail:"));
    CHECK(
        outcome.complains("app.json: /requests/0 (broken.cu for sm_90): 'broken.cu' doesn't "
                          "compile"));
    CHECK(outcome.complains("app.json: /requests/2 (absent.cu for sm_90): File 'absent.cu' "));
    CHECK(
        outcome.complains("app.json: /requests/3 (time.cu for sm_90): The result can't be kept: "
                          "the source depends on the time of compilation."));
    CHECK(
        outcome.complains("app.json: /requests/4 (saxpy.cu for sm_80): Entering the working "
                          "folder fails: No such file or directory ('/nonexistent')."));
    const auto json = project.warm({manifest, "--json"}).json();
    CHECK(json["ok"] == false);
    CHECK(json["failed"] == 4);
    CHECK(json["hits"] == 1);
    CHECK(json["requests"][0]["state"] == "failed");
    CHECK(json["requests"][0]["error"]["code"] == "compile_failed");

    const auto slow = project.manifest(
        R"({"file": "bomb.cu", "arch": "sm_90"}, {"file": "saxpy.cu", "arch": "sm_75"})");
    const auto late = project.warm({slow, "--timeout", "1500"});
    CHECK(late.exit_code == 1);
    CHECK(late.complains("Compiling 'bomb.cu' took longer than 1500 ms."));
    CHECK(late.says("1 compiled in "));
}

TEST_CASE("lode warm: one that is killed goes on where it ended") {
    const WarmProject project;
    put(project.path("bomb.cu"), endless_code());
    std::string requests;
    std::string requests_and_bombs;
    constexpr int count = 40;
    for (int i = 0; i < count; ++i) {
        const std::string request =
            fmt::format(R"({}{{"file": "saxpy.cu", "arch": "sm_90", "flags": ["-DN={}"]}})",
                        i > 0 ? "," : "", i);
        requests += request;
        requests_and_bombs += request;
        // Both jobs stop here, so that the kill always comes before the end.
        for (int bomb = 0; i == count / 2 && bomb < 2; ++bomb)
            requests_and_bombs += fmt::format(
                R"(, {{"file": "bomb.cu", "arch": "sm_90", "flags": ["-DN={}"]}})", bomb);
    }
    const auto unfinished = project.manifest(requests_and_bombs);
    const auto entries = project.path("cache/v6/entries");
    {
        Running running({"warm", unfinished, "--jobs", "2"}, project.environment("cache"));
        for (int i = 0; i < 1000; ++i) {
            // Each job may be killed between its entry and the list of headers that belongs to it.
            if (fs::exists(entries) && count_entries(entries) >= 5) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        running.send(SIGKILL);
        CHECK(running.wait().signal == SIGKILL);
    }
    const auto manifest = project.manifest(requests);
    const auto json = project.warm({manifest, "--json"}).json();
    CHECK(json["ok"] == true);
    CHECK(json["hits"] >= 3);
    CHECK(json["compiled"] >= count / 2 - 1);
    CHECK(json["hits"].get<int>() + json["compiled"].get<int>() == count);
    CHECK(project.warm({manifest, "--check"}).exit_code == 0);
}

TEST_CASE("lode warm: relative paths keep their meaning in every folder") {
    const WarmProject project;
    for (const char* folder : {"one", "two"}) {
        fs::create_directory(project.path(folder));
        put(project.path(folder) / "value.hpp", fmt::format("#define VALUE '{}'\n", folder[0]));
        put(project.path(folder) / "k.cu", with_header_source);
    }
    const auto manifest = project.manifest(
        R"({"file": "k.cu", "folder": "one", "arch": "sm_90", "flags": ["-I.", "-DFACTOR=1"]},
           {"file": "k.cu", "folder": "two", "arch": "sm_90", "flags": ["-I.", "-DFACTOR=1"]})");
    const auto filled = project.warm({manifest, "--json"}).json();
    CHECK(filled["compiled"] == 2);
    CHECK(filled["requests"][0]["code"]["key"] != filled["requests"][1]["code"]["key"]);
    put(project.path("two") / "value.hpp", "#define VALUE 3\n");
    const auto edited = project.warm({manifest, "--check", "--json"}).json();
    CHECK(edited["requests"][0]["state"] == "hit");
    CHECK(edited["requests"][1]["state"] == "missing");
    CHECK(edited["requests"][1]["reason"].get<std::string>().find("value.hpp has changed") !=
          std::string::npos);
}

TEST_CASE("lode warm: bad usage and a cache that can't be filled are errors") {
    const WarmProject project;
    const auto manifest = project.manifest(two_sources);
    CHECK(project.warm({}).exit_code == 2);
    CHECK(project.warm({manifest, "--jobs", "0"})
              .complains("--jobs is '0'; it must be a whole number from 1 to"));
    CHECK(project.warm({manifest, "--timeout", "0"}).exit_code == 2);
    CHECK(project.warm({manifest, "--arch", "sm_9x"}).exit_code == 2);
    CHECK(project.warm({project.path("absent.json").string()}).exit_code == 1);
    CHECK(project.warm({manifest}, "cache", {{"LODE_CACHE", "off"}})
              .complains("LODE_CACHE is off, so nothing can be added to the cache."));
    CHECK(project.warm({manifest}, "cache", {{"LODE_CACHE", "read-only"}})
              .complains("LODE_CACHE is read-only, so"));
    const auto wrong = project.manifest(R"({"family": "redcue", "arch": "sm_90"})", "wrong.json");
    CHECK(project.warm({wrong}).complains(
        "wrong.json: /requests/0: There is no kernel family 'redcue'. The families are: gemm, "));
    const auto row =
        project.manifest(R"({"family": "reduce", "rows": ["x"], "arch": "sm_90"})", "row.json");
    CHECK(project.warm({row}).complains("Kernel family 'reduce' has no row 'x'."));
    const auto ptx = project.manifest(R"({"family": "reduce", "arch": "compute_90"})", "ptx.json");
    CHECK(project.warm({ptx}).complains("compute_90 must be a real architecture."));
}
