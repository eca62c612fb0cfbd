// `lode doctor`: each test breaks one thing and looks for the sentence.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;
namespace fs = std::filesystem;

/// A machine with the scripted driver and an empty cache, on which tests break one thing.
class Patient {
public:
    [[nodiscard]] fs::path path(const std::string& name = "") const {
        return folder_.path() / name;
    }
    [[nodiscard]] Outcome doctor(const Environment& broken = {},
                                 std::vector<std::string> arguments = {}) const {
        Environment environment = broken;
        environment.insert({"LODE_DRIVER", LODE_SCRIPTED_DRIVER});
        environment.insert({"LODE_CACHE", "on"});
        environment.insert({"LODE_CACHE_DIR", path("cache").string()});
        arguments.insert(arguments.begin(), {"doctor", "--json"});
        return ::lode::test::lode(arguments, environment);
    }
    /// The findings of one check, as "effect: message → cure" lines.
    [[nodiscard]] std::string findings(const std::string& check, const Environment& broken = {},
                                       const std::vector<std::string>& arguments = {}) const {
        const auto outcome = doctor(broken, arguments);
        const auto json = outcome.json();
        CHECK(json["ok"] == (json["fails"] == 0));
        CHECK(outcome.exit_code == (json["fails"] == 0 ? 0 : 1));
        std::string lines;
        for (const auto& problem : json["problems"]) {
            CHECK_FALSE(problem["cure"].get<std::string>().empty());
            if (problem["check"] != check) continue;
            lines += problem["effect"].get<std::string>() + ": " +
                     problem["message"].get<std::string>() + " → " +
                     problem["cure"].get<std::string>() + "\n";
        }
        return lines;
    }

private:
    lode::ScratchFolder folder_ = make_scratch();
};

bool starts(const std::string& text, std::string_view start) {
    INFO(text);
    return text.starts_with(start);
}
bool has(const std::string& text, std::string_view part) {
    INFO(text);
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("lode doctor: a sound machine has no findings, and nothing is created") {
    const Patient patient;
    const auto outcome = patient.doctor();
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    const auto json = outcome.json();
    for (const auto& problem : json["problems"]) {
        // The machine of the tests may have its temporary files in memory, or few headers.
        const bool depends_on_machine =
            problem["check"] == "headers" || has(problem["message"], "tmpfs");
        CHECK_MESSAGE(depends_on_machine, problem.dump());
    }
    CHECK(json["fails"] == 0);
    CHECK_FALSE(fs::exists(patient.path("cache")));
    const auto text = ::lode::test::lode(
        {"doctor"},
        {{"LODE_DRIVER", "/nonexistent"}, {"LODE_CACHE_DIR", patient.path("c").string()}});
    CHECK(text.exit_code == 1);
    CHECK(text.out.starts_with("fails: driver\n  finding  No CUDA driver library can be opened."));
    CHECK(text.complains("an application fail here.\n"));
}

TEST_CASE("lode doctor: the driver and the devices") {
    const Patient patient;
    CHECK(starts(patient.findings("driver", {{"LODE_DRIVER", "/nonexistent"}}),
                 "fails: No CUDA driver library can be opened."));
    CHECK(starts(patient.findings("driver", {{"LODE_TEST_DEVICES", "0"}}),
                 "fails: The driver reports no device. → Check CUDA_VISIBLE_DEVICES"));
    const auto prohibited = patient.findings("device 0", {{"LODE_TEST_COMPUTE_MODE", "2"}});
    CHECK(starts(prohibited, "fails: "));
    CHECK(has(prohibited, "nvidia-smi --compute-mode=0"));
    CHECK(starts(patient.findings("device 0", {{"LODE_TEST_COMPUTE_MODE", "3"}}),
                 "may fail: Fake H1 is in the compute mode exclusive_process: "));
    const Environment newer = {{"LODE_TEST_CAPABILITY_MAJOR", "19"}};
    const auto as_ptx = patient.findings("device 0", newer);
    CHECK(starts(as_ptx, "slow: Fake H1 is compiled for as compute_"));
    CHECK(has(as_ptx, "PTX for the driver: machine code isn't possible."));
    Environment uncached = newer;
    uncached["CUDA_CACHE_DISABLE"] = "1";
    CHECK(starts(patient.findings("CUDA_CACHE_DISABLE", uncached),
                 "slow: CUDA_CACHE_DISABLE is 1, and the driver compiles PTX here"));
    CHECK(patient.findings("CUDA_CACHE_DISABLE", {{"CUDA_CACHE_DISABLE", "1"}}).empty());
    CHECK(has(patient.findings("driver", {{"LODE_TEST_DRIVER_VERSION", "11040"}}),
              "is too old: it supports CUDA 11.4."));
}

TEST_CASE("lode doctor: the compiler and the workers") {
    const Patient patient;
    CHECK(starts(patient.findings("compiler", {{"LODE_NVRTC", "/nonexistent"}}),
                 "fails: No usable NVRTC library can be found."));
    CHECK(patient.findings("device 0", {{"LODE_NVRTC", "/nonexistent"}}).empty());
    const Environment no_worker = {{"LODE_WORKERS", "2"}, {"LODE_WORKER", "/nonexistent/worker"}};
    CHECK(starts(patient.findings("workers", no_worker), "fails: The program lode-worker, "));
    CHECK(has(patient.findings("workers", {{"LODE_WORKER", "/nonexistent/worker"}}),
              "Without it, compilations wait for each other, and those with a limit fail."));
    const Environment off = {{"LODE_WORKERS", "off"}, {"LODE_WORKER", "/nonexistent/worker"}};
    CHECK(patient.findings("workers", off).empty());
}

TEST_CASE("lode doctor: variables with wrong, misspelt and slow values") {
    const Patient patient;
    CHECK(patient.findings("LODE_JIT", {{"LODE_JIT", "never"}}) ==
          "fails: LODE_JIT is 'never'; it must be one of allow, warn, forbid. → Correct the "
          "variable or unset it.\n");
    const Environment several = {{"LODE_SYNC_LAUNCHES", "yes"},
                                 {"LODE_FORCE_PTX", "2"},
                                 {"LODE_WORKERS", "many"},
                                 {"LODE_CACHE_MAX_BYTES", "2GiX"}};
    CHECK(patient.doctor(several).json()["fails"] == 3);
    CHECK(starts(patient.findings("workers", several), "fails: LODE_WORKERS is 'many'; it must"));
    CHECK(starts(patient.findings("cache", {{"LODE_CACHE_MAX_BYTES", "2GiX"}}),
                 "fails: LODE_CACHE_MAX_BYTES is '2GiX'; it must be"));
    CHECK(starts(patient.findings("LODE_FORCE_VARIANT", {{"LODE_FORCE_VARIANT", "reduce"}}),
                 "fails: 'reduce' doesn't name a kernel variant"));
    CHECK(starts(patient.findings("LODE_FORCE_VARIANT", {{"LODE_FORCE_VARIANT", "a:b"}}),
                 "may fail: There is no kernel family 'a'."));
    CHECK(patient.findings("LODE_CACHEDIR", {{"LODE_CACHEDIR", "/x"}}) ==
          "may fail: LODE_CACHEDIR is set, but lode has no such variable. → LODE_CACHE_DIR may be "
          "meant.\n");
    CHECK(patient.findings("LODE_UNRELATED", {{"LODE_UNRELATED", "1"}}).empty());
    struct Row {
        const char* name;
        const char* value;
        const char* start;
    };
    const Row rows[] = {
        {"LODE_CACHE", "off", "slow: LODE_CACHE is off: each start compiles every kernel"},
        {"LODE_CACHE", "read-only", "slow: LODE_CACHE is read-only: a kernel that isn't"},
        {"LODE_FORCE_PTX", "1", "slow: LODE_FORCE_PTX is 1: the driver compiles PTX"},
        {"LODE_SYNC_LAUNCHES", "1", "slow: LODE_SYNC_LAUNCHES is 1: every launch waits"},
        {"LODE_RECORD", "/tmp/r", "slow: LODE_RECORD is '/tmp/r': every request"},
        {"CUDA_LAUNCH_BLOCKING", "1", "slow: CUDA_LAUNCH_BLOCKING is 1: every launch waits"},
        {"CUDA_MODULE_LOADING", "EAGER", "slow: CUDA_MODULE_LOADING is EAGER: the driver loads"},
        {"CUDA_FORCE_PTX_JIT", "1", "may fail: CUDA_FORCE_PTX_JIT is 1: the driver ignores"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.name);
        CHECK(starts(patient.findings(row.name, {{row.name, row.value}}), row.start));
    }
}

TEST_CASE("lode doctor: the cache's folder and the packs") {
    const Patient patient;
    put(patient.path("file"), "");
    CHECK(has(patient.findings("cache", {{"LODE_CACHE_DIR", patient.path("file").string()}}),
              "slow: The cache can't be used, so each start compiles every kernel: "));
    CHECK(has(patient.findings("cache", {{"LODE_CACHE_DIR", "/proc/lode/cache"}}),
              "slow: Nothing can be written to the cache in /proc/lode/cache, so each start "));
    CHECK(has(
        patient.findings("cache", {{"LODE_CACHE_DIR", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", ""}}),
        "slow: There is no cache folder, because LODE_CACHE_DIR"));
    fs::create_directory(patient.path("open"));
    fs::permissions(patient.path("open"), fs::perms::all);
    const auto open =
        patient.findings("cache", {{"LODE_CACHE_DIR", patient.path("open").string()}});
    CHECK(has(open, "slow: The cache can't be used"));
    CHECK(has(open, "chmod go-w"));
    CHECK(has(patient.findings("pack", {{"LODE_CACHE_PACKS", "/nonexistent.pack"}}),
              "slow: A pack can't be used, so its kernels are compiled: File '/nonexistent.pack'"));
    CHECK(has(patient.findings("pack", {{"LODE_CACHE_PACKS", patient.path("file").string()}}),
              "slow: A pack can't be used"));

    // A record as large as the bound.
    const auto folder = patient.path("cache") / "v6/entries/ab";
    fs::create_directories(folder);
    fs::permissions(patient.path("cache"), fs::perms::owner_all);
    put(folder / std::string(62, 'c'), std::string(1 << 20, 'x'));
    CHECK(has(patient.findings("cache", {{"LODE_CACHE_MAX_BYTES", "1048576"}}),
              " holds 1.0 MiB of at most 1.0 MiB: kernels that were used long ago are removed"));
    CHECK_FALSE(has(patient.findings("cache"), " holds "));
}

TEST_CASE("lode doctor: what the cache lacks of a manifest, and how long it would take") {
    const Patient patient;
    put(patient.path("saxpy.cu"), saxpy_source);
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    const auto manifest = put(patient.path("app.json"), R"({"manifest": 1, "requests": [
            {"file": "saxpy.cu", "arch": ["sm_80", "sm_90"], "compile_ms": 20.4},
            {"text": "", "arch": "sm_90"}, {"file": "saxpy.cu", "arch": "compute_90"}]})")
                              .string();
    const auto cold = patient.findings("manifest", {}, {manifest});
    CHECK(has(cold,
              "slow: The cache lacks 4 compilations (at least 41 ms by the recorded times), "
              "for which the start waits.\nsaxpy.cu (saxpy) for sm_80: it was never compiled "
              "before\n"));
    CHECK(has(cold, " → Run `lode warm` with the same manifest."));
    CHECK(has(cold, "slow: 1 of the manifest's requests give PTX, which the driver compiles"));
    CHECK(has(patient.findings("manifest", {{"LODE_JIT", "forbid"}}, {manifest}),
              "fails: The cache lacks 4 compilations (at least 41 ms by the recorded times), and "
              "LODE_JIT is forbid."));

    CHECK(::lode::test::lode(
              {"warm", manifest},
              {{"LODE_CACHE", "on"}, {"LODE_CACHE_DIR", patient.path("cache").string()}})
              .exit_code == 0);
    const auto warm = patient.findings("manifest", {{"LODE_JIT", "forbid"}}, {manifest});
    CHECK_FALSE(has(warm, "lacks"));
    CHECK(has(patient.findings("manifest", {{"LODE_CACHE", "off"}}, {manifest}), "lacks 4"));

    // A pack stands for itself: the cache has everything, and the pack one architecture of two.
    const auto pack = patient.path("app.pack").string();
    const auto part = put(patient.path("part.json"), R"({"manifest": 1, "requests": [
            {"file": "saxpy.cu", "arch": "sm_80"}]})")
                          .string();
    CHECK(::lode::test::lode(
              {"warm", part, "--pack", pack},
              {{"LODE_CACHE", "on"}, {"LODE_CACHE_DIR", patient.path("cache").string()}})
              .exit_code == 0);
    CHECK(patient.findings("manifest", {}, {part, "--pack", pack}).empty());
    const auto of_pack = patient.findings("manifest", {}, {manifest, "--pack", pack});
    CHECK(has(of_pack, "slow: The packs lack 3 compilations"));
    CHECK(has(of_pack, "\nsaxpy.cu (saxpy) for sm_90: "));
    CHECK_FALSE(has(of_pack, "for sm_80: "));
    CHECK(has(of_pack, " → Run `lode warm --pack` with the same manifest and pack."));
    CHECK(has(patient.findings("pack", {}, {manifest, "--pack", pack}), "app.sm_90.pack"));
    CHECK(has(patient.findings("pack", {{"LODE_NVRTC", "/nonexistent"}}, {part, "--pack", pack}),
              "app.sm_80.pack: the compiler is part of each key, and there is none here."));
    CHECK(patient.doctor({}, {"--pack", pack}).complains("--pack needs a MANIFEST"));

    fs::remove(patient.path("saxpy.cu"));
    CHECK(has(patient.findings("manifest", {}, {manifest}),
              "app.json: /requests/0: File 'saxpy.cu' doesn't exist."));
    const auto recorded =
        put(patient.path("recording"),
            "{\"manifest\":1,\"name\":\"a\",\"text\":\"\",\"arch\":\"sm_90\",\"compiler\":\"NVRTC "
            "11.2.0\",\"compile_ms\":1}\n")
            .string();
    CHECK(has(patient.findings("manifest", {}, {recorded}),
              "slow: 1 of the manifest's requests were recorded with NVRTC 11.2.0, but NVRTC "));
}
