// Several processes on one cache folder, with NVRTC.
#include "tests/cache_torture/spawn.hpp"
#include "tests/support/scratch.hpp"

#include <lode/jit/compiler.hpp>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using lode::test::put;
using lode::test::Worker;

namespace {

constexpr const char* saxpy =
    "#include <cuda_fp16.h>\n"
    "extern \"C\" __global__ void saxpy(float a, const float* x, float* y, int n) {\n"
    "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = a * x[i] + y[i] + __half2float(__half{});\n"
    "}\n";

/// A kernel source and its cache; starts processes that compile it.
struct Site {
    Site() {
        file = put(scratch.path() / "saxpy.cu", saxpy);
        std::filesystem::create_directory(scratch.path() / "inc");
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    [[nodiscard]] std::unique_ptr<Worker> start(const char* arch = "sm_90") const {
        return std::make_unique<Worker>(std::vector<std::string>{
            "compile", cache().string(), file.string(), arch, (scratch.path() / "inc").string()});
    }
    [[nodiscard]] std::filesystem::path cache() const { return scratch.path() / "cache"; }

    lode::ScratchFolder scratch = lode::test::make_scratch();
    std::filesystem::path file;
};

bool has_nvrtc() {
    const bool found = lode::Compiler().info().has_value();
    if (!found) MESSAGE("skipped: NVRTC isn't available");
    return found;
}

}  // namespace

TEST_CASE("cache: a warm process gets verified code without opening NVRTC") {
    if (!has_nvrtc()) return;
    const Site site;
    const auto cold = site.start()->answer();
    CHECK(cold["tier"] == "");
    CHECK(cold["not_kept"] == "");
    CHECK(cold["nvrtc_mapped"] == true);
    const auto warm = site.start()->answer();
    CHECK(warm["tier"] == "disk");
    CHECK(warm["compilations"] == 0);
    CHECK(warm["nvrtc_mapped"] == false);
    CHECK(warm["code"] == cold["code"]);
}

TEST_CASE("cache: 32 processes on a cold cache compile once") {
    if (!has_nvrtc()) return;
    const Site site;
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < 32; ++i)
        workers.push_back(site.start());
    int compilations = 0;
    std::set<std::string> codes;
    for (const auto& worker : workers) {
        const auto answer = worker->answer();
        compilations += answer["compilations"].get<int>();
        codes.insert(answer["code"]);
    }
    CHECK(compilations == 1);
    CHECK(codes.size() == 1);
}

TEST_CASE("cache: processes that compile different targets don't wait for each other's key") {
    if (!has_nvrtc()) return;
    const Site site;
    const auto one = site.start("sm_90");
    const auto other = site.start("sm_80");
    CHECK(one->answer()["compilations"] == 1);
    CHECK(other->answer()["compilations"] == 1);
    CHECK(site.start("sm_90")->answer()["tier"] == "disk");
    CHECK(site.start("sm_80")->answer()["tier"] == "disk");
}

TEST_CASE("cache: a process that dies while compiling doesn't block the others") {
    if (!has_nvrtc()) return;
    const Site site;
    for (int i = 0; i < 10; ++i) {
        const auto victim = site.start();
        std::this_thread::sleep_for(std::chrono::milliseconds(5 * i));
        const auto waiting = site.start();
        victim->kill();
        (void)victim->wait();
        const auto answer = waiting->answer();
        CHECK(answer["milliseconds"] < 20'000);
        std::filesystem::remove_all(site.cache());
    }
}

TEST_CASE("cache: on a folder that can't be written each process compiles for itself") {
    if (!has_nvrtc()) return;
    const Site site;
    put(site.cache(), "a file stands in the way");
    const auto answer = site.start()->answer();
    CHECK(answer["compilations"] == 1);
    CHECK(answer["faults"] == 1);
    CHECK(site.start()->answer()["compilations"] == 1);
}

TEST_CASE("cache: an edited header is seen by the next process, with NVRTC's own list") {
    if (!has_nvrtc()) return;
    const Site site;
    const auto write = [&](const char* name, const char* text) {
        put(site.scratch.path() / "inc" / name, text);
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
    };
    put(site.file,
        "#define NAME <factor.h>\n#include NAME\n#include <deep.h>\n"
        "extern \"C\" __global__ void k(int* p) { *p = FACTOR + DEEP; }\n");
    write("factor.h", "#define FACTOR 1\n");
    write("deep.h", "#include \"deeper.h\"\n");
    write("deeper.h", "#define DEEP 10\n");
    write("other.h", "#define OTHER 1\n");
    const auto first = site.start()->answer();
    CHECK(first["not_kept"] == "");
    CHECK(site.start()->answer()["tier"] == "disk");
    write("other.h", "#define OTHER 2\n");
    CHECK(site.start()->answer()["tier"] == "disk");
    write("deeper.h", "#define DEEP 20\n");
    const auto second = site.start()->answer();
    CHECK(second["tier"] == "");
    CHECK(second["code"] != first["code"]);
    write("factor.h", "#define FACTOR 2\n");
    CHECK(site.start()->answer()["tier"] == "");
    write("factor.h", "#define FACTOR 1\n");
    write("deeper.h", "#define DEEP 10\n");
    const auto back = site.start()->answer();
    CHECK(back["tier"] == "disk");
    CHECK(back["code"] == first["code"]);
}
