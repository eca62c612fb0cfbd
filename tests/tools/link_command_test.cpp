// `lode link`. The judge of linked code is the software device, which runs it.
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

constexpr std::string_view caller_source = R"(
extern __device__ int twice(int x);
extern "C" __global__ void caller(int* values) { values[threadIdx.x] = twice(values[threadIdx.x]); }
)";
constexpr std::string_view callee_source = "__device__ int twice(int x) { return 2 * x; }\n";

/// Two sources of which one calls the other.
class Parts {
public:
    Parts() {
        put(at("caller.cu"), caller_source);
        put(at("callee.cu"), callee_source);
    }
    [[nodiscard]] std::string at(const std::string& name) const {
        return (folder_.path() / name).string();
    }
    void compile(const std::string& how) const {
        const auto outcome =
            lode::test::lode({"compile", at("caller.cu"), at("callee.cu"), how, "--arch",
                              "sm_90,compute_90", "--out-dir", folder_.path().string()},
                             no_driver);
        REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    }

private:
    lode::ScratchFolder folder_ = make_scratch();
};

}  // namespace

TEST_CASE("lode link: cubins and PTX become one cubin, whose parts are resolved") {
    const Parts parts;
    parts.compile("--relocatable");
    for (const std::string kind : {"sm_90.cubin", "compute_90.ptx"}) {
        CAPTURE(kind);
        const auto out = parts.at("app.cubin");
        const auto linked =
            lode::test::lode({"link", parts.at("caller." + kind), parts.at("callee." + kind), "-o",
                              out, "--arch", "sm_90", "--report"},
                             no_driver);
        REQUIRE_MESSAGE(linked.exit_code == 0, linked.err);
        CHECK(linked.says("app.cubin, machine code for sm_90"));
        const auto shown = lode::test::lode({"info", out}, no_driver);
        CHECK(shown.says("app.cubin, machine code"));
        CHECK(shown.says("    caller\n"));
    }
    const auto alone = lode::test::lode(
        {"link", parts.at("caller.sm_90.cubin"), "-o", parts.at("no"), "--arch", "sm_90"},
        no_driver);
    CHECK(alone.exit_code == 1);
    CHECK_MESSAGE(alone.complains("twice"), alone.err);
}

TEST_CASE("lode link: LTO-IR becomes PTX that runs") {
    const Parts parts;
    parts.compile("--lto");
    const auto out = parts.at("app.ptx");
    const auto linked = lode::test::lode(
        {"link", parts.at("callee.sm_90.ltoir"), "-", "-o", out, "--arch", "compute_90", "--json"},
        no_driver, {.in = parts.at("caller.sm_90.ltoir")});
    REQUIRE_MESSAGE(linked.exit_code == 0, linked.err);
    const auto json = linked.json();
    CHECK(json["command"] == "link");
    CHECK(json["inputs"][1]["name"] == "stdin");
    CHECK(json["inputs"][1]["kind"] == "LTO-IR");
    CHECK(json["file"]["kind"] == "ptx");
#ifdef LODE_EMULATE_CLIENT
    const auto ran = lode::test::lode(
        {"run", out, "caller", "--grid", "1", "--block", "4", "--json", "--", "i32[4]:iota"},
        {{"LODE_DRIVER", "emulator"}});
    REQUIRE_MESSAGE(ran.exit_code == 0, ran.err);
    CHECK(ran.json()["arguments"][0]["head"] == nlohmann::json({0, 2, 4, 6}));
#endif
}

TEST_CASE("lode link: wrong inputs are refused") {
    const Parts parts;
    const std::string source = parts.at("caller.cu");
    const std::pair<std::vector<std::string>, const char*> mistakes[] = {
        {{source, "-o", parts.at("x"), "--arch", "sm_90"},
         "`lode compile` compiles CUDA C++ first"},
        {{source, "-o", parts.at(""), "--arch", "sm_90"},
         "a folder; it must name a file. Name one in it."},
        {{source, "-o", parts.at("x"), "--arch", "sm90"}, "Did you mean 'sm_90'?"},
        {{source, "-o", parts.at("x"), "--arch", "sm_90", "--max-registers", "256"},
         "--max-registers is '256'; it must be a whole number from 0 to 255"},
        {{source, "--arch", "sm_90"}, "--output is required"},
        {{parts.at("none"), "-o", parts.at("x"), "--arch", "sm_90"}, "none"}};
    for (const auto& [words, sentence] : mistakes) {
        auto all = words;
        all.insert(all.begin(), "link");
        const auto outcome = lode::test::lode(all, no_driver);
        CHECK(outcome.exit_code != 0);
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
    }
}
