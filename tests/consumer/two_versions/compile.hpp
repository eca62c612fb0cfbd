// What the host and the plug-in do, each with its own lode.
#pragma once

#include <lode/base/unwrap.hpp>
#include <lode/jit/cache.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#define LODE_TEXT_OF_(...) #__VA_ARGS__
#define LODE_TEXT_OF(...) LODE_TEXT_OF_(__VA_ARGS__)

namespace {

/// Compiles the source number `step` with a compiler of its own, which must read a header, and
/// finds the result again. Returns the version of lode and what the first request was: "0, 1, 0:
/// new".
std::string compile(const char* nvrtc, const char* folder, int step) {
    lode::CacheOptions options;
    options.folder = std::string(folder) + "/cache";
    options.workers.policy = lode::WorkerPolicy::never;
    const lode::CachedCompiler compiler({.nvrtc = nvrtc}, options);
    const std::string code = "// " + std::to_string(step) +
                             "\n#include \"answer.cuh\"\n"
                             "extern \"C\" __global__ void store(int* to) { *to = ANSWER; }\n";
    lode::CompileRequest request{lode::Source::text(code), *lode::Arch::parse("compute_80")};
    request.options.include_folders = {folder};

    // lode compiles it at the real time too. It isn't kept, but the other lode knows whose it is.
    lode::CompileRequest timed = request;
    timed.source = lode::Source::text("__device__ const char* now = __TIME__;");
    (void)lode::unwrap(compiler.compile(timed));

    const auto first = lode::unwrap(compiler.compile(request));
    // What this lode's functions saw of NVRTC's calls, though another lode has functions there too.
    if (!first.report.not_kept.empty()) throw std::runtime_error(first.report.not_kept);
    const auto files = lode::unwrap(compiler.dependencies(request));
    const bool is_seen = std::ranges::any_of(
        files, [](const auto& file) { return file.filename() == "answer.cuh"; });
    if (!is_seen) throw std::runtime_error("lode hasn't seen that NVRTC reads answer.cuh.");
    const lode::CachedCompiler later({.nvrtc = nvrtc}, options);
    if (!lode::unwrap(later.compile(request)).report.hit())
        throw std::runtime_error("lode doesn't find what it has kept.");
    return std::string(LODE_TEXT_OF(LODE_VERSION_NUMBERS)) + ": " +
           (first.report.hit() ? "old" : "new");
}

}  // namespace
