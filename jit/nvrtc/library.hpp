// NvrtcLibrary: an opened NVRTC and its properties.
#pragma once

#include "jit/nvrtc/locate.hpp"
#include "jit/nvrtc/table.hpp"
#include "jit/request/compile_files.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// A compiler, and the files that it consists of.
struct CompilerProperties {
    CompilerInfo info = {};
    std::vector<CompilerFile> files = {};
};

/// Opened once, never closed or changed: every member may be called from any thread.
class NvrtcLibrary {
public:
    /// Tries nvrtc_places in turn; a library that isn't a usable NVRTC 12 or 13 is skipped like an
    /// absent one. To be called on a compiler's thread. compiler_missing lists every attempt.
    [[nodiscard]] static Result<std::shared_ptr<const NvrtcLibrary>> open(
        const NvrtcSearchEnvironment& here);

    [[nodiscard]] const NvrtcTable& table() const noexcept { return table_; }
    [[nodiscard]] int version_major() const noexcept { return version_major_; }
    [[nodiscard]] int version_minor() const noexcept { return version_minor_; }
    [[nodiscard]] bool at_least(int version_major, int version_minor) const noexcept;
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    /// Ascending.
    [[nodiscard]] const std::vector<ComputeCapability>& supported() const noexcept {
        return supported_;
    }
    [[nodiscard]] const std::vector<std::filesystem::path>& include_folders() const noexcept {
        return include_folders_;
    }
    [[nodiscard]] const std::vector<std::string>& search_attempts() const noexcept {
        return search_attempts_;
    }

    /// The address of an entry point that isn't in the table, because headers of older toolkits
    /// don't declare it; nullptr if this NVRTC has none.
    [[nodiscard]] void* symbol(std::string_view name) const noexcept {
        return library_.symbol(name);
    }

    /// The flags that depend on the machine, not on the user's options: the target, and switches
    /// that keep NVRTC from changing the stack limit of the process and from caching by itself.
    [[nodiscard]] std::vector<std::string> machine_flags(const Arch& arch) const;

    /// Whether a FileAccessScope records this NVRTC's file system queries.
    [[nodiscard]] bool watches_files() const noexcept { return watched_.has_value(); }

    /// The build, e.g. "13.0.88": from the PTX of an earlier compilation, else by compiling an
    /// empty program, at most once. To be called on a compiler's thread.
    [[nodiscard]] Result<std::string> build() const;

    /// The libraries that are mapped: NVRTC and its companion, after a compilation. A file that
    /// another one has replaced has no stamp.
    [[nodiscard]] std::vector<CompilerFile> files() const;

    /// To be called on a compiler's thread. Errors: those of build().
    [[nodiscard]] Result<CompilerProperties> properties() const;
    /// "NVRTC 13.0 (/usr/…)"
    [[nodiscard]] std::string describe() const;

    /// Stores the result of build_in_ptx, so that build() needn't compile. Ignores an empty text.
    void learn_build(std::string_view build) const;

private:
    NvrtcLibrary() = default;
    [[nodiscard]] Status load(const std::filesystem::path& file);
    /// Finds the toolkit's headers; without a toolkit, NVRTC installs its own.
    void find_headers(const NvrtcSearchEnvironment& here, std::vector<std::string>& attempts);
    /// Opens the libnvrtc-builtins beside NVRTC, if there is one. NVRTC asks the loader for it by
    /// its bare name and has no run path, so outside the loader's folders it would find no
    /// companion, or another toolkit's. A companion that is already loaded is found by its name.
    void open_companion() const;

    SharedLibrary library_;
    NvrtcTable table_;
    int version_major_ = 0;
    int version_minor_ = 0;
    std::filesystem::path path_;
    std::vector<ComputeCapability> supported_;
    std::vector<std::filesystem::path> include_folders_;
    std::vector<std::string> search_attempts_;
    Status watched_;

    mutable std::mutex build_mutex_;
    mutable std::string build_;  ///< Guarded by build_mutex_; empty while unknown.
    mutable std::mutex files_mutex_;
    mutable std::optional<std::vector<CompilerFile>> files_;  ///< Guarded by files_mutex_.
};

/// The compiler's build from the banner of its PTX, "13.0.88"; empty without a banner.
std::string_view build_in_ptx(std::string_view ptx) noexcept;

/// The file of a loaded library; without a stamp if another file has replaced it.
[[nodiscard]] CompilerFile compiler_file(const std::filesystem::path& path);

}  // namespace LODE_NAMESPACE
