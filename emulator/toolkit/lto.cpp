#include "emulator/toolkit/lto.hpp"

#include "base/message_text.hpp"
#include "base/shared_library.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace lode::emulator::toolkit {
namespace {

namespace fs = std::filesystem;

constexpr int lto_ir_input = 3;  ///< NVJITLINK_INPUT_LTOIR

/// The functions of nvJitLink.h, by the names that every release exports.
struct RealLinker {
    int (*create)(void** handle, std::uint32_t count, const char** options);
    int (*destroy)(void** handle);
    int (*add)(void* handle, int type, const void* data, std::size_t size, const char* name);
    int (*complete)(void* handle);
    int (*ptx_size)(void* handle, std::size_t* size);
    int (*ptx)(void* handle, char* text);
    int (*log_size)(void* handle, std::size_t* size);
    int (*log)(void* handle, char* text);
};

void add_python_folders(const fs::path& environment, std::vector<fs::path>& folders) {
    std::error_code ignored;
    for (const auto& python : fs::directory_iterator(environment / "lib", ignored)) {
        if (!python.path().filename().string().starts_with("python")) continue;
        for (const char* wheel : {"cu13", "nvjitlink"})
            folders.push_back(python.path() / "site-packages/nvidia" / wheel / "lib");
    }
}

std::vector<fs::path> search_folders() {
    std::vector<fs::path> folders;
    const auto listed = environment("LD_LIBRARY_PATH").value_or("");
    for (std::string_view path = listed; !path.empty();) {
        const auto end = std::min(path.find(':'), path.size());
        if (end > 0) folders.emplace_back(path.substr(0, end));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
        if (const auto folder = environment(variable)) add_python_folders(*folder, folders);
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        if (const auto folder = environment(variable)) {
            folders.push_back(fs::path(*folder) / "lib64");
            folders.push_back(fs::path(*folder) / "lib");
        }
    }
    folders.emplace_back("/usr/local/cuda/lib64");
    return folders;
}

/// NVIDIA's libraries, best first.
std::vector<fs::path> library_files(const std::vector<fs::path>& folders) {
    std::vector<fs::path> files;
    const auto add = [&](const fs::path& file) {
        std::error_code problem;
        if (fs::exists(file, problem)) files.push_back(file);
    };
    const std::string own = fmt::format("libnvJitLink.so.{}", LODE_CUDA_MAJOR);
    if (const auto chosen = environment("LODE_NVJITLINK")) {
        std::error_code problem;
        add(fs::is_directory(*chosen, problem) ? fs::path(*chosen) / own : fs::path(*chosen));
    }
    files.emplace_back(own);  // What the program asked for, when this library was given to it.
    for (const std::string& name :
         {own, std::string("libnvJitLink.so.13"), std::string("libnvJitLink.so.12")})
        for (const auto& folder : folders)
            add(folder / name);
    return files;
}

template <class Function>
bool find(const SharedLibrary& library, std::string_view name, Function*& function) {
    function = reinterpret_cast<Function*>(library.symbol(name));
    return function != nullptr;
}

Result<RealLinker> open_real() {
    const auto folders = search_folders();
    for (const auto& file : library_files(folders)) {
        const auto library = SharedLibrary::open(file);
        RealLinker found{};
        if (library && find(*library, "nvJitLinkCreate", found.create) &&
            find(*library, "nvJitLinkDestroy", found.destroy) &&
            find(*library, "nvJitLinkAddData", found.add) &&
            find(*library, "nvJitLinkComplete", found.complete) &&
            find(*library, "nvJitLinkGetLinkedPtxSize", found.ptx_size) &&
            find(*library, "nvJitLinkGetLinkedPtx", found.ptx) &&
            find(*library, "nvJitLinkGetErrorLogSize", found.log_size) &&
            find(*library, "nvJitLinkGetErrorLog", found.log))
            return found;
    }
    std::vector<std::string> places;
    for (const auto& folder : folders)
        places.push_back(folder.string());
    return fail(Errc::not_found,
                fmt::format("LTO-IR needs NVIDIA's nvJitLink, which isn't in {}. LODE_NVJITLINK "
                            "names it.",
                            listed(places)));
}

/// A text that the library gives in two calls: its size with the NUL, then its bytes.
std::optional<std::string> text_of(void* handle, int (*size_of)(void*, std::size_t*),
                                   int (*give)(void*, char*)) {
    std::size_t size = 0;
    if (size_of(handle, &size) != 0 || size == 0) return std::nullopt;
    std::string text(size, '\0');
    if (give(handle, text.data()) != 0) return std::nullopt;
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
}

}  // namespace

Result<std::string> ptx_of_lto_ir(std::span<const LtoInput> inputs,
                                  std::vector<std::string> options) {
    static const auto& opened = *new auto(open_real());
    if (!opened) return tl::unexpected<Error>(opened.error());
    const RealLinker& real = *opened;
    for (const char* option : {"-lto", "-ptx"})
        if (std::ranges::find(options, option) == options.end()) options.emplace_back(option);
    std::vector<const char*> words;
    for (const auto& option : options)
        words.push_back(option.c_str());
    void* handle = nullptr;
    int outcome = real.create(&handle, static_cast<std::uint32_t>(words.size()), words.data());
    if (outcome != 0) {
        return fail(Errc::link_failed,
                    fmt::format("NVIDIA's nvJitLink refuses the options {} (error {}).",
                                listed(options, {.separator = " "}), outcome));
    }
    for (const auto& [bytes, name] : inputs)
        if (outcome == 0)
            outcome = real.add(handle, lto_ir_input, bytes.data(), bytes.size(), name.c_str());
    if (outcome == 0) outcome = real.complete(handle);
    std::optional<std::string> text;
    if (outcome == 0) text = text_of(handle, real.ptx_size, real.ptx);
    const auto log = text_of(handle, real.log_size, real.log).value_or("");
    real.destroy(&handle);
    if (!text) {
        return fail(Errc::link_failed,
                    fmt::format("NVIDIA's nvJitLink can't compile the LTO-IR (error {}).\n{}",
                                outcome, log));
    }
    return *std::move(text);
}

}  // namespace lode::emulator::toolkit
