// The form of reports, and which findings are one.
#include "tests/unit/emulator/exec/checked.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

using namespace lode::emulator;
using namespace lode::emulator::exec;
using namespace lode::emulator::exec::testing;

namespace {

/// A kernel with the race check that keeps how often each finding was found again.
struct Grouped : Checked {
    explicit Grouped(const std::string& body)
        : Checked(
              "__device__ __forceinline__ unsigned get(const unsigned* p, int i) {\n"
              "return p[i]; }\n"
              "extern \"C\" __global__ void k(unsigned* a) {\n"
              "__shared__ unsigned s[64];\nconst unsigned t = threadIdx.x;\n" +
              body + "}\n") {
        options.checks.race = true;
        options.repeated = [this](const FindingReport& report) { again.push_back(report.count); };
        outcome = go({1}, {32}, words(128));
    }
    [[nodiscard]] std::vector<std::string> headlines() const {
        std::vector<std::string> all;
        for (const std::string& finding : findings)
            all.push_back(finding.substr(0, finding.find('\n')));
        std::ranges::sort(all);
        return all;
    }

    std::vector<std::uint64_t> again;
    LaunchOutcome outcome;
};

}  // namespace

TEST_CASE("headlines: one missing barrier in an unrolled loop is one finding, with a count") {
    const Grouped rig(
        "s[t] = t;\n__syncthreads();\n#pragma unroll\n"
        "for (int d = 16; d > 0; d /= 2) {\nconst unsigned v = s[(t + d) % 32];\n"
        "__syncwarp();\nif (d > 1) s[t] += v; else a[t] = v;\n}\n");
    CHECK(rig.headlines() ==
          std::vector<std::string>{
              "checked.cu:10: k reads s in a race with the write at checked.cu:12"});
    REQUIRE(rig.again.size() == 1);
    CHECK(rig.again[0] + 1 == rig.outcome.findings);
}

TEST_CASE("headlines: one load that races with two stores is two findings") {
    const Grouped rig(
        "s[t] = 0;\n__syncthreads();\nif (t == 0) s[5] = 1;\nif (t == 1) s[6] = 2;\n"
        "a[t] = s[t % 8];\n");
    CHECK(rig.headlines() ==
          std::vector<std::string>{
              "checked.cu:10: k reads s in a race with the write at checked.cu:8",
              "checked.cu:10: k reads s in a race with the write at checked.cu:9"});
}

TEST_CASE("headlines: a function that is inlined at two lines has two findings") {
    const Grouped rig(
        "s[t] = t;\na[t] = get(s, t ^ 1);\n__syncwarp();\ns[t] = 2;\na[t + 32] = get(s, t ^ 3);\n");
    const auto all = rig.headlines();
    REQUIRE(all.size() == 2);
    const std::string text = rig.findings[0] + rig.findings[1];
    CHECK(text.find("inlined at: checked.cu:7") != text.npos);
    CHECK(text.find("inlined at: checked.cu:10") != text.npos);
}

TEST_CASE("headlines: long names and paths are shortened, and the facts have them whole") {
    const std::string path = fmt::format("/{}/kernels.cu", std::string(90, 'p'));
    const std::string symbol =
        "_ZN7company14linear_algebra10accumulateINS0_4TileILi128ELi64EEES3_EEvPT_i";
    const std::string text = fmt::format(
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry {}(.param .u64 to)\n{{\n"
        ".reg .b64 %rd<2>;\n.loc 1 7 3\nld.param.u64 %rd1, [to];\nst.global.u32 [%rd1], 1;\nret;\n"
        "}}\n.file 1 \"{}\"\n",
        symbol, path);
    Rig rig;
    const auto module = rig.load(text);
    const std::string report = rig.run(*module, symbol, {1}, {1}, std::uint64_t{0}).report;
    check_form(report);
    CHECK_MESSAGE(
        report.starts_with("kernels.cu:7: company::linear_algebra::accumulate<...> writes 4 bytes "
                           "through a null pointer\n  address: 0x0\n"),
        report);
    CHECK(report.find("\n  source: " + path + ":7") != report.npos);
    CHECK(report.find("\n  kernel: void company::linear_algebra::accumulate<") != report.npos);
}

TEST_CASE("headlines: without line information, the place is a line of the PTX") {
    Rig rig;
    const auto module = rig.load(ptx_kernel("", "mov.u64 %rd1, 0;\nst.global.u32 [%rd1], 1;"));
    const std::string report = rig.run(*module, "k", {1}, {1}).report;
    check_form(report);
    CHECK(report.starts_with("PTX line "));
    CHECK(report.find(": k writes 4 bytes through a null pointer\n") != report.npos);
    CHECK(report.find("\n  thread: (0,0,0) of block (0,0,0); grid (1,1,1), block (1,1,1)\n") !=
          report.npos);
    CHECK(report.find("\n  code: st.global.u32, PTX line ") != report.npos);
}
