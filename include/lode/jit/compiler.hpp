/// \file
/// Compiler: NVRTC, libNVVM and LLVM, searched for and opened on first use.
#pragma once

#include <lode/base/api.hpp>
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

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Where to look for NVRTC, the toolkit's headers, libNVVM and libLLVM.
struct CompilerSearch {
    /// An NVRTC library file, or the folder that contains it. If set, no other place is searched.
    std::filesystem::path nvrtc = {};
    Log log = {};  ///< Receives a line when a compiler is opened.
    /// The same of libNVVM.
    std::filesystem::path nvvm = {};
    /// The same of libLLVM.
    std::filesystem::path llvm = {};
};

/// Properties of an opened compiler.
struct CompilerInfo {
    int version_major = 0;       ///< e.g. 13
    int version_minor = 0;       ///< e.g. 0
    std::string build;           ///< e.g. "13.0.88", from the compiler's own banner.
    std::filesystem::path path;  ///< The library file in use.
    std::vector<std::filesystem::path> include_folders;  ///< The toolkit's, in search order.
    std::vector<ComputeCapability> supported;            ///< Ascending, as the compiler reports.
    std::vector<std::string> search_attempts;            ///< One line per place tried.
    std::string product = "NVRTC";                       ///< Or libNVVM, LLVM, nvJitLink.

    /// The CUDA release whose PTX it writes, as ToolProperties::compiler_version; 0 for LLVM, whose
    /// PTX is the oldest that has the target.
    [[nodiscard]] int cuda_version() const {
        return product == "LLVM" ? 0 : version_major * 1000 + version_minor * 10;
    }
    /// "NVRTC 13.0.88", as in Image::compiler.
    [[nodiscard]] std::string name() const { return product + " " + build; }
};

/// The run-time compilers: turn CUDA C++, NVVM IR, LLVM IR and PTX into an Image.
///
/// The first call that needs NVRTC searches for it and opens it. If `search.nvrtc` or LODE_NVRTC is
/// set, only that place is tried; otherwise these are, in order: beside the executable, CUDA_HOME
/// and CUDA_PATH, the standard toolkit and library folders, NVIDIA's wheels in an active Python
/// environment, the loader's path. Major versions 12 and 13 are supported. A failed search isn't
/// repeated. libNVVM, for NVVM IR, is searched in the same way with `search.nvvm` and LODE_NVVM.
/// libdevice is found beside it, and nvJitLink, for the machine code, as by Linker.
/// libLLVM, of LLVM 14 or newer, is searched with `search.llvm` and LODE_LLVM, beside the
/// executable, in the system's folder, in Conda's and in the loader's path. It is opened in a
/// worker alone, so that IR which ends LLVM doesn't end the host; without lode-worker, LLVM IR
/// isn't compiled.
///
/// Thread-safe: compilations run concurrently, although NVRTC takes a lock in its front end. Copies
/// share the opened library. No call changes the process's stack limit or the calling thread's
/// locale.
class Compiler {
public:
    /// Opens nothing yet.
    explicit Compiler(CompilerSearch search = {});

    /// Properties of a language's compiler, which is opened if needed: NVRTC for CUDA C++, libNVVM
    /// for NVVM IR, LLVM for LLVM IR, nvJitLink for PTX. Errors: compiler_missing lists every place
    /// tried and what was found there.
    [[nodiscard]] Result<CompilerInfo> info(
        Source::Language language = Source::Language::cuda) const;

    /// Compiles a source for one target and blocks until the compiler is done.
    ///
    /// A real target gives cubin and PTX, a virtual one only PTX; CompileOptions::lto and
    /// CompileOptions::tile change that. `name_expressions` are C++ names of kernels or variables
    /// at global scope (`scale<float>`, `&ns::table`); their symbols are in Image::lowered_names.
    ///
    /// NVVM IR takes the options that concern code: math, max_registers, line_info, debug,
    /// relocatable, lto, and the extra flags -opt=0, -opt=3 and -jump-table-density=N. LLVM IR
    /// takes the same options except lto and Math::fmad, and the extra flags -O0 to -O3 and
    /// -mattr=+ptxN.
    ///
    /// PTX is assembled for a real target, with the options max_registers, line_info, debug and the
    /// extra flag -Xptxas=OPTION. For a virtual one it is wrapped, and its own .target is used.
    ///
    /// Errors: compile_failed (message: the first error with file and line; log: everything);
    /// not_found (a missing source or include folder; a name expression that names nothing, with
    /// the kernels that exist); file_failed; unsupported_arch if this NVRTC lacks the target;
    /// compiler_too_old if it lacks CompileOptions::tile; invalid_argument for a wrong option;
    /// invalid_image for a PTX source without a .target; compiler_missing; compiler_failed.
    [[nodiscard]] Result<Image> compile(const Source& source, const Arch& arch,
                                        const CompileOptions& options = {},
                                        std::span<const std::string> name_expressions = {}) const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
