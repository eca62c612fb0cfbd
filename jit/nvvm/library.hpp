// NvvmLibrary: an opened libNVVM, which compiles NVVM IR to PTX, and its libdevice.
#pragma once

#include "base/shared_library.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/nvrtc/locate.hpp"
#include "jit/request/compile_files.hpp"

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
inline constexpr int ir_version_mismatch = 3;
inline constexpr int invalid_option = 7;
inline constexpr int compilation_failed = 9;

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
    int (*llvm_version)(const char*, int*) = nullptr;  ///< Absent before 13.1.
};

/// What libNVVM made of one module.
struct Outcome {
    int result = success;
    std::string code;  ///< PTX, or LTO-IR with -gen-lto; empty after an error.
    std::string log;
};

/// Opened once, never closed or changed: every member may be called from any thread.
class NvvmLibrary {
public:
    static constexpr const char* product = "libNVVM";

    /// Tries nvvm_places in turn. To be called on a compiler's thread. compiler_missing lists every
    /// attempt.
    [[nodiscard]] static Result<std::shared_ptr<const NvvmLibrary>> open(
        const NvrtcSearchEnvironment& here);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    /// Empty if there is none.
    [[nodiscard]] const std::filesystem::path& libdevice() const noexcept { return libdevice_; }
    /// Whether a FileAccessScope records what this library asks the system.
    [[nodiscard]] bool is_watched() const noexcept { return is_watched_; }

    /// The build, the targets and the files, on a compiler's thread. Compiles an empty module and
    /// verifies one for each target that lode knows, once.
    [[nodiscard]] Result<CompilerProperties> properties() const;
    /// The build in the PTX that this library writes, "13.0.88"; notes it for properties().
    [[nodiscard]] Result<std::string> build() const;
    /// The library and libdevice.
    [[nodiscard]] std::vector<CompilerFile> files() const;
    /// The major version of the LLVM whose IR this library reads for a target; nullopt if it
    /// doesn't say.
    [[nodiscard]] std::optional<int> llvm_version(const Arch& arch) const;

    /// Compiles a module, with what it uses of libdevice. Errors: compiler_missing if there is no
    /// libdevice, and the module mentions it; compiler_failed.
    [[nodiscard]] Result<Outcome> compile(const std::string& code, const std::string& name,
                                          std::span<const std::string> flags) const;

    [[nodiscard]] Native native_of(int result) const;

private:
    NvvmLibrary() = default;
    /// Returns the name of the first missing entry point, or empty.
    [[nodiscard]] std::string load(const SharedLibrary& library);

    Table table_;
    std::filesystem::path path_;
    std::filesystem::path libdevice_;
    std::string libdevice_code_;
    std::vector<CompilerFile> files_;
    std::vector<std::string> search_attempts_;
    bool is_watched_ = false;

    mutable std::mutex mutex_;
    mutable std::optional<CompilerProperties> properties_;  ///< Guarded by mutex_.
    mutable std::string build_;                             ///< Guarded by mutex_.
};

}  // namespace LODE_NAMESPACE::nvvm
