#include "jit/nvrtc/locate.hpp"

#include "jit/nvrtc/bundled_headers.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

using std::filesystem::path;

/// A compiler's library, as NVIDIA's packages have it. The functions below never destroy theirs: a
/// thread may look for a compiler while exit() runs destructors.
struct SoughtLibrary {
    std::vector<std::string_view> names;        ///< The files, best first.
    std::string_view unversioned_name;          ///< Another one in a chosen folder; may be empty.
    std::vector<std::string_view> in_toolkit;   ///< The folders of a toolkit.
    std::vector<std::string_view> in_standard;  ///< The same in a standard location.
    std::vector<std::string_view> in_prefix;    ///< Folders of a wheel or of Conda.
    std::string_view wheel;                     ///< For CUDA 13; empty if there is none.
    std::string_view wheel_12;                  ///< Its folder for CUDA 12.
    std::string_view variable;
};

const SoughtLibrary& nvrtc_library() {
    static const auto& library = *new SoughtLibrary{{"libnvrtc.so.13", "libnvrtc.so.12"},
                                                    "libnvrtc.so",
                                                    {"lib64", "lib"},
                                                    {"lib64"},
                                                    {"lib"},
                                                    "nvidia-cuda-nvrtc",
                                                    "cuda_nvrtc",
                                                    "LODE_NVRTC"};
    return library;
}

const SoughtLibrary& nvvm_library() {
    // The wheel for CUDA 12 has it without a version.
    static const auto& library = *new SoughtLibrary{{"libnvvm.so.4", "libnvvm.so"},
                                                    {},
                                                    {"nvvm/lib64", "lib64", "lib"},
                                                    {"nvvm/lib64", "lib64"},
                                                    {"nvvm/lib64", "lib"},
                                                    "nvidia-nvvm",
                                                    "cuda_nvcc",
                                                    "LODE_NVVM"};
    return library;
}

const SoughtLibrary& llvm_library() {
    static const auto& library =
        *new SoughtLibrary{{"libLLVM.so.22.1", "libLLVM.so.21.1", "libLLVM.so.20.1",
                            "libLLVM.so.19.1", "libLLVM.so.18.1", "libLLVM-17.so.1",
                            "libLLVM-16.so.1", "libLLVM-15.so.1", "libLLVM-14.so.1"},
                           "libLLVM.so",
                           {},
                           {},
                           {"lib"},
                           {},
                           {},
                           "LODE_LLVM"};
    return library;
}

// The names of this architecture in Debian's and CUDA's folders.
#if defined(__aarch64__)
constexpr std::string_view multiarch_folder = "aarch64-linux-gnu";
constexpr std::string_view target_folders[] = {"sbsa-linux", "aarch64-linux"};
#else
constexpr std::string_view multiarch_folder = "x86_64-linux-gnu";
constexpr std::string_view target_folders[] = {"x86_64-linux"};
#endif

/// The numbers in a name: "cuda-13.0" gives {13, 0}.
std::vector<int> numbers_in(std::string_view name) {
    constexpr std::string_view digits = "0123456789";
    std::vector<int> numbers;
    while (true) {
        name.remove_prefix(std::min(name.find_first_of(digits), name.size()));
        if (name.empty()) return numbers;
        const auto length = std::min(name.find_first_not_of(digits), name.size());
        std::from_chars(name.data(), name.data() + length, numbers.emplace_back());
        name.remove_prefix(length);
    }
}

/// The subfolders of `folder` whose names start with one of the prefixes, newest version first.
std::vector<path> versioned_folders(const path& folder,
                                    std::initializer_list<std::string_view> prefixes) {
    std::vector<path> found;
    std::error_code problem;
    for (std::filesystem::directory_iterator entry(folder, problem), end; !problem && entry != end;
         entry.increment(problem)) {
        const auto name = entry->path().filename().string();
        std::error_code unreadable;
        const bool wanted = std::ranges::any_of(
            prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
        if (wanted && entry->is_directory(unreadable)) {
            found.push_back(entry->path());
        }
    }
    std::ranges::sort(found, [](const path& a, const path& b) {
        const auto left = numbers_in(a.filename().string());
        const auto right = numbers_in(b.filename().string());
        return std::pair(left, a) > std::pair(right, b);
    });
    return found;
}

std::vector<path> site_packages_of(const path& environment) {
    std::vector<path> found;
    for (const auto& python : versioned_folders(environment / "lib", {"python3"})) {
        found.push_back(python / "site-packages");
    }
    return found;
}

/// The folder of Python packages that lode's own wheel is in; empty if lode comes another way.
path site_packages_of_this_code() {
    path folder = folder_of_this_code();
    while (folder.filename() != "site-packages" && folder.filename() != "dist-packages") {
        if (folder == folder.parent_path()) return {};
        folder = folder.parent_path();
    }
    return folder;
}

/// Toolkit folders in standard locations: /usr/local/cuda, then the versioned ones.
std::vector<path> standard_toolkits(const path& root) {
    const path local = root / "usr/local";
    std::vector<path> toolkits = {local / "cuda"};
    for (auto& folder : versioned_folders(local, {"cuda-13", "cuda-12"}))
        toolkits.push_back(std::move(folder));
    return toolkits;
}

bool is_there(const path& file) {
    std::error_code problem;
    return std::filesystem::exists(file, problem);
}

bool is_folder(const path& file) {
    std::error_code problem;
    return std::filesystem::is_directory(file, problem);
}

/// Collects candidate places folder by folder.
class Places {
public:
    explicit Places(const SoughtLibrary& library) : names_(library.names) {}

    void folder(const path& folder, const std::string& why) {
        for (const auto name : names_)
            places_.push_back({why, folder / name});
    }
    void folders(const path& parent, std::span<const std::string_view> below,
                 const std::string& why) {
        for (const auto name : below)
            folder(parent / name, why);
    }
    void file(const path& file, const std::string& why) { places_.push_back({why, file}); }

    [[nodiscard]] std::vector<LibraryPlace> take() && { return std::move(places_); }

private:
    std::span<const std::string_view> names_;
    std::vector<LibraryPlace> places_;
};

/// The absolute path; unchanged if the working directory no longer exists.
path from_the_root(const path& given) {
    std::error_code problem;
    path made = std::filesystem::absolute(given, problem);
    return problem ? given : made;
}

/// The places that the user's explicit choice refers to.
std::vector<LibraryPlace> chosen_places(const SoughtLibrary& library, const path& chosen,
                                        const std::string& why) {
    Places places(library);
    if (is_folder(chosen)) {
        places.folder(from_the_root(chosen), why);
        if (!library.unversioned_name.empty())
            places.file(from_the_root(chosen) / library.unversioned_name, why);
    } else if (is_there(chosen)) {
        // Absolute, since the loader would search other folders for a bare name.
        places.file(from_the_root(chosen), why);
    } else {
        places.file(chosen, why);
    }
    return std::move(places).take();
}

}  // namespace

NvrtcSearchEnvironment search_of(Source::Language language, const CompilerSearch& search) {
    switch (language) {
        case Source::Language::ptx:
            return NvrtcSearchEnvironment::of_process({}, "LODE_NVJITLINK");
        case Source::Language::nvvm_ir:
            return NvrtcSearchEnvironment::of_process(search.nvvm, "LODE_NVVM");
        case Source::Language::llvm_ir:
            return NvrtcSearchEnvironment::of_process(search.llvm, "LODE_LLVM");
        case Source::Language::cuda:
            break;
    }
    return NvrtcSearchEnvironment::of_process(search.nvrtc);
}

NvrtcSearchEnvironment NvrtcSearchEnvironment::of_process(const path& explicit_path,
                                                          const char* variable) {
    NvrtcSearchEnvironment here;
    here.chosen = explicit_path;
    here.chosen_by = "the path given";
    if (explicit_path.empty()) {
        here.chosen = environment(variable).value_or("");
        here.chosen_by = variable;
    }
    here.executable_folder = lode::executable_folder();
    here.site_packages = site_packages_of_this_code();
    here.cuda_home = environment("CUDA_HOME");
    here.cuda_path = environment("CUDA_PATH");
    here.virtual_env = environment("VIRTUAL_ENV");
    here.conda_prefix = environment("CONDA_PREFIX");
    return here;
}

std::vector<LibraryPlace> wheel_folders(const NvrtcSearchEnvironment& here,
                                        std::string_view cuda_12) {
    std::vector<LibraryPlace> folders;
    const auto add = [&](const path& packages, std::string_view where) {
        for (const auto wheel : {std::string_view("cu13"), cuda_12}) {
            folders.push_back(
                {fmt::format("NVIDIA's wheel {}", where), packages / "nvidia" / wheel / "lib"});
        }
    };
    if (!here.site_packages.empty()) add(here.site_packages, "beside lode's");
    if (here.virtual_env) {
        for (const auto& packages : site_packages_of(*here.virtual_env))
            add(packages, "in VIRTUAL_ENV");
    }
    if (here.conda_prefix) {
        for (const auto& packages : site_packages_of(*here.conda_prefix))
            add(packages, "in CONDA_PREFIX");
    }
    return folders;
}

namespace {

std::vector<LibraryPlace> places_of(const SoughtLibrary& library,
                                    const NvrtcSearchEnvironment& here) {
    if (!here.chosen.empty()) return chosen_places(library, here.chosen, here.chosen_by);

    Places places(library);
    if (!here.executable_folder.empty()) {
        places.folder(here.executable_folder, "beside the executable");
    }
    if (here.cuda_home) places.folders(*here.cuda_home, library.in_toolkit, "CUDA_HOME");
    if (here.cuda_path) places.folders(*here.cuda_path, library.in_toolkit, "CUDA_PATH");
    for (const auto& toolkit : standard_toolkits(here.root))
        places.folders(toolkit, library.in_standard, "a standard toolkit folder");
    places.folder(here.root / "usr/lib" / multiarch_folder, "the system's library folder");
    if (!library.wheel.empty()) {
        for (const auto& wheel : wheel_folders(here, library.wheel_12))
            places.folders(wheel.candidate.parent_path(), library.in_prefix, wheel.why);
    }
    if (here.conda_prefix) places.folders(*here.conda_prefix, library.in_prefix, "CONDA_PREFIX");
    for (const auto name : library.names)
        places.file(name, "the loader's path");
    return std::move(places).take();
}

std::string cure_for(const SoughtLibrary& library, const NvrtcSearchEnvironment& here) {
    if (!here.chosen.empty()) {
        return fmt::format(
            "Only {} is searched: correct it, or unset it to search the usual places.",
            here.chosen_by);
    }
    if (library.wheel.empty()) {
        return fmt::format(
            "Install LLVM, such as Debian's package libllvm19, or set {} to the library.",
            library.variable);
    }
    std::string cure = fmt::format(
        "Install a CUDA 12 or 13 toolkit or NVIDIA's wheel {}, or set {} to the library.",
        library.wheel, library.variable);
    if (here.site_packages.empty() && !here.virtual_env && !here.conda_prefix) {
        cure +=
            " No Python environment is searched, because neither VIRTUAL_ENV nor CONDA_PREFIX is "
            "set: activate the one that has the wheel.";
    }
    return cure;
}

/// Include folders in search order, existing or not.
class IncludeFolders {
public:
    void add(const path& include) {
        folders_.push_back(include);
        folders_.push_back(include / "cccl");
    }
    void toolkit(const path& toolkit) {
        add(toolkit / "include");
        for (const auto target : target_folders)
            add(toolkit / "targets" / target / "include");
    }
    /// The folders that hold the parts of a toolkit, without duplicates, in the parts' order. One
    /// header represents each part: the runtime's, the compiler's, libcu++ and cuRAND, which a
    /// toolkit may lack. `complete` is set to whether every other part was found.
    [[nodiscard]] std::vector<path> of_all_parts(bool& complete) const {
        std::vector<path> found;
        complete = true;
        constexpr const char* curand = "curand_kernel.h";
        for (const auto* marker :
             {"cuda_fp16.h", "crt/host_defines.h", "cuda/std/version", curand}) {
            const auto folder = std::ranges::find_if(
                folders_, [&](const path& place) { return is_there(place / marker); });
            complete = complete && (folder != folders_.end() || marker == curand);
            if (folder != folders_.end() && std::ranges::find(found, *folder) == found.end())
                found.push_back(*folder);
        }
        return found;
    }

private:
    std::vector<path> folders_;
};

}  // namespace

std::vector<LibraryPlace> nvrtc_places(const NvrtcSearchEnvironment& here) {
    return places_of(nvrtc_library(), here);
}

std::string nvrtc_cure(const NvrtcSearchEnvironment& here) {
    return cure_for(nvrtc_library(), here);
}

std::vector<LibraryPlace> nvvm_places(const NvrtcSearchEnvironment& here) {
    return places_of(nvvm_library(), here);
}

std::string nvvm_cure(const NvrtcSearchEnvironment& here) {
    return cure_for(nvvm_library(), here);
}

std::vector<LibraryPlace> llvm_places(const NvrtcSearchEnvironment& here) {
    return places_of(llvm_library(), here);
}

std::string llvm_cure(const NvrtcSearchEnvironment& here) {
    return cure_for(llvm_library(), here);
}

std::vector<path> toolkit_libdevice_places(const NvrtcSearchEnvironment& here) {
    auto toolkits = here;
    toolkits.chosen = environment("LODE_NVVM").value_or("");
    std::vector<path> files;
    for (const auto& place : nvvm_places(toolkits)) {
        if (!place.candidate.has_parent_path()) continue;
        for (auto& file : libdevice_places(place.candidate)) {
            if (std::ranges::find(files, file) == files.end()) files.push_back(std::move(file));
        }
    }
    return files;
}

std::vector<path> libdevice_places(const path& library) {
    constexpr const char* file = "libdevice/libdevice.10.bc";
    const path parent = library.parent_path().parent_path();
    // In toolkits both are below nvvm, in wheels only libdevice is; Debian has a folder of its own.
    return {parent / file, parent / "nvvm" / file, parent / "nvidia-cuda-toolkit" / file};
}

std::vector<path> toolkit_include_folders(const path& library, const NvrtcSearchEnvironment& here) {
    IncludeFolders places;
    const path own = library.parent_path().parent_path();
    places.toolkit(own);
    bool complete = false;
    if (auto found = places.of_all_parts(complete); complete) return found;
    // NVIDIA's wheels for CUDA 12 spread a toolkit over sibling folders.
    for (const auto* wheel : {"cuda_runtime", "cuda_cccl", "cuda_nvcc", "curand"})
        places.add(own.parent_path() / wheel / "include");
    for (const auto& toolkit : {here.cuda_home, here.cuda_path, here.conda_prefix}) {
        if (toolkit) places.toolkit(*toolkit);
    }
    for (const auto& toolkit : standard_toolkits(here.root))
        places.toolkit(toolkit);
    places.add(here.root / "usr/include");
    auto found = places.of_all_parts(complete);
    // Only where there is nothing else: parts of two toolkits may not fit together.
    return found.empty() ? installed_headers(library) : found;
}

}  // namespace LODE_NAMESPACE
