// The command when a signal ends it during a compilation.
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

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
using Clock = std::chrono::steady_clock;

/// A kernel that takes NVRTC about a second, with a header.
struct LargeProject {
    LargeProject() {
        std::string text = "#include \"c.h\"\n";
        for (int i = 0; i < 4000; ++i)
            text += "__device__ int f" + std::to_string(i) +
                    "(int x) { for (int j = 0; j < x; ++j) x ^= j * V; return x; }\n";
        text += "extern \"C\" __global__ void k(int* x) { *x = f7(V); }\n";
        put(folder.path() / "c.h", "#define V 7\n");
        file = put(folder.path() / "a.cu", text).string();
        fs::create_directory(temporary);
    }
    [[nodiscard]] std::vector<std::string> line() const {
        return {"compile", file, "--arch", "sm_90", "--out-dir", (folder.path() / "out").string()};
    }
    [[nodiscard]] Environment environment(const std::string& cache) const {
        Environment all = no_driver;
        all["TMPDIR"] = temporary.string();
        all["LODE_CACHE"] = "on";
        all["LODE_CACHE_DIR"] = (folder.path() / cache).string();
        return all;
    }

    lode::ScratchFolder folder = make_scratch();
    fs::path temporary = folder.path() / "tmp";
    std::string file;
};

std::string first_in(const fs::path& folder) {
    const fs::directory_iterator at(folder);
    return at == fs::directory_iterator() ? "" : at->path().filename().string();
}

/// Signals a compilation after `delay` and returns whether the signal ended it. It may not: on a
/// busy machine the measured run may have been slow and this one fast.
bool interrupt(const LargeProject& project, const std::string& cache, int signal,
               Clock::duration delay) {
    Running running(project.line(), project.environment(cache));
    std::this_thread::sleep_for(delay);
    running.send(signal);
    return running.wait().exit_code != 0;
}

}  // namespace

TEST_CASE("interrupted: a compilation that a signal ends leaves nothing in TMPDIR") {
    const LargeProject project;
    const auto start = Clock::now();
    REQUIRE(lode::test::lode(project.line(), project.environment("whole")).exit_code == 0);
    const auto whole = Clock::now() - start;
    for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
        for (const int percent : {25, 50, 75}) {
            CAPTURE(signal);
            CAPTURE(percent);
            std::string cache;
            bool ended = false;
            for (int attempt = 0; !ended && attempt < 8; ++attempt) {
                cache = fmt::format("{} at {}, {}", signal, percent, attempt);
                ended = interrupt(project, cache, signal, whole * percent / 100 / (1 << attempt));
                CHECK(first_in(project.temporary) == "");
                fs::remove_all(project.temporary);
                fs::create_directory(project.temporary);
            }
            REQUIRE(ended);
            // What it leaves in the cache does no harm.
            if (percent != 50) continue;
            CHECK(lode::test::lode({"cache", "verify"}, project.environment(cache)).exit_code == 0);
            const auto again = lode::test::lode(project.line(), project.environment(cache));
            CHECK(again.exit_code == 0);
            CHECK_MESSAGE(again.err.empty(), again.err);
        }
    }
}
