// Searches for a wrong answer of the cache and of a process that has compiled before:
//   lode_ir_oracle [--steps N] [--seed S] [--least-hits PERCENT]
// Each step is a process with a CachedCompiler on one folder, which answers a sequence of random
// requests for IR. Each answer must be what libNVVM and nvJitLink give, called by hand, in a
// program that compiles nothing else. Prints the first difference and exits with 1.
// With libLLVM and its programs, half of the requests are for LLVM IR, and opt and llc judge.
//   lode_ir_oracle --request SEED NVVM LINKER LLVM     prints what they give for one request, with
//                                                      LLVM's version, or 0
#include "tests/cache_oracle/dice.hpp"
#include "tests/cache_oracle/in_process.hpp"
#include "tests/ir/direct.hpp"
#include "tests/ir/llvm_programs.hpp"
#include "tests/support/scratch_folder.hpp"

#include <lode/base/digest.hpp>
#include <lode/jit/cache.hpp>
#include <lode/jit/linker.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace lode::oracle {
namespace {

constexpr const char* modules[] = {"scale", "sine", "reverse", "lines"};
constexpr const char* targets[] = {"sm_75", "sm_80",      "sm_86",  "sm_90",       "sm_90a",
                                   "sm_90", "compute_90", "sm_100", "compute_120", "sm_999"};
constexpr const char* operations[] = {"fadd", "fdiv", "fdiv", "wrong"};
constexpr const char* flags[] = {"-opt=0", "-opt=3", "-jump-table-density=50"};
constexpr const char* llvm_flags[] = {"-O0", "-O1", "-O2", "-O3", "-mattr=+ptx75"};

struct RandomRequest {
    std::uint64_t seed = 0;
    std::string name;
    std::string code;
    Arch arch;
    CompileOptions options;
    bool calls_libdevice = false;
    bool is_llvm = false;

    [[nodiscard]] Source source() const {
        return is_llvm ? Source::llvm_ir(code, name) : Source::nvvm_ir(code, name);
    }
};

/// `llvm` is the first number of LLVM's version, or 0.
RandomRequest random_request(std::uint64_t seed, int llvm) {
    Dice dice(seed);
    RandomRequest request;
    request.seed = seed;
    const std::string module = dice.pick(modules);
    request.is_llvm = llvm > 0 && dice.percent(50);
    const bool is_opaque = request.is_llvm ? dice.percent(90) == (llvm >= 15) : dice.percent(25);
    request.name = dice.percent(80) ? module + ".ll" : "other/" + module + ".ll";
    request.code = test::text_of(
        fmt::format(LODE_SOURCE_DIR "/tests/ir/{}.{}.ll", module, is_opaque ? "opaque" : "typed"));
    request.calls_libdevice = module == "sine";
    // Another program, or no program at all.
    const auto replace = [&](std::string_view old, std::string_view by) {
        if (const auto at = request.code.find(old); at != std::string::npos)
            request.code.replace(at, old.size(), by);
    };
    if (dice.percent(50)) replace("fmul", dice.pick(operations));
    if (dice.percent(30)) replace("sub i32 63", "sub i32 31");
    if (dice.percent(20)) replace("line: 12", "line: 77");
    const bool needs_new = is_opaque && !request.is_llvm && dice.percent(80);
    request.arch = *Arch::parse(needs_new ? "sm_120" : dice.pick(targets));
    CompileOptions& options = request.options;
    for (std::size_t changes = dice.below(4); changes > 0; --changes) {
        switch (dice.below(9)) {
            case 0:
                options.debug = true;
                break;
            case 1:
                options.line_info = true;
                break;
            case 2:
                options.lto = dice.percent(50);
                break;
            case 3:
                options.math.preset = Math::Preset::fast;
                break;
            case 4:
                options.math.preset = Math::Preset::host_comparable;
                break;
            case 5:
                options.math.ftz = dice.percent(50);
                break;
            case 6:
                options.math.prec_div = dice.percent(50);
                break;
            case 7:
                options.max_registers = 16;
                break;
            default:
                options.extra_flags = {request.is_llvm ? dice.pick(llvm_flags) : dice.pick(flags)};
                break;
        }
    }
    return request;
}

std::string digest_of(std::string_view ptx, std::string_view cubin, std::string_view lto) {
    const auto digest = [](std::string_view bytes) {
        return bytes.empty() ? "none" : sha256(bytes).to_hex().substr(0, 16);
    };
    return fmt::format("ptx {} cubin {} lto {}", digest(ptx), digest(cubin), digest(lto));
}

constexpr const char* refused = "refused";

/// The answer with this PTX.
std::string assembled(const RandomRequest& request, const std::string& ptx,
                      const char* linker_path) {
    const CompileOptions& options = request.options;
    if (ptx.empty()) return refused;
    if (!request.arch.is_real()) return digest_of(ptx, {}, {});
    std::vector<std::string> link = {"-arch=" + request.arch.to_string(), "-verbose"};
    if (options.max_registers > 0) link.emplace_back("-maxrregcount=16");
    if (options.debug)
        link.emplace_back("-g");
    else if (options.line_info)
        link.emplace_back("-lineinfo");
    const std::string cubin =
        test::nvjitlink_assemble(test::DirectLibrary(linker_path), ptx, request.name, link);
    return cubin.empty() ? refused : digest_of(ptx, cubin, {});
}

std::string libdevice_beside(const char* nvvm_path) {
    const std::filesystem::path folder = std::filesystem::path(nvvm_path).parent_path();
    for (const char* place : {"../libdevice", "../nvvm/libdevice"}) {
        if (std::filesystem::exists(folder / place / "libdevice.10.bc"))
            return (folder / place / "libdevice.10.bc").string();
    }
    return {};
}

/// By opt, llc and nvJitLink.
std::string judged_by_llvm(const RandomRequest& request, const char* nvvm_path,
                           const char* linker_path, const char* version) {
    const CompileOptions& options = request.options;
    const Math& math = options.math;
    if (options.lto || math.preset == Math::Preset::host_comparable) return refused;
    if (options.max_registers > 0 && !request.arch.is_real()) return refused;
    const auto scratch = ScratchFolder::create("lode-ir-judge");
    const test::LlvmPrograms programs(version, scratch->path());
    const std::string processor = request.arch.as_real().to_string();
    if (!programs.know(processor)) return refused;
    const bool is_fast = math.preset == Math::Preset::fast;
    char level = '3';
    std::vector<std::string> flags = {"-mcpu=" + processor};
    for (const auto& flag : options.extra_flags) {
        if (flag.starts_with("-O"))
            level = flag.back();
        else
            flags.push_back(flag);
    }
    std::string code = request.code;
    if (math.ftz.value_or(is_fast)) {
        flags.emplace_back("-denormal-fp-math-f32=preserve-sign");
        code += "\n!llvm.module.flags = !{!900}\n!900 = !{i32 4, !\"nvvm-reflect-ftz\", i32 1}\n";
    }
    if (!math.prec_div.value_or(!is_fast)) flags.emplace_back("-nvptx-prec-divf32=0");
    if (is_fast) flags.emplace_back("-nvptx-prec-sqrtf32=0");
    const std::string ptx =
        programs.compile(code, request.calls_libdevice ? libdevice_beside(nvvm_path) : "",
                         options.debug ? '0' : level, flags,
                         options.debug || options.line_info ? "" : "-strip-debug");
    return assembled(request, ptx, linker_path);
}

/// By the documentation of libNVVM and nvJitLink, without lode.
std::string judged(const RandomRequest& request, const char* nvvm_path, const char* linker_path) {
    const CompileOptions& options = request.options;
    const bool makes_code = request.arch.is_real() && !options.lto;
    if (options.max_registers > 0 && !makes_code) return refused;
    std::vector<std::string> compile = {"-arch=" + request.arch.as_virtual().to_string()};
    const auto number = [&](const char* flag, bool value, bool usual) {
        if (value != usual) compile.push_back(fmt::format("{}={:d}", flag, value));
    };
    const bool is_fast = options.math.preset == Math::Preset::fast;
    number("-ftz", options.math.ftz.value_or(is_fast), false);
    number("-prec-div", options.math.prec_div.value_or(!is_fast), true);
    number("-prec-sqrt", !is_fast, true);
    number("-fma", options.math.preset != Math::Preset::host_comparable, true);
    if (options.debug) compile.insert(compile.end(), {"-g", "-opt=0"});
    for (const auto& flag : options.extra_flags)
        if (!options.debug || !flag.starts_with("-opt")) compile.push_back(flag);
    if (options.lto) compile.emplace_back("-gen-lto");
    std::string libdevice;
    if (request.calls_libdevice) libdevice = test::text_of(libdevice_beside(nvvm_path));
    const std::string made = test::nvvm_compile(test::DirectLibrary(nvvm_path), request.code,
                                                request.name, libdevice, compile);
    if (options.lto && !made.empty()) return digest_of({}, {}, made);
    return assembled(request, made, linker_path);
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One process's answers, with "hit " before those of the cache.
std::vector<std::string> answers(const std::vector<RandomRequest>& sequence,
                                 const std::filesystem::path& folder, WorkerPolicy policy,
                                 CacheMode mode) {
    return in_process([&](const auto& give) {
        CacheOptions options;
        options.folder = folder;
        options.mode = mode;
        options.workers.policy = policy;
        options.workers.max_processes = 1;
        const CachedCompiler compiler({}, options);
        for (const auto& request : sequence) {
            const auto answer = compiler.compile(request.source(), request.arch, request.options);
            if (!answer) {
                give(answer.error().code == Errc::timed_out ? answer.error().message : refused);
                continue;
            }
            const Image& image = *answer->image;
            give((answer->report.hit() ? "hit " : "new ") +
                 digest_of(image.ptx, text_of(image.cubin), text_of(image.lto_ir)));
        }
    });
}

struct Plan {
    std::uint64_t steps = 20;
    std::uint64_t seed = 1;
    std::uint64_t least_hits = 0;
};

int run(const Plan& plan) {
    const auto libraries = in_process([](const auto& give) {
        if (const auto info = Compiler().info(Source::Language::nvvm_ir)) give(info->path.string());
        if (const auto info = Linker().info()) give(info->path.string());
        const auto llvm = Compiler().info(Source::Language::llvm_ir);
        const bool is_judged = llvm && test::LlvmPrograms(llvm->build, {}).are_there();
        give(is_judged ? std::to_string(llvm->version_major) : "0");
    });
    if (libraries.size() != 3) {
        std::puts("skipped: no usable libNVVM and nvJitLink");
        return 77;
    }
    const auto scratch = ScratchFolder::create("lode-ir-oracle");
    if (!scratch) return 2;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    constexpr WorkerPolicy policies[] = {WorkerPolicy::automatic, WorkerPolicy::automatic,
                                         WorkerPolicy::always};
    constexpr std::size_t length = 8;
    std::map<std::uint64_t, std::string> known;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t of_llvm = 0;
    for (std::uint64_t step = 1; step <= plan.steps; ++step) {
        Dice dice(seed_of_step(plan.seed, step));
        std::vector<RandomRequest> sequence;
        for (std::size_t i = 0; i < length; ++i) {
            const auto kind = 1'000'000 + dice.below(2 * plan.steps + 8);
            sequence.push_back(
                random_request(seed_of_step(plan.seed, kind), std::stoi(libraries[2])));
        }
        auto lines = answers(sequence, scratch->path() / "cache", dice.pick(policies),
                             dice.percent(30) ? CacheMode::off : CacheMode::on);
        lines.resize(sequence.size(), "nothing");
        for (std::size_t i = 0; i < sequence.size(); ++i) {
            auto& right = known[sequence[i].seed];
            if (right.empty()) {
                right = line_of_command(fmt::format("'{}' --request {} '{}' '{}' {} 2>&1", program,
                                                    sequence[i].seed, libraries[0], libraries[1],
                                                    libraries[2]));
            }
            std::string_view line = lines[i];
            const bool is_hit = line.starts_with("hit ");
            if (is_hit) ++hits;
            if (sequence[i].is_llvm) ++of_llvm;
            if (line.starts_with("new ")) ++misses;
            if (is_hit || line.starts_with("new ")) line.remove_prefix(4);
            if (line == right) continue;
            fmt::print("step {}: {} for {} (--request {}) is\n  {}\ninstead of\n  {}\n", step,
                       sequence[i].name, sequence[i].arch.to_string(), sequence[i].seed, lines[i],
                       right);
            return 1;
        }
    }
    const std::uint64_t share = hits * 100 / std::max<std::uint64_t>(hits + misses, 1);
    fmt::print("seed {}: {} requests are answered rightly, {} compiled, {}% hits, {} for LLVM\n",
               plan.seed, known.size(), misses, share, of_llvm);
    return share < plan.least_hits ? 1 : 0;
}

}  // namespace
}  // namespace lode::oracle

int main(int count, char** values) {
    using namespace lode::oracle;
    if (count == 6 && std::string_view(values[1]) == "--request") {
        const auto request =
            random_request(std::strtoull(values[2], nullptr, 10), std::atoi(values[5]));
        fmt::print("{}\n", request.is_llvm
                               ? judged_by_llvm(request, values[3], values[4], values[5])
                               : judged(request, values[3], values[4]));
        return 0;
    }
    Plan plan;
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string_view name = values[i];
        const auto number = std::strtoull(values[i + 1], nullptr, 10);
        if (name == "--steps") plan.steps = number;
        if (name == "--seed") plan.seed = number;
        if (name == "--least-hits") plan.least_hits = number;
    }
    return run(plan);
}
