// Searches for what a compiler's process remembers:
//   lode_compile_sequences [--compilations N] [--length L] [--seed S] [--jobs J]
//                          [--policy never|automatic|always|all]
// Each sequence of random requests is compiled by one process, through one CachedCompiler without a
// cache; each result must be one that NVRTC gives in a process that compiles nothing else. Prints
// the first difference with the shortest sequence that shows it, and exits with 1. LODE_NVRTC
// chooses the compiler, LODE_WORKER the program lode-worker.
//   lode_compile_sequences --request SEED     prints what a new process gives for one request
#include "jit/compile.hpp"
#include "jit/nvrtc/provider.hpp"
#include "tests/cache_oracle/dice.hpp"
#include "tests/cache_oracle/in_process.hpp"

#include <lode/base/digest.hpp>
#include <lode/jit/cache.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lode::oracle {
namespace {

constexpr const char* sources[] = {
    "struct S { float* p; int v[32]; };\n"
    "extern \"C\" __global__ void by_value(S s) { s.p[threadIdx.x] = s.v[threadIdx.x & 31]; }\n",
    "extern \"C\" __global__ void loop(float* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 2; "
    "}\n",
    "extern \"C\" __global__ void math(float* x, double* y) { const int i = threadIdx.x;\n"
    "    x[i] = sinf(x[i]) / x[i + 1] + sqrtf(x[i + 2]) * powf(x[i], 1.7f) + expf(x[i]);\n"
    "    y[i] = sin(y[i]) + y[i] / y[i + 1] + sin(0.3) * exp(0.7); }\n",
    "extern \"C\" __global__ void local(int* x, int n) { int t[40];\n"
    "    for (int i = 0; i < 40; ++i) t[i] = x[i];\n"
    "    for (int i = 0; i < n; ++i) { const int j = t[x[i] & 31]; t[j & 31] += i; }\n"
    "    x[0] = t[n & 31]; }\n",
    "__noinline__ __device__ float f(float a, int n) { return n < 1 ? a : a * f(a + 1, n - 1); }\n"
    "__device__ float g(float a) { return a * 3 + 1; }\n"
    "extern \"C\" __global__ void calls(float* x, int n) { x[0] = f(x[1], n) + g(x[2]); }\n",
    "extern \"C\" __global__ void print(int n) { if (threadIdx.x < n) printf(\"%d %f\\n\", n, "
    "1.5 * n); }\n",
    "extern \"C\" __global__ void shared(float* x) { __shared__ float t[256];\n"
    "    extern __shared__ float e[]; t[threadIdx.x] = x[threadIdx.x];\n"
    "    e[threadIdx.x] = t[255 - threadIdx.x]; __syncthreads(); float a = 0;\n"
    "    for (int i = 0; i < 256; ++i) a += t[i] * e[i & 31]; x[threadIdx.x] = a; }\n",
    "extern \"C\" __global__ void cases(int* x, int n) { switch (n) { case 0: x[0] = 5; break;\n"
    "    case 1: x[1] += 7; break; case 2: x[2] *= 9; break; case 3: x[3] -= x[4]; break;\n"
    "    case 4: x[5] ^= 3; break; case 5: x[6] = x[7] / 3; break; case 6: x[8] = x[9] % 7; "
    "break;\n"
    "    case 7: x[10] = 1; break; case 9: x[11] = x[1]; break; default: x[12] = n; } }\n",
    "template <int n, class T> __device__ T sum(T* p) { T s = 0;\n#pragma unroll\n"
    "    for (int i = 0; i < n; ++i) s += p[i] * T(i); return s; }\n"
    "namespace { __device__ int q[9]; }\n"
    "extern \"C\" __global__ void unrolled(double* x, int* y) { x[0] = sum<7>(x + 1);\n"
    "    y[0] = sum<13>(y + 1) + q[y[2] & 7]; }\n",
    "extern \"C\" __global__ void vectors(float4* x, const float4* __restrict__ y, int n) {\n"
    "    const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float4 a = x[i], b = "
    "y[i];\n    a.x += b.x; a.y *= b.y; a.z -= b.z; a.w = a.w * b.w + a.x; x[i] = a; } }\n",
    "__device__ int count; __constant__ float table[64];\n"
    "extern \"C\" __global__ void atomics(int* x, float* y, long long* z) { atomicAdd(x, 1);\n"
    "    atomicAdd(&count, x[1]); y[threadIdx.x] += table[threadIdx.x & 63];\n"
    "    if (__ballot_sync(~0u, x[2] > 0)) z[0] = clock64();\n"
    "    x[3] = __shfl_down_sync(~0u, x[4], 3); }\n",
    "struct A { __device__ virtual int f(int a) { return a; } };\n"
    "struct B : A { __device__ int f(int a) override { return a * 3; } };\n"
    "struct C : A { __device__ int f(int a) override { return a - 8; } };\n"
    "extern \"C\" __global__ void virtuals(int* x) { B b; C c; A* p = x[0] ? (A*)&b : (A*)&c;\n"
    "    x[1] = p->f(x[2]); }\n",
    "extern \"C\" __global__ void wrong(int* x) { x[0] = undefined_thing; }\n",
    "extern \"C\" __global__ void wrong(int* x) { asm(\"nonsense.u32 %0;\" : \"=r\"(x[0])); }\n",
    "extern \"C\" __global__ void large(int* x) { __shared__ int a[1000000];\n"
    "    a[threadIdx.x] = x[0]; __syncthreads(); x[1] = a[x[2]]; }\n",
    "template <int n> struct D { static constexpr int v = D<n - 1>::v + 1; };\n"
    "template <> struct D<0> { static constexpr int v = 0; };\n"
    "extern \"C\" __global__ void deep(int* x) { x[0] = D<300>::v; int unused; }\n",
    "template <class T> __global__ void named(T* x) { x[0] = T(1) / x[1]; }\n"
    "template __global__ void named<float>(float*);\n"};

/// Flags that some NVRTC knows. Another one may refuse them, which is part of a sequence too.
// Without --split-compile: NVRTC gives one of too many codes for it in a new process, too.
constexpr const char* flags[] = {"--restrict",
                                 "--Ofast-compile=min",
                                 "--Ofast-compile=max",
                                 "--opt-info=inline",
                                 "-w",
                                 "--disable-warnings",
                                 "--extra-device-vectorization",
                                 "--ptxas-options=-O0",
                                 "--ptxas-options=-O1",
                                 "--ptxas-options=--allow-expensive-optimizations=false",
                                 "--ptxas-options=--def-load-cache=cg",
                                 "--ptxas-options=--warn-on-spills",
                                 "--ptxas-options=--fmad=false",
                                 "--ptxas-options=--device-debug",
                                 "--ptxas-options=--generate-line-info",
                                 "--ptxas-options=--disable-optimizer-constants",
                                 "--ptxas-options=-Werror",
                                 "--device-as-default-execution-space",
                                 "--extensible-whole-program",
                                 "--builtin-initializer-list=false",
                                 "--builtin-move-forward=false",
                                 "--no-source-include",
                                 "--version-ident=true",
                                 "--display-error-number",
                                 "--no-display-error-number",
                                 "--diag-suppress=177",
                                 "--diag-error=177",
                                 "--diag-warn=177",
                                 "--brief-diagnostics=true",
                                 "--jump-table-density=50",
                                 "--jump-table-density=101",
                                 "--device-stack-protector=true",
                                 "--fdevice-syntax-only",
                                 "--device-float128",
                                 "--dopt=on",
                                 "--frandom-seed=7",
                                 "--bogus"};

struct RandomRequest {
    std::uint64_t seed = 0;  ///< What it is made from.
    std::size_t source = 0;
    Arch arch = Arch({9, 0});
    CompileOptions options;
    std::vector<std::string> names;

    [[nodiscard]] Source code() const {
        return Source::text(sources[source], fmt::format("s{}.cu", source));
    }
    [[nodiscard]] std::string to_string() const {
        const auto made = compile_flags(options);
        return fmt::format("s{} for {} with {}{}", source, arch.to_string(),
                           made ? fmt::format("{}", fmt::join(*made, " ")) : "wrong flags",
                           names.empty() ? "" : " --name " + names.front());
    }
};

RandomRequest random_request(std::uint64_t seed, std::span<const ComputeCapability> supported) {
    Dice dice(seed);
    RandomRequest request;
    request.seed = seed;
    request.source = dice.below(std::size(sources));
    const auto& some = dice.pick(supported);
    request.arch =
        dice.percent(20) ? Arch(some).as_virtual()
        : dice.percent(30)
            ? Arch(some)
            : Arch(supported.back().number() >= 90 ? ComputeCapability{9, 0} : supported.back());
    if (request.source + 1 == std::size(sources)) request.names = {"named<float>"};
    CompileOptions& options = request.options;
    for (std::size_t changes = dice.below(4); changes > 0; --changes) {
        switch (dice.below(14)) {
            case 0:
                options.debug = true;
                break;
            case 1:
                options.line_info = true;
                break;
            case 2:
                options.relocatable = true;
                break;
            case 3:
                options.relocatable = options.lto = !options.optix_ir;
                break;
            case 13:
                options.optix_ir = !options.lto;
                break;
            case 4:
                options.math.preset = Math::Preset::fast;
                break;
            case 5:
                options.math.fmad = dice.percent(50);
                break;
            case 6:
                options.math.ftz = dice.percent(50);
                break;
            case 7:
                options.max_registers = 24;
                break;
            case 8:
                options.standard = dice.percent(50) ? Standard::cxx20 : Standard::cxx14;
                break;
            case 9:
                options.minimal = true;
                break;
            default:
                if (const std::string flag = dice.pick(flags);
                    std::ranges::none_of(options.extra_flags, [&](const std::string& other) {
                        return other.substr(0, other.find('=')) == flag.substr(0, flag.find('='));
                    }))
                    options.extra_flags.push_back(flag);
                break;
        }
    }
    return request;
}

/// NVRTC before 12.8 numbers calls in PTX on from earlier compilations: comments and the labels of
/// prototypes. The machine code is the same.
std::string without_call_numbers(std::string ptx) {
    for (const std::string_view word : {"callseq ", "prototype_"}) {
        for (std::size_t at = 0; (at = ptx.find(word, at)) != std::string::npos;) {
            at += word.size();
            const auto end = std::min(ptx.find_first_not_of("0123456789", at), ptx.size());
            ptx.erase(at, end - at);
        }
    }
    return ptx;
}

std::string digest_of(const Result<Image>& image) {
    if (!image) {
        return fmt::format("error {} {} {}", static_cast<int>(image.error().code),
                           image.error().message, sha256(image.error().log).to_hex());
    }
    std::string names;
    for (const auto& [name, lowered] : image->lowered_names)
        names += name + "=" + lowered + " ";
    return fmt::format("ptx {} cubin {} lto {} optix {} log {} {}",
                       sha256(without_call_numbers(image->ptx)).to_hex().substr(0, 12),
                       sha256(image->cubin).to_hex().substr(0, 12),
                       sha256(image->lto_ir).to_hex().substr(0, 12),
                       sha256(image->optix_ir).to_hex().substr(0, 12),
                       sha256(image->log).to_hex().substr(0, 12), names);
}

/// What NVRTC gives by itself, without any of lode's ways around it.
std::string result_of(const NvrtcLibrary& nvrtc, const RandomRequest& request) {
    CompileFiles files;  // As through the cache: lode's headers are in folders.
    return digest_of(compile_with(
        nvrtc, {request.code(), request.arch, request.options, request.names}, {.files = &files}));
}

/// What new processes give.
class Judge {
public:
    /// Whether a new process gives this result. For some requests, NVRTC gives one of several
    /// codes, by where the system has put its memory: a result is wrong if many processes don't
    /// give it.
    bool allows(const RandomRequest& request, const std::string& result) {
        auto& allowed = known_[request.seed];
        for (int tries = allowed.empty() ? 0 : 1; !allowed.contains(result); ++tries) {
            if (tries == many) return false;
            allowed.insert(one_result(request, tries != 0));
        }
        return true;
    }
    const std::set<std::string>& known(const RandomRequest& request) {
        return known_[request.seed];
    }
    [[nodiscard]] std::size_t count() const { return known_.size(); }

private:
    static constexpr int many = 40;

    /// A new program: a fork has its parent's addresses. A thread's heap begins at a multiple of
    /// its size, so addresses differ between programs only where all threads share the process's
    /// heap.
    [[nodiscard]] std::string one_result(const RandomRequest& request, bool scattered) const {
        const auto command = fmt::format(
            "{}'{}' --request {}", scattered ? "GLIBC_TUNABLES=glibc.malloc.arena_max=1 " : "",
            program_, request.seed);
        return line_of_command(command);
    }

    const std::string program_ = std::filesystem::read_symlink("/proc/self/exe");
    std::map<std::uint64_t, std::set<std::string>> known_;
};

std::vector<std::string> results(std::span<const RandomRequest> sequence, WorkerPolicy policy) {
    return in_process([&](const auto& give) {
        CacheOptions options;
        options.mode = CacheMode::off;
        options.memory_bytes = 0;
        options.workers.policy = policy;
        options.workers.max_processes = 1;
        const CachedCompiler compiler({}, options);
        for (const auto& request : sequence) {
            const auto answer =
                compiler.compile(request.code(), request.arch, request.options, request.names);
            give(digest_of(answer ? Result<Image>(*answer->image)
                                  : Result<Image>(tl::unexpected<Error>(answer.error()))));
        }
    });
}

struct Plan {
    std::uint64_t seed = 1;
    std::uint64_t compilations = 200;
    std::size_t length = 8;
    std::uint64_t jobs = 1;
    std::vector<WorkerPolicy> policies = {WorkerPolicy::never, WorkerPolicy::automatic,
                                          WorkerPolicy::always};
};

constexpr const char* policy_names[] = {"automatic", "never", "always"};

/// Prints the shortest sequence that gives `index` another result.
void explain(std::vector<RandomRequest> sequence, std::size_t index, WorkerPolicy policy,
             Judge& judge) {
    sequence.resize(index + 1);
    for (std::size_t i = 0; i + 1 < sequence.size();) {
        auto fewer = sequence;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        const auto lines = results(fewer, policy);
        if (lines.size() == fewer.size() && !judge.allows(fewer.back(), lines.back()))
            sequence = std::move(fewer);
        else
            ++i;
    }
    const auto lines = results(sequence, policy);
    fmt::print("policy {}: a compilation depends on those before it:\n",
               policy_names[static_cast<std::size_t>(policy)]);
    for (const auto& request : sequence)
        fmt::print("  {} (--request {})\n", request.to_string(), request.seed);
    fmt::print("gives\n  {}\ninstead of\n  {}\n", lines.empty() ? "nothing" : lines.back(),
               fmt::join(judge.known(sequence.back()), "\n  "));
}

/// One process's share.
int run(const Plan& plan) {
    std::vector<ComputeCapability> supported;
    for (const auto& line : in_process([](const auto& give) {
             NvrtcProvider provider{CompilerSearch()};
             const auto nvrtc = provider.open();
             if (!nvrtc) return;
             for (const auto cc : (*nvrtc)->supported())
                 give(std::to_string(cc.number()));
         }))
        supported.push_back(ComputeCapability::from_number(std::atoi(line.c_str())));
    if (supported.empty()) {
        std::puts("no usable NVRTC");
        return 2;
    }
    Judge judge;
    std::uint64_t compilations = 0;
    for (std::uint64_t step = 1; compilations < plan.compilations; ++step) {
        Dice dice(seed_of_step(plan.seed, step));
        // Few kinds of requests, so that the judge knows most of them.
        std::vector<RandomRequest> sequence;
        for (std::size_t i = 0; i < plan.length; ++i) {
            const auto kind = 1'000'000 + dice.below(plan.compilations / 4 + 16);
            sequence.push_back(random_request(seed_of_step(plan.seed, kind), supported));
        }
        const WorkerPolicy policy = dice.pick(plan.policies);
        const auto lines = results(sequence, policy);
        for (std::size_t i = 0; i < sequence.size(); ++i) {
            if (i < lines.size() && judge.allows(sequence[i], lines[i])) continue;
            explain(sequence, i, policy, judge);
            return 1;
        }
        compilations += sequence.size();
    }
    fmt::print("seed {}: {} compilations of {} requests are what a new process gives\n", plan.seed,
               compilations, judge.count());
    return 0;
}

bool parse(int count, char** values, Plan& plan) {
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string_view name = values[i];
        const std::string_view value = values[i + 1];
        const auto number = std::strtoull(values[i + 1], nullptr, 10);
        if (name == "--compilations") {
            plan.compilations = number;
        } else if (name == "--length") {
            plan.length = std::max<std::size_t>(number, 1);
        } else if (name == "--seed") {
            plan.seed = number;
        } else if (name == "--jobs") {
            plan.jobs = std::max<std::uint64_t>(number, 1);
        } else if (name == "--policy" && value != "all") {
            const auto* const found = std::ranges::find(policy_names, value);
            if (found == std::end(policy_names)) return false;
            plan.policies = {static_cast<WorkerPolicy>(found - std::begin(policy_names))};
        } else if (name != "--policy") {
            return false;
        }
    }
    return count % 2 == 1;
}

/// Prints what a process gives that compiles nothing else.
int print_result(std::uint64_t seed) {
    NvrtcProvider provider{CompilerSearch()};
    const auto nvrtc = provider.open();
    if (!nvrtc) return 2;
    fmt::print("{}\n", one_line(result_of(**nvrtc, random_request(seed, (*nvrtc)->supported()))));
    return 0;
}

int run_all(const Plan& plan) {
    std::vector<pid_t> children;
    for (std::uint64_t job = 0; job < plan.jobs; ++job) {
        Plan part = plan;
        part.seed += job;
        part.compilations = (plan.compilations + plan.jobs - 1) / plan.jobs;
        if (plan.jobs == 1) return run(part);
        const pid_t child = ::fork();
        if (child == 0) {
            const int outcome = run(part);
            std::fflush(stdout);
            std::_Exit(outcome);
        }
        if (child < 0) return 2;
        children.push_back(child);
    }
    int worst = 0;
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 3);
    }
    return worst;
}

}  // namespace
}  // namespace lode::oracle

int main(int count, char** values) {
    if (count == 3 && std::string_view(values[1]) == "--request")
        return lode::oracle::print_result(std::strtoull(values[2], nullptr, 10));
    lode::oracle::Plan plan;
    if (!lode::oracle::parse(count, values, plan)) {
        std::fputs(
            "usage: lode_compile_sequences [--compilations N] [--length L] [--seed S] [--jobs J] "
            "[--policy never|automatic|always|all]\n"
            "       lode_compile_sequences --request SEED\n",
            stderr);
        return 2;
    }
    return lode::oracle::run_all(plan);
}
