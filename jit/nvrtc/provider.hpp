// NvrtcProvider: finds and opens NVRTC on first use, for Compiler and the cache.
#pragma once

#include "jit/nvrtc/library.hpp"
#include "jit/nvrtc/locate.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace LODE_NAMESPACE {

/// A compiler, and the files that it consists of.
struct CompilerProperties {
    CompilerInfo info = {};
    std::vector<CompilerFile> files = {};  ///< NvrtcLibrary::files()
};

/// Properties of an opened NVRTC. To be called on a compiler's thread. Errors: those of
/// NvrtcLibrary::build().
[[nodiscard]] Result<CompilerProperties> properties_of(const NvrtcLibrary& nvrtc);

/// Thread-safe. A failed search isn't repeated.
class NvrtcProvider {
public:
    /// Reads the environment now; opens nothing.
    explicit NvrtcProvider(CompilerSearch search)
        : log_(std::move(search.log)),
          environment_(NvrtcSearchEnvironment::of_process(search.nvrtc)) {}

    [[nodiscard]] const NvrtcSearchEnvironment& environment() const noexcept {
        return environment_;
    }

    /// Opens NVRTC on the first call, on a compiler's thread. Errors: compiler_missing, with every
    /// attempt.
    [[nodiscard]] Result<std::shared_ptr<const NvrtcLibrary>> open();

    /// Properties of the opened NVRTC, asked for on a compiler's thread. Errors: those of open();
    /// cancelled while the process ends.
    [[nodiscard]] Result<CompilerProperties> properties();

private:
    const Log log_;
    const NvrtcSearchEnvironment environment_;
    std::once_flag once_;
    Result<std::shared_ptr<const NvrtcLibrary>> opened_ = nullptr;
};

}  // namespace LODE_NAMESPACE
