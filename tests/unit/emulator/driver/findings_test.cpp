// The findings of the checks race and init are errors, as those of memory are, and the report lists
// all of them.
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

using namespace lode::emulator_test;
using lode::test::Variable;

namespace {

constexpr std::string_view head = ".version 8.0\n.target sm_75\n.address_size 64\n";

/// Kernels that race, read unwritten memory, do both and then fault, or do nothing wrong.
const std::string text = std::string(head) + R"(
.shared .align 4 .b8 buffer[132];
.visible .entry races(.param .u64 to)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, buffer;
    add.u32 %r2, %r2, %r3;
    .loc 1 12 7
    st.shared.u32 [%r2], %r1;
    .loc 1 13 7
    ld.shared.u32 %r4, [%r2+4];
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry reads(.param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r3, buffer;
    .loc 1 22 7
    ld.shared.u32 %r1, [%r3];
    .loc 1 23 7
    ld.shared.u32 %r2, [%r3+4];
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry fails(.param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    mov.u32 %r3, buffer;
    .loc 1 32 7
    ld.shared.u32 %r1, [%r3];
    mov.u64 %rd1, 64;
    .loc 1 33 7
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry fine(.param .u64 to)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    st.global.u32 [%rd1], 7;
    ret;
}
.file 1 "checked.cu"
)";

/// A kernel with this number of reads of unwritten memory.
std::string reader(int reads) {
    std::string body;
    for (int k = 0; k < reads; ++k)
        body += fmt::format("ld.shared.u8 %r1, [s+{}];\n", k);
    return fmt::format(
        "{}.visible .entry many(.param .u64 to)\n{{ .reg .b32 %r<2>; .shared .b8 s[1024];\n{}ret; "
        "}}\n",
        head, body);
}

/// The lines of a report that aren't indented.
std::ptrdiff_t headlines(const std::string& report) {
    std::istringstream lines(report);
    std::ptrdiff_t count = 0;
    for (std::string line; std::getline(lines, line);)
        count += line.starts_with(' ') ? 0 : 1;
    return count;
}

struct FindingsBench {
    explicit FindingsBench(const char* checks, const char* findings = nullptr,
                           const std::string& source = text)
        : set(checks, findings) {
        REQUIRE(CU(cuModuleLoadData, 2000)(&module, source.c_str()) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&memory, 16) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemsetD8, 3020)(memory, 0, 16) == CUDA_SUCCESS);
    }
    [[nodiscard]] CUresult launch(const char* name) const {
        CUfunction function = nullptr;
        REQUIRE(CU(cuModuleGetFunction, 2000)(&function, module, name) == CUDA_SUCCESS);
        CUdeviceptr to = memory;
        void* arguments[] = {&to};
        return CU(cuLaunchKernel, 4000)(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments,
                                        nullptr);
    }
    /// The result of the synchronization after a launch.
    [[nodiscard]] CUresult run(const char* name) const {
        REQUIRE(launch(name) == CUDA_SUCCESS);
        return CU(cuCtxSynchronize, 2000)();
    }

    struct Variables {
        Variables(const char* checks, const char* findings) {
            setenv("LODE_EMULATOR_CHECK", checks, 1);
            if (findings != nullptr) setenv("LODE_EMULATOR_FINDINGS", findings, 1);
        }
        ~Variables() {
            unsetenv("LODE_EMULATOR_CHECK");
            unsetenv("LODE_EMULATOR_FINDINGS");
        }
        Variables(const Variables&) = delete;
        Variables& operator=(const Variables&) = delete;
    } set;
    Machine machine;
    Current scope;
    CUmodule module = nullptr;
    CUdeviceptr memory = 0;
};

}  // namespace

TEST_CASE("emulator findings: a race is an error at the next sync, with its report") {
    for (const char* findings : {"", "fail"}) {
        const FindingsBench bench("race", *findings == '\0' ? nullptr : findings);
        CHECK(bench.run("races") == CUDA_ERROR_LAUNCH_FAILED);
        const std::string report = bench.machine.take_report();
        CAPTURE(report);
        CHECK(report.starts_with(
            "checked.cu:13: races reads buffer in a race with the write at checked.cu:12\n"
            "  race: it reads what thread ("));
        CHECK(report.find("\n  code: ld.shared.u32, PTX line ") != std::string::npos);
        // The log has had it before it was found again.
        const std::string first = report.substr(0, report.find("\n  count: "));
        CHECK(first.size() < report.size());
        CHECK(bench.machine.log().find(first) != std::string::npos);
    }
}

TEST_CASE("emulator findings: the kernel continues, and the report lists all findings") {
    const FindingsBench bench("init");
    REQUIRE(bench.launch("reads") == CUDA_SUCCESS);
    CHECK(CU(cuStreamSynchronize, 2000)(nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    const std::string report = bench.machine.take_report();
    CAPTURE(report);
    CHECK(report.find("\nchecked.cu:23: reads reads 4 bytes of buffer that the block hasn't "
                      "written\n") != std::string::npos);
    CHECK(report.find("checked.cu:22") < report.find("checked.cu:23"));
    CHECK(report.find("checked.cu:23") != std::string::npos);
}

TEST_CASE("emulator findings: the error sticks to the context until its reset") {
    const FindingsBench bench("init");
    REQUIRE(bench.run("reads") == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_ERROR_LAUNCH_FAILED);
    CUdeviceptr more = 0;
    CHECK(CU(cuMemAlloc, 3020)(&more, 16) == CUDA_ERROR_LAUNCH_FAILED);
    reset_and_reopen();
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
}

TEST_CASE("emulator findings: a report begins with the fault, followed by earlier findings") {
    const FindingsBench bench("memory,init");
    CHECK(bench.run("fails") == CUDA_ERROR_ILLEGAL_ADDRESS);
    const std::string report = bench.machine.take_report();
    CAPTURE(report);
    CHECK(report.starts_with(
        "checked.cu:33: fails writes 4 bytes through a null pointer\n  address: 0x40\n"));
    CHECK(report.find(
              "\nchecked.cu:32: fails reads 4 bytes of buffer that the block hasn't written") !=
          std::string::npos);
}

TEST_CASE("emulator findings: a report is limited and counts what it leaves out") {
    const FindingsBench bench("init", nullptr, reader(100));
    CHECK(bench.run("many") == CUDA_ERROR_LAUNCH_FAILED);
    const std::string log = bench.machine.log();
    CHECK(std::ranges::count(log, '\n') >= 100);
    std::string report(std::size_t{64} * 1024, '\0');
    report.resize(control<decltype(lode_emulator_take_report)>("lode_emulator_take_report")(
        report.data(), report.size()));
    CHECK(headlines(report) == 33);
    CHECK(report.ends_with("\nThe log has 68 more findings of this launch."));
    CHECK(report.size() < 25 * 1024);
}

TEST_CASE("emulator findings: LODE_EMULATOR_FINDINGS=log only writes findings to the log") {
    const FindingsBench bench("race,init", "log");
    CHECK(bench.run("races") == CUDA_SUCCESS);
    CHECK(bench.run("reads") == CUDA_SUCCESS);
    CHECK(bench.run("fine") == CUDA_SUCCESS);
    CHECK(bench.machine.log().find(": races reads buffer in a race") != std::string::npos);
    CHECK(bench.machine.log().find("the block hasn't written") != std::string::npos);
}

TEST_CASE("emulator findings: with LODE_EMULATOR_FINDINGS=log, wrong accesses are skipped") {
    // Lanes from 4 on load and store past the end of 16 bytes.
    const std::string source = std::string(head) + R"(
.visible .entry past(.param .u64 to)
{
    .reg .b32 %r<7>;
    .reg .b64 %rd<4>;
    .reg .pred %p;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd2, %rd2, %rd1;
    mov.u32 %r3, 0;
    mov.u32 %r5, 0;
Next:
    ld.global.u32 %r2, [%rd2];
    add.u32 %r3, %r3, %r2;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p, %r5, 100;
    @%p bra Next;
    st.global.u32 [%rd2], %r3;
    shfl.sync.idx.b32 %r4, %r3, 5, 31, -1;
    setp.eq.u32 %p, %r1, 0;
    @%p st.global.u32 [%rd1+12], %r4;
    ret;
}
)";
    const FindingsBench bench("memory", "log", source);
    for (int round = 0; round < 2; ++round) {
        REQUIRE(CU(cuMemsetD8, 3020)(bench.memory, 1, 16) == CUDA_SUCCESS);
        CHECK(bench.run("past") == CUDA_SUCCESS);
        std::array<unsigned, 4> words{};
        CHECK(CU(cuMemcpyDtoH, 3020)(words.data(), bench.memory, sizeof(words)) == CUDA_SUCCESS);
        constexpr unsigned sum = 100 * 0x01010101U;
        CHECK(words == std::array<unsigned, 4>{sum, sum, sum, 0});
        const std::string report = bench.machine.take_report();
        CHECK(report.find("past reads 4 bytes past the end of") != report.npos);
        CHECK(report.find("past writes 4 bytes past the end of") != report.npos);
    }
}

TEST_CASE("emulator findings: a correct program has no findings") {
    const FindingsBench bench("memory,race,init");
    CHECK(bench.run("fine") == CUDA_SUCCESS);
    CHECK(bench.machine.take_report().empty());
}

TEST_CASE(
    "emulator findings: sync and all are checks, and a report file has a line for each finding") {
    const std::string divergent = std::string(head) + R"(
.visible .entry waits(.param .u64 to)
{
    .reg .b32 %r<3>;
    .reg .pred %p<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 16;
    .loc 1 7 3
    @%p1 bar.sync 0;
    st.global.u32 [%rd1], 7;
    ret;
}
.file 1 "checked.cu"
)";
    const std::string file =
        fmt::format("{}/findings_{}.json", LODE_TEST_FOLDER, static_cast<int>(getpid()));
    for (const char* const checks : {"sync", "all"}) {
        CAPTURE(std::string(checks));
        setenv("LODE_EMULATOR_REPORT", file.c_str(), 1);
        const FindingsBench bench(checks, nullptr, divergent);
        unsetenv("LODE_EMULATOR_REPORT");
        CHECK(bench.run("waits") == CUDA_ERROR_LAUNCH_FAILED);
        CHECK(bench.machine.take_report().find("waits at a barrier in divergent code") !=
              std::string::npos);
        std::ifstream in(file);
        const std::string lines{std::istreambuf_iterator<char>(in), {}};
        // All lanes store the same value: a benign race, which only the file tells.
        const bool races = lines.find("{\"kind\": \"benign\"") != lines.npos;
        CHECK(races == (std::string_view(checks) == "all"));
        CHECK((lines.find("\"check\": \"benign-race\"") != lines.npos) == races);
        CHECK(lines.find("{\"kind\": \"finding\"") != lines.npos);
        CHECK(lines.find("\"check\": \"divergent-barrier\", \"count\": 1, \"thread\": [0, 0, 0], "
                         "\"block\": [0, 0, 0], \"ptx_line\": ") != lines.npos);
        CHECK(lines.find("\"stack\": [{\"file\": \"checked.cu\", \"line\": 7}]") != lines.npos);
        std::remove(file.c_str());
    }
}

namespace {

std::string endless() {
    return std::string(head) + R"(
.visible .entry spins(.param .u64 to)
{
LOOP:
    bra LOOP;
}
)";
}

}  // namespace

TEST_CASE("emulator findings: a time-out ends a kernel and says where its warps stand") {
    setenv("LODE_EMULATOR_TIMEOUT", "30", 1);
    const FindingsBench bench("memory", nullptr, endless());
    unsetenv("LODE_EMULATOR_TIMEOUT");
    CHECK(bench.run("spins") == CUDA_ERROR_LAUNCH_TIMEOUT);
    CHECK(bench.machine.take_report().find(
              ": spins runs longer than the limit of 30 ms\n  warp 0 (lanes "
              "0xffffffff) runs, thread (0,0,0)") != std::string::npos);
}

TEST_CASE("emulator findings: where they are collected, a launch has a limit by default") {
    const auto set_default =
        control<decltype(lode_emulator_set_default_timeout)>("lode_emulator_set_default_timeout");
    const Variable report("LODE_EMULATOR_REPORT", "/dev/null");
    set_default(30);
    const FindingsBench bench("memory", nullptr, endless());
    CHECK(bench.run("spins") == CUDA_ERROR_LAUNCH_TIMEOUT);
    const std::string text = bench.machine.take_report();
    CHECK_MESSAGE(
        text.find(": spins runs longer than the limit of 30 ms\n"
                  "  limit: the default of lode emulate; LODE_EMULATOR_TIMEOUT sets "
                  "another in milliseconds, and 0 none\n"
                  "  warp 0 (lanes 0xffffffff) runs, thread (0,0,0)") != std::string::npos,
        text);
}

TEST_CASE("emulator findings: LODE_EMULATOR_TIMEOUT replaces the default limit") {
    const auto set_default =
        control<decltype(lode_emulator_set_default_timeout)>("lode_emulator_set_default_timeout");
    const Variable report("LODE_EMULATOR_REPORT", "/dev/null");
    set_default(3'600'000);
    const Variable timeout("LODE_EMULATOR_TIMEOUT", "30");
    const FindingsBench bench("memory", nullptr, endless());
    CHECK(bench.run("spins") == CUDA_ERROR_LAUNCH_TIMEOUT);
    CHECK(bench.machine.take_report().find("the default") == std::string::npos);
}
