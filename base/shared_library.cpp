#include "base/shared_library.hpp"

#include "base/message_text.hpp"
#include "base/os/library.hpp"
#include "base/os/process.hpp"
#include "base/process_end.hpp"
#include "base/stand_in.hpp"
#include "base/try.hpp"

#include <system_error>

#include <fmt/format.h>

/// <lode/base/package.h> defines it in the host's own objects, or nothing does.
extern "C" __attribute__((weak, visibility("hidden"))) const char* lode_package;

namespace LODE_NAMESPACE {
namespace {

Result<void*> open_named(const std::string& name) {
    const ExitHandlerScope scope;
    std::string why;
    if (void* handle = os::open_library(name, why)) return handle;
    return fail(Errc::not_found, std::move(why));
}

/// What leads from a stand-in to its original; nullptr for other libraries. A stand-in that answers
/// from the cache lies directly above the original.
const char* prefix_of_original(void* handle) noexcept {
    if (os::find_symbol(handle, cached_symbol) != nullptr) return uncached_prefix;
    return os::find_symbol(handle, stand_in_symbol) != nullptr ? original_prefix : nullptr;
}

}  // namespace

Status require_dynamic_program(Errc code, std::string_view what) {
    if (os::has_loader()) return {};
    return fail(code,
                fmt::format("{} can't be opened, because this program is linked with -static "
                            "and has no loader for shared libraries. Link it without -static; "
                            "-static-libstdc++ and -static-libgcc are possible.",
                            what));
}

Result<SharedLibrary> SharedLibrary::open(const std::filesystem::path& path) {
    LODE_TRY(require_dynamic_program(Errc::not_found, path.string()));
    LODE_TRY_ASSIGN(void* handle, open_named(path.string()));
    if (const char* prefix = prefix_of_original(handle)) {
        LODE_TRY_ASSIGN(handle, open_named(prefix + path.string()));
        if (prefix_of_original(handle) != nullptr) {
            return fail(Errc::not_found,
                        fmt::format("'{}' is a stand-in of lode's.", path.string()));
        }
    }
    SharedLibrary library;
    library.handle_ = handle;
    library.path_ = path;
    if (auto loaded = os::path_of_library(handle); !loaded.empty()) {
        std::error_code problem;
        auto resolved = std::filesystem::canonical(loaded, problem);
        library.path_ = problem ? std::move(loaded) : std::move(resolved);
    }
    return library;
}

void* SharedLibrary::symbol(std::string_view name) const noexcept {
    if (handle_ == nullptr) return nullptr;
    return os::find_symbol(handle_, std::string(name).c_str());
}

std::string LibrarySearch::describe() const {
    std::vector<std::string> lines;
    for (const auto& [place, outcome] : attempts)
        lines.push_back(fmt::format("{} ({}): {}", place.candidate.string(), place.why, outcome));
    return lines.empty() ? "" : "  " + listed(lines, search_form);
}

LibrarySearch open_first(const std::vector<LibraryPlace>& places) {
    LibrarySearch search;
    for (const auto& place : places) {
        std::error_code problem;
        if (place.candidate.has_parent_path() &&
            !std::filesystem::exists(place.candidate, problem)) {
            search.attempts.push_back({place, problem ? problem.message() : "no such file"});
            continue;
        }
        auto library = SharedLibrary::open(place.candidate);
        if (!library) {
            search.attempts.push_back(
                {place, fmt::format("not loadable: {}", library.error().message)});
            continue;
        }
        search.attempts.push_back({place, "opened"});
        search.library = *std::move(library);
        return search;
    }
    return search;
}

std::filesystem::path executable_folder() {
    return os::executable_path().parent_path();
}

std::filesystem::path folder_of_this_code() {
    static const char here = 0;
    std::error_code problem;
    const auto file = std::filesystem::canonical(os::path_at(&here), problem);
    return problem ? std::filesystem::path() : file.parent_path();
}

std::filesystem::path build_tree() {
    constexpr int levels = 6;  // More than a program of this repository is deep in its tree.
    for (auto folder : {executable_folder(), folder_of_this_code()}) {
        for (int level = 0; level < levels && !folder.empty(); ++level) {
            std::error_code problem;
            if (std::filesystem::exists(folder / "CMakeCache.txt", problem)) return folder;
            if (folder == folder.parent_path()) break;
            folder = folder.parent_path();
        }
    }
    return {};
}

std::filesystem::path package_programs_folder() {
    if (&lode_package == nullptr) return {};
    const std::filesystem::path header = lode_package;
    // A compiler that was given a relative include folder names the header relative to its own.
    if (!header.is_absolute()) return {};
    return (header.parent_path() / LODE_PROGRAMS_FROM_HEADER).lexically_normal();
}

}  // namespace LODE_NAMESPACE
