// Compiler: NVRTC, found and opened on first use.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/base/log.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lode {

/// Where to look for NVRTC and the toolkit's headers.
struct CompilerSearch {
    /// An NVRTC library file, or the folder that holds it; searched alone when not empty.
    std::filesystem::path nvrtc;
    Log log = {};
};

/// What was found when NVRTC was opened.
struct CompilerInfo {
    int version_major = 0;  ///< e.g. 13
    int version_minor = 0;  ///< e.g. 0
    std::string build;      ///< e.g. "13.0.88": finer than nvrtcVersion; the compiler's own banner.
    std::filesystem::path path;                          ///< The library file in use.
    std::vector<std::filesystem::path> include_folders;  ///< The toolkit's, in search order.
    std::vector<ComputeCapability> supported;            ///< Ascending, as NVRTC reports them.
    std::vector<std::string> search_account;             ///< One line per place tried.
};

/// The run-time compiler: CUDA C++ in, Image out.
///
/// Constructing one touches nothing; NVRTC is searched and opened by the first call that needs it,
/// in this order: `search.nvrtc` or LODE_NVRTC, beside the executable, CUDA_HOME and CUDA_PATH, the
/// standard toolkit folders, NVIDIA's wheels in an active Python environment, the loader's path.
/// Major versions 12 and 13. Every call is thread-safe; compilations run side by side (NVRTC
/// itself takes a lock in its front end). Copies share the opened library. The process's stack
/// limit and the calling thread's locale are as before after every call.
class Compiler {
public:
    explicit Compiler(CompilerSearch search = {});

    /// Opens NVRTC if need be and says what it is. compiler_missing lists every place tried and
    /// what was found there.
    [[nodiscard]] Result<CompilerInfo> info() const;

    /// Compiles CUDA C++ for one target.
    ///
    /// A real target gives cubin and PTX, a virtual one PTX alone. `name_expressions` are C++ names
    /// of kernels or variables at global scope ("scale<float>", "&ns::table"); their symbols come
    /// back in Image::lowered_names. A PTX source is wrapped, not compiled.
    /// Errors: compile_failed (message: the first error with file:line; log: everything),
    /// not_found (a missing file; a name expression that names nothing, with the kernels there
    /// are), unsupported_arch, invalid_argument, compiler_missing.
    [[nodiscard]] Result<Image> compile(const Source& source, const Arch& arch,
                                        const CompileOptions& options = {},
                                        std::span<const std::string> name_expressions = {}) const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace lode
