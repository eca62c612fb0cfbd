// NvvmLibrary: an opened libNVVM, which compiles NVVM IR to PTX, and its libdevice.
#pragma once

#include "base/shared_library.hpp"
#include "jit/nvrtc/locate.hpp"
#include "jit/nvvm/ir_compiler.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::nvvm {

// The C interface of libNVVM, unchanged since CUDA 12.0. Source: nvvm.h of CUDA 13.0.
using Program = struct _nvvmProgram*;
inline constexpr int success = 0;
inline constexpr int invalid_option = 7;

/// The typed entry points. A plain value; valid while its library is open.
struct Table {
    const char* (*error_text)(int) = nullptr;
    int (*create)(Program*) = nullptr;
    int (*destroy)(Program*) = nullptr;
    int (*add_module)(Program, const char*, std::size_t, const char*) = nullptr;
    int (*add_module_lazily)(Program, const char*, std::size_t, const char*) = nullptr;
    int (*compile)(Program, int, const char* const*) = nullptr;
    int (*verify)(Program, int, const char* const*) = nullptr;
    int (*result_size)(Program, std::size_t*) = nullptr;
    int (*result)(Program, char*) = nullptr;
    int (*log_size)(Program, std::size_t*) = nullptr;
    int (*log)(Program, char*) = nullptr;
};

class NvvmLibrary final : public IrCompiler {
public:
    static constexpr const char* name = "libNVVM";

    /// Tries nvvm_places in turn. To be called on a compiler's thread. compiler_missing lists every
    /// attempt.
    [[nodiscard]] static Result<std::shared_ptr<const NvvmLibrary>> open(
        const NvrtcSearchEnvironment& here);

    [[nodiscard]] std::string product() const override { return name; }
    /// As in the PTX that this library writes; compiles an empty module, once.
    [[nodiscard]] Result<std::string> build() const override;
    /// Verifies a module for each target that lode knows, once.
    [[nodiscard]] Result<CompilerProperties> properties() const override;
    [[nodiscard]] Result<IrOutcome> compile(const std::string& code, const std::string& module,
                                            std::span<const std::string> flags) const override;

private:
    NvvmLibrary() = default;
    /// Returns the name of the first missing entry point, or empty.
    [[nodiscard]] std::string load(const SharedLibrary& library);
    [[nodiscard]] Native native_of(int result) const;

    Table table_;

    mutable std::mutex mutex_;
    mutable std::optional<CompilerProperties> properties_;  ///< Guarded by mutex_.
    mutable std::string build_;                             ///< Guarded by mutex_.
};

}  // namespace LODE_NAMESPACE::nvvm
