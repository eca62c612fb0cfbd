// Compares lode's compile with raw NVRTC and libNVVM and the same flags, interleaved in one
// process.
//
// Both sides compile the same CUDA C++ to cubin, PTX and log, or the same NVVM IR to PTX. Rounds
// alternate between the sides, and so does the side that begins, so that the machine's drift
// affects both alike. Each side's time is the median over the rounds, in wall-clock time and in
// processor time (which other load disturbs less); a ratio is that of two medians. Goal: at
// most 1.02.
//
// Usage: lode_bench_cold_compile [ROUNDS] [--json FILE]
#include "bench/results.hpp"
#include "tests/ir/direct.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

namespace {

struct Subject {
    std::string name;
    lode::Source source;
};

/// The entry points of NVRTC that the raw side calls directly.
struct RawNvrtc {
#define LODE_ENTRY_POINT(name) decltype(&::name) name = nullptr
    LODE_ENTRY_POINT(nvrtcCreateProgram);
    LODE_ENTRY_POINT(nvrtcCompileProgram);
    LODE_ENTRY_POINT(nvrtcGetCUBINSize);
    LODE_ENTRY_POINT(nvrtcGetCUBIN);
    LODE_ENTRY_POINT(nvrtcGetPTXSize);
    LODE_ENTRY_POINT(nvrtcGetPTX);
    LODE_ENTRY_POINT(nvrtcGetProgramLogSize);
    LODE_ENTRY_POINT(nvrtcGetProgramLog);
    LODE_ENTRY_POINT(nvrtcDestroyProgram);
#undef LODE_ENTRY_POINT

    explicit RawNvrtc(const std::string& path) {
        void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) throw std::runtime_error("dlopen fails on " + path);
        const auto bind = [&](auto& entry, const char* name) {
            entry = reinterpret_cast<std::decay_t<decltype(entry)>>(::dlsym(library, name));
            if (entry == nullptr) throw std::runtime_error(path + " has no " + name);
        };
        bind(nvrtcCreateProgram, "nvrtcCreateProgram");
        bind(nvrtcCompileProgram, "nvrtcCompileProgram");
        bind(nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
        bind(nvrtcGetCUBIN, "nvrtcGetCUBIN");
        bind(nvrtcGetPTXSize, "nvrtcGetPTXSize");
        bind(nvrtcGetPTX, "nvrtcGetPTX");
        bind(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
        bind(nvrtcGetProgramLog, "nvrtcGetProgramLog");
        bind(nvrtcDestroyProgram, "nvrtcDestroyProgram");
    }
};

/// What a program without lode would do: check only for success, parse nothing.
std::size_t compile_raw(const RawNvrtc& nvrtc, const std::string& code, const std::string& name,
                        const std::vector<const char*>& flags) {
    nvrtcProgram program = nullptr;
    nvrtc.nvrtcCreateProgram(&program, code.c_str(), name.c_str(), 0, nullptr, nullptr);
    const auto result =
        nvrtc.nvrtcCompileProgram(program, static_cast<int>(flags.size()), flags.data());
    if (result != NVRTC_SUCCESS) throw std::runtime_error("raw NVRTC fails on " + name);
    std::size_t size = 0;
    nvrtc.nvrtcGetCUBINSize(program, &size);
    std::vector<char> cubin(size);
    nvrtc.nvrtcGetCUBIN(program, cubin.data());
    nvrtc.nvrtcGetPTXSize(program, &size);
    std::string ptx(size, '\0');
    nvrtc.nvrtcGetPTX(program, ptx.data());
    nvrtc.nvrtcGetProgramLogSize(program, &size);
    std::string log(size, '\0');
    nvrtc.nvrtcGetProgramLog(program, log.data());
    nvrtc.nvrtcDestroyProgram(&program);
    return cubin.size() + ptx.size();
}

/// The cost of one run, in milliseconds.
struct Cost {
    double wall;
    double processor;
};

double processor_time() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

template <class Work>
Cost cost_of(Work work) {
    const auto start = std::chrono::steady_clock::now();
    const double processor_start = processor_time();
    work();
    const double processor = processor_time() - processor_start;
    const auto wall = std::chrono::steady_clock::now() - start;
    return {std::chrono::duration<double, std::milli>(wall).count(), processor};
}

std::vector<double> values_of(const std::vector<Cost>& costs, double Cost::*kind) {
    std::vector<double> values;
    for (const auto& cost : costs)
        values.push_back(cost.*kind);
    return values;
}

double median(const std::vector<Cost>& costs, double Cost::*kind) {
    std::vector<double> values = values_of(costs, kind);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// A source with many kernels, for the scans of PTX and log.
std::string many_kernels(int count) {
    std::string code;
    for (int i = 0; i < count; ++i) {
        code += fmt::format(
            "extern \"C\" __global__ void k{0}(float* p, int n) {{\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) p[i] = p[i] * {0} + 1;\n}}\n",
            i);
    }
    return code;
}

/// Measures both sides of one source in turn, and prints its line.
template <class Raw, class Ours>
void compare(const std::string& name, const std::string& product, int rounds,
             lode::bench::Results& results, Raw compile_it, Ours compile_ours) {
    std::vector<Cost> raw;
    std::vector<Cost> ours;
    compile_it();  // The first run of each warms up.
    compile_ours();
    for (int round = 0; round < rounds; ++round) {
        if (round % 2 == 0) raw.push_back(cost_of(compile_it));
        ours.push_back(cost_of(compile_ours));
        if (round % 2 != 0) raw.push_back(cost_of(compile_it));
    }
    results.add(lode::bench::measured(
        {.group = "compile", .series = fmt::format("{}, raw {}", name, product), .unit = "ms"},
        values_of(raw, &Cost::wall)));
    results.add(lode::bench::measured({.group = "compile", .series = name + ", lode", .unit = "ms"},
                                      values_of(ours, &Cost::wall)));
    fmt::print("{:<14}", name);
    for (const auto kind : {&Cost::wall, &Cost::processor}) {
        const double theirs = median(raw, kind);
        const double mine = median(ours, kind);
        fmt::print(" {:>8.3f} {:>8.3f} {:>8.4f}  ", theirs, mine, mine / theirs);
    }
    fmt::print("\n");
    std::fflush(stdout);
}

/// NVVM IR of tests/ir, to PTX; nothing where libNVVM is missing. lode starts a thread for each
/// compilation; direct calls on a new thread show how much of the difference that is.
void run_nvvm(const lode::Compiler& compiler, int rounds, lode::bench::Results& results) {
    using lode::Source;
    const auto info = compiler.info(Source::Language::nvvm_ir);
    if (!info) {
        fmt::print("NVVM IR is left out: {}\n", info.error().message);
        return;
    }
    const lode::test::DirectLibrary nvvm(info->path);
    const auto arch = lode::Arch({9, 0}).as_virtual();
    const std::vector<std::string> flags = {"-arch=" + arch.to_string()};
    for (const std::string name : {"lines", "reverse", "scale"}) {
        const auto source = Source::file(LODE_SOURCE_DIR "/tests/ir/" + name + ".typed.ll");
        const auto raw = [&] {
            if (lode::test::nvvm_compile(nvvm, lode::unwrap(source.read()), source.name(), {},
                                         flags)
                    .empty())
                throw std::runtime_error("raw libNVVM fails on " + source.name());
        };
        const auto ours = [&] { lode::unwrap(compiler.compile(source, arch)); };
        compare(name + ".ll", "libNVVM", rounds, results, raw, ours);
        compare(
            name + ", thread", "libNVVM", rounds, results, [&] { std::jthread{raw}; }, ours);
    }
}

void run(int rounds, lode::bench::Results& results) {
    const lode::Compiler compiler;
    const auto info = lode::unwrap(compiler.info());
    results.set("nvrtc", info.build);
    const RawNvrtc nvrtc(info.path.string());
    const lode::Arch arch({9, 0});
    fmt::print("NVRTC {}, {}, {} rounds, milliseconds\n\n", info.build, arch.to_string(), rounds);

    // The flags that lode passes for default options; --no-cache exists since 12.9.
    std::vector<std::string> flag_texts = {"-arch=" + arch.to_string(),
                                           "--modify-stack-limit=false", "--ptxas-options=-v",
                                           "--std=c++17"};
    if (std::pair(info.version_major, info.version_minor) >= std::pair(12, 9)) {
        flag_texts.emplace_back("--no-cache");
    }
    for (const auto& folder : info.include_folders)
        flag_texts.push_back("-I" + folder.string());
    std::vector<const char*> flags;
    for (const auto& flag : flag_texts)
        flags.push_back(flag.c_str());

    const std::string kernels = LODE_SOURCE_DIR "/kernels_src/basic/";
    const Subject subjects[] = {
        {"empty kernel", lode::Source::text("extern \"C\" __global__ void k() {}\n")},
        {"saxpy", lode::Source::file(kernels + "saxpy.cu")},
        {"matmul", lode::Source::file(kernels + "matmul.cu")},
        {"cuda_fp16.h", lode::Source::text("#include <cuda_fp16.h>\n"
                                           "extern \"C\" __global__ void k(__half* p) { *p += *p; "
                                           "}\n")},
        {"200 kernels", lode::Source::text(many_kernels(200))},
    };
    fmt::print("{:<14} {:>26}   {:>26}\n", "", "wall clock", "processor");
    fmt::print("{0:<14} {1:>8} {2:>8} {3:>8}   {1:>8} {2:>8} {3:>8}\n", "source", "raw", "lode",
               "ratio");
    for (const auto& subject : subjects) {
        const auto& source = subject.source;
        // Reading the file is part of the work on both sides.
        compare(
            subject.name, "NVRTC", rounds, results,
            [&] { compile_raw(nvrtc, lode::unwrap(source.read()), source.name(), flags); },
            [&] { lode::unwrap(compiler.compile(source, arch)); });
    }
    run_nvvm(compiler, rounds, results);
}

}  // namespace

int main(int argc, char** argv) {
    int rounds = 101;
    try {
        lode::bench::Results results("cold_compile", argc, argv);
        if (argc > 1) {
            const auto [end, problem] =
                std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), rounds);
            if (problem != std::errc{} || *end != '\0' || rounds < 1) {
                fmt::print(stderr, "usage: {} [ROUNDS] [--json FILE], with at least 1 round\n",
                           argv[0]);
                return 2;
            }
        }
        run(rounds, results);
        results.write();
    } catch (const std::exception& problem) {
        fmt::print(stderr, "{}\n", problem.what());
        return 1;
    }
    return 0;
}
