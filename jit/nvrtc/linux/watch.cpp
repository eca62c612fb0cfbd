// Puts lode's functions into the import table of a compiler's library.
#include "base/try.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/linux/hooks.hpp"
#include "jit/nvrtc/linux/import_table.hpp"
#include "jit/nvrtc/linux/math_hooks.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace LODE_NAMESPACE {
namespace {

/// Other functions that query the file system; a library that imports one isn't watched.
constexpr std::string_view unknown_functions[] = {
    "canonicalize_file_name",
    "faccessat",
    "fstatat",
    "fstatat64",
    "__fxstatat",
    "__fxstatat64",
    "freopen",
    "freopen64",
    "fts_open",
    "ftw",
    "ftw64",
    "glob",
    "glob64",
    "nftw",
    "nftw64",
    "__open_2",
    "__open64_2",
    "openat2",
    "__openat_2",
    "readlinkat",
    "scandir",
    "scandir64",
    "statx",
    "euidaccess",
};

/// Keeps this code's library or program from being unloaded: the hooks point into it.
void stay_loaded() noexcept {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void*>(&file_hooks), &info) == 0 || info.dli_fname == nullptr)
        return;
    (void)::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

enum class Watched : std::uint8_t { everything, calculations };

tl::unexpected<Error> fail_to_watch(std::string_view why) {
    return fail(Errc::not_supported, fmt::format("Its reads can't be watched: {}.", why));
}

/// Returns the names of the imports that are replaced.
Result<std::vector<std::string_view>> watch_library(const void* symbol, Watched what) {
    static std::mutex mutex;
    const std::lock_guard guard(mutex);
    Dl_info info{};
    if (::dladdr(symbol, &info) == 0) return fail_to_watch("no shared library has it");
    // Each at the place of its table, until the process has ended.
    static auto& libraries = *new std::vector<const void*>;
    auto at = std::ranges::find(libraries, info.dli_fbase);
    if (at == libraries.end()) {
        if (libraries.size() == max_watched_libraries) {
            return fail_to_watch(
                fmt::format("{} other libraries are watched", max_watched_libraries));
        }
        at = libraries.insert(at, info.dli_fbase);
    }
    const auto number = static_cast<std::size_t>(at - libraries.begin());
    stay_loaded();
    const auto calculations = math_hooks(number);
    std::vector<ImportedFunction> functions(calculations.begin(), calculations.end());
    const bool is_all = what == Watched::everything;
    std::ranges::copy_if(file_hooks(number), std::back_inserter(functions), [&](const auto& one) {
        return is_all || one.name == std::string_view("__cxa_atexit");
    });
    const auto forbidden =
        is_all ? std::span(unknown_functions) : std::span<const std::string_view>();
    auto replaced = replace_imports(symbol, functions, forbidden);
    if (replaced) return *std::move(replaced);
    return fail_to_watch(
        "its import table can't be changed, or it reads files with functions that lode doesn't "
        "know");
}

}  // namespace

Status watch_file_functions(const void* symbol, TimeQuestions time) {
    LODE_TRY_ASSIGN(const auto replaced, watch_library(symbol, Watched::everything));
    using Names = std::initializer_list<std::string_view>;
    const auto require_one_of = [&](Names names) -> Status {
        const bool has = std::ranges::any_of(names, [&](std::string_view name) {
            return std::ranges::find(replaced, name) != replaced.end();
        });
        if (has) return {};
        return fail_to_watch(fmt::format("it doesn't import {}", fmt::join(names, " or ")));
    };
    LODE_TRY(require_one_of({"fopen", "fopen64", "open"}));
    LODE_TRY(require_one_of({"stat", "stat64", "__xstat", "__xstat64"}));
    LODE_TRY(require_one_of({"getenv", "secure_getenv"}));
    return time == TimeQuestions::asked ? require_one_of({"ctime"}) : Status();
}

void watch_calculations(const void* symbol) noexcept {
    try {
        (void)watch_library(symbol, Watched::calculations);
    } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; they aren't watched.
    }
}

}  // namespace LODE_NAMESPACE
