// CompilerBackend: the compiler behind the cache, as the cache sees it.
#pragma once

#include "jit/compile.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>

#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace lode::cache {

/// One compilation, and what is to be noted about it.
struct CompileTask {
    const Source& source;
    const Arch& arch;
    const CompileOptions& options;
    std::span<const std::string> name_expressions;
    /// Receives all that the compiler asks of the file system and the environment, on failure too.
    CompileFiles& files;
};

/// Thread-safe but for fingerprint() and covers(). Nothing but info() and compile() opens the
/// compiler.
class CompilerBackend {
public:
    CompilerBackend() = default;
    virtual ~CompilerBackend() = default;
    CompilerBackend(const CompilerBackend&) = delete;
    CompilerBackend& operator=(const CompilerBackend&) = delete;

    /// Stands for everything that decides which compiler info() would find, and what it would be.
    [[nodiscard]] virtual Digest fingerprint() = 0;

    /// Whether the last fingerprint() stands for this library, which info() opened: not where an
    /// earlier place has one that can't be used. Call it behind fingerprint(), on the same thread.
    [[nodiscard]] virtual bool covers(const std::filesystem::path& library) = 0;

    /// Where the headers of a known compiler are.
    [[nodiscard]] virtual std::vector<std::filesystem::path> include_folders(
        const std::filesystem::path& library) = 0;

    [[nodiscard]] virtual Result<CompilerInfo> info() = 0;
    [[nodiscard]] virtual Result<Image> compile(const CompileTask& task) = 0;
};

/// NVRTC, found as Compiler finds it.
[[nodiscard]] std::unique_ptr<CompilerBackend> make_nvrtc_backend(CompilerSearch search);

}  // namespace lode::cache
