// Where NVRTC, libNVVM, libLLVM and the toolkit's headers may be. All inputs are passed in.
#pragma once

#include "base/shared_library.hpp"

#include <lode/jit/compiler.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// The inputs of the search other than the file system.
struct NvrtcSearchEnvironment {
    std::filesystem::path chosen;  ///< If not empty, the only place to search: a file or a folder.
    std::string chosen_by;         ///< What chose it, e.g. "LODE_NVRTC".
    std::filesystem::path executable_folder;
    std::filesystem::path site_packages;  ///< What holds lode's own Python wheel, or empty.
    std::optional<std::string> cuda_home;
    std::optional<std::string> cuda_path;
    std::optional<std::string> virtual_env;
    std::optional<std::string> conda_prefix;
    std::filesystem::path root = "/";  ///< Prefix of /usr; a temporary folder in tests.

    /// From the process: `explicit_path`, else the variable that names the library, and the
    /// environment variables.
    static NvrtcSearchEnvironment of_process(const std::filesystem::path& explicit_path,
                                             const char* variable = "LODE_NVRTC");

    friend bool operator==(const NvrtcSearchEnvironment&, const NvrtcSearchEnvironment&) = default;
};

/// Where a language's compiler is searched.
NvrtcSearchEnvironment search_of(Source::Language language, const CompilerSearch& search);

/// All places to try for the NVRTC library, best first. Folders are listed (to expand
/// /usr/local/cuda-13* and python3.*); no library is opened.
std::vector<LibraryPlace> nvrtc_places(const NvrtcSearchEnvironment& here);

/// What to do where none of them is there, in full sentences.
std::string nvrtc_cure(const NvrtcSearchEnvironment& here);

/// The same of libNVVM.
std::vector<LibraryPlace> nvvm_places(const NvrtcSearchEnvironment& here);
std::string nvvm_cure(const NvrtcSearchEnvironment& here);

/// The same of libLLVM, newest version first.
std::vector<LibraryPlace> llvm_places(const NvrtcSearchEnvironment& here);
std::string llvm_cure(const NvrtcSearchEnvironment& here);

/// Where libdevice, the library of mathematical functions, may be for an opened libNVVM.
std::vector<std::filesystem::path> libdevice_places(const std::filesystem::path& library);
/// The same for a compiler that comes without one: of each place where libNVVM may be.
std::vector<std::filesystem::path> toolkit_libdevice_places(const NvrtcSearchEnvironment& here);

/// Where NVIDIA's Python wheels put a library: beside lode's own wheel, in VIRTUAL_ENV and in
/// CONDA_PREFIX, for CUDA 13, then for CUDA 12, whose wheels have a folder each: `cuda_12`.
std::vector<LibraryPlace> wheel_folders(const NvrtcSearchEnvironment& here,
                                        std::string_view cuda_12);

/// The toolkit's include folders for an opened NVRTC library, in search order: of its own toolkit
/// or wheel, else of CUDA_HOME, CUDA_PATH, CONDA_PREFIX or a standard folder; also libcu++'s folder
/// (include/cccl where it exists). If there are none, those that NVRTC installed
/// (bundled_headers.hpp). Only folders that exist and hold the headers.
std::vector<std::filesystem::path> toolkit_include_folders(const std::filesystem::path& library,
                                                           const NvrtcSearchEnvironment& here);

}  // namespace LODE_NAMESPACE
