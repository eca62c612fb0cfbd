// IrCompiler: what IrTools needs of a compiler of IR, which NvvmLibrary and LlvmLibrary are.
#pragma once

#include "base/shared_library.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/request/compile_files.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE {

/// What a compiler made of one module.
struct IrOutcome {
    bool has_failed = false;
    bool is_unknown_target = false;  ///< The error may be that the target isn't supported.
    Native native;                   ///< The error's, if the compiler numbers them.
    std::string code;                ///< PTX, or LTO-IR; empty after an error.
    std::string log;
};

/// Opened once, never closed or changed: every member may be called from any thread that a compiler
/// runs on.
class IrCompiler {
public:
    IrCompiler() = default;
    virtual ~IrCompiler() = default;
    IrCompiler(const IrCompiler&) = delete;
    IrCompiler& operator=(const IrCompiler&) = delete;

    /// CompilerInfo::product
    [[nodiscard]] virtual std::string product() const = 0;
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    /// Whether a FileAccessScope records what this library asks the system.
    [[nodiscard]] bool is_watched() const noexcept { return is_watched_; }
    /// The library and libdevice.
    [[nodiscard]] const std::vector<CompilerFile>& files() const noexcept { return files_; }
    /// The build, "13.0.88".
    [[nodiscard]] virtual Result<std::string> build() const = 0;
    /// The build, the targets and the files.
    [[nodiscard]] virtual Result<CompilerProperties> properties() const = 0;

    /// Compiles a module, with what it uses of libdevice. Errors: compiler_missing if there is no
    /// libdevice, and the module mentions it.
    [[nodiscard]] virtual Result<IrOutcome> compile(const std::string& code,
                                                    const std::string& module,
                                                    std::span<const std::string> flags) const = 0;

protected:
    /// Keeps what is known of a library once it is opened, and watches the one that has `symbol`.
    /// Reads the first libdevice that is there.
    void note_opened(const SharedLibrary& library, const void* symbol,
                     const std::vector<std::filesystem::path>& libdevices);
    /// The properties without the targets.
    [[nodiscard]] CompilerProperties describe(std::string build) const;

    /// Where the library wasn't, CompilerInfo::search_attempts.
    void note_search(std::vector<std::string> attempts) noexcept {
        search_attempts_ = std::move(attempts);
    }
    /// Bitcode; empty if there is none.
    [[nodiscard]] const std::string& libdevice() const noexcept { return libdevice_; }

private:
    std::string libdevice_;
    std::vector<std::string> search_attempts_;
    std::filesystem::path path_;
    std::vector<CompilerFile> files_;
    bool is_watched_ = false;
};

/// Those that a compiler may have.
inline constexpr ComputeCapability known_capabilities[] = {
#define LODE_ARCHITECTURE(cc_major, cc_minor, ...) {cc_major, cc_minor},
#include "base/architectures.def"
};

/// The error of a module that calls libdevice's functions: "… libdevice, which <why>".
[[nodiscard]] tl::unexpected<Error> fail_without_libdevice(
    std::string_view module, std::string_view why,
    const std::vector<std::filesystem::path>& places);

/// Opens the first usable library of a search; returns a line for each attempt. `load` returns what
/// a library lacks, or nothing. Errors: compiler_missing, with the cure and every attempt.
[[nodiscard]] Result<std::vector<std::string>> open_usable(
    const std::string& product, const std::vector<LibraryPlace>& places, const std::string& cure,
    const std::function<std::string(const SharedLibrary&)>& load);

}  // namespace LODE_NAMESPACE
