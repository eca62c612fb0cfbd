// The whole corpus, compiled by NVRTC for five architectures and run with several schedules.
#include "tests/unit/emulator/exec/support.hpp"

#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace lode::emulator::exec {

namespace {

using testing::EmulatedDevice;
using testing::Rig;

std::string ptx_of(std::string_view file, const Arch& arch) {
    static const Compiler compiler;
    CompileOptions options;
    options.line_info = true;
    options.extra_flags = {"--device-int128"};
    // The CUB of CUDA 12.4 has functions without an execution space.
    const auto info = compiler.info();
    if (info && info->version_major == 12 && info->version_minor == 4)
        options.extra_flags.emplace_back("-default-device");
    const auto source =
        Source::file(std::string(LODE_SOURCE_DIR "/tests/corpus/kernels/") + std::string(file));
    auto image = compiler.compile(source, arch, options);
    if (!image) throw std::runtime_error(image.error().message);
    return image->ptx;
}

/// Optional checks must find nothing.
void run_all(const std::string& arch_name, unsigned workers, std::uint64_t seed,
             const Checks& checks = {}) {
    const Arch arch = *Arch::parse(arch_name);
    Rig rig(workers);
    rig.options.seed = seed;
    rig.options.timeout = std::chrono::seconds(60);
    std::vector<std::string> findings;
    rig.options.checks = checks;
    rig.options.finding = [&](std::string_view text) { findings.emplace_back(text); };
    if (checks.init) REQUIRE(rig.memory.watch_writes());
    std::map<std::string_view, std::unique_ptr<Module>> modules;
    for (const corpus::Case& one : corpus::all_cases()) {
        INFO(one.name, " of ", one.source, " for ", arch_name);
        auto& module = modules[one.source];
        if (!module) module = rig.load(ptx_of(one.source, arch), 12, 1);
        REQUIRE(module);
        EmulatedDevice device(rig, *module);
        corpus::Check check;
        REQUIRE_NOTHROW(one.run(device, check));
        CHECK(check.compared() > 0);
        for (const std::string& difference : check.differences())
            FAIL_CHECK(difference);
        for (const std::string& finding : findings)
            FAIL_CHECK(finding);
        findings.clear();
    }
}

/// Every kernel of every file of the corpus loads, also those that no case runs.
void load_all(const std::string& arch_name) {
    const Arch arch = *Arch::parse(arch_name);
    const auto info = Compiler().info();
    REQUIRE(info);
    if (std::ranges::find(info->supported, arch.cc()) == info->supported.end()) {
        MESSAGE(info->name(), " doesn't compile for ", arch_name);
        return;
    }
    Rig rig;
    std::set<std::string_view> files;
    for (const corpus::Case& one : corpus::all_cases())
        files.insert(one.source);
    std::size_t kernels = 0;
    for (const std::string_view file : files) {
        INFO(file, " for ", arch_name);
        const auto module =
            rig.load(ptx_of(file, arch), arch.cc().cc_major(), arch.cc().cc_minor());
        for (const std::string& name : module->kernel_names()) {
            const Refusal* const refusal = module->refusal(name);
            CHECK_MESSAGE(refusal == nullptr, (refusal != nullptr ? refusal->message : ""));
            CHECK(module->kernel(name) != nullptr);
            ++kernels;
        }
    }
    CHECK(files.size() >= 20);
    CHECK(kernels >= 60);
}

}  // namespace

TEST_CASE("ptx grammar: a CUB DeviceRadixSort kernel loads and sorts") {
    Rig rig;
    const std::string ptx = ptx_of("cub_radix.cu", *Arch::parse("compute_90"));
    CHECK(ptx.find("vote.ballot.sync.b32") != ptx.npos);  // The modifier order that CUB uses.
    const auto module = rig.load(ptx);
    REQUIRE(module);
    EmulatedDevice device(rig, *module);
    for (const corpus::Case& one : corpus::all_cases()) {
        if (one.source != "cub_radix.cu") continue;
        corpus::Check check;
        one.run(device, check);
        CHECK(check.compared() > 0);
        CHECK(check.differences().empty());
    }
}
TEST_CASE("corpus: every kernel is correct for compute_75") {
    run_all("compute_75", 1, 0);
}
TEST_CASE("corpus: every kernel is correct for compute_80 on all workers") {
    run_all("compute_80", 0, 0);
}
TEST_CASE("corpus: every kernel is correct for compute_90 in shuffled order") {
    run_all("compute_90", 2, 20'26);
}
TEST_CASE("corpus: every kernel is correct for compute_100") {
    run_all("compute_100", 1, 0);
}
TEST_CASE("corpus: every kernel is correct for compute_120 in shuffled order") {
    run_all("compute_120", 1, 7);
}
#define LODE_CORPUS_LOADS(arch)                         \
    TEST_CASE("corpus: every kernel loads for " arch) { \
        load_all(arch);                                 \
    }
LODE_CORPUS_LOADS("compute_75")
LODE_CORPUS_LOADS("compute_80")
LODE_CORPUS_LOADS("compute_86")
LODE_CORPUS_LOADS("compute_87")
LODE_CORPUS_LOADS("compute_88")
LODE_CORPUS_LOADS("compute_89")
LODE_CORPUS_LOADS("compute_90")
LODE_CORPUS_LOADS("compute_100")
LODE_CORPUS_LOADS("compute_103")
LODE_CORPUS_LOADS("compute_110")
LODE_CORPUS_LOADS("compute_120")
LODE_CORPUS_LOADS("compute_121")
TEST_CASE("corpus: no kernel reads unwritten memory, on all workers") {
    run_all("compute_90", 0, 0, {.init = true});
}
TEST_CASE("corpus: no kernel races, on all workers") {
    run_all("compute_90", 0, 0, {.race = true});
}
TEST_CASE("corpus: no kernel races or misuses a barrier, in shuffled order") {
    run_all("compute_80", 1, 11, {.race = true, .sync = true});
}

}  // namespace lode::emulator::exec
