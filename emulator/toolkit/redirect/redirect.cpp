// Gives programs inside `lode emulate` the stand-ins wherever they would load the originals: by
// name, by path, through DT_RPATH or DT_RUNPATH. The loader asks it (rtld-audit(7)) before it opens
// a library. With LODE_REDIRECTS_TO_CACHE it is that of `lode cached`.
//
// It has no dependencies: for the C library the loader would load a second copy. Its functions run
// under the loader's lock.
#include "base/stand_in.hpp"
#include "emulator/toolkit/redirect/freestanding.hpp"
#include "emulator/toolkit/redirect/static_runtime.hpp"

#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <link.h>

namespace {

#ifdef LODE_REDIRECTS_TO_CACHE
constexpr auto& original_prefix = lode::uncached_prefix;
constexpr const char* own_name = "liblode_redirect_cached.so";
#else
constexpr auto& original_prefix = lode::original_prefix;
constexpr const char* own_name = "liblode_redirect.so";
#endif

using namespace lode::emulator::redirect;

/// What is given for a library.
struct StandIn {
    const char* name;     ///< What the original's names begin with: "libnvrtc.so.13.0.88".
    const char* file;     ///< In the private folder.
    bool needs_original;  ///< It is given only where there is an original, which it loads.
};
constexpr StandIn table[] = {
#ifdef LODE_REDIRECTS_TO_CACHE
    {"libnvJitLink.so.12", "liblode_cached_nvjitlink12.so", true},
    {"libnvJitLink.so.13", "liblode_cached_nvjitlink13.so", true},
    {"libnvrtc.so.12", "liblode_cached_nvrtc12.so", true},
    {"libnvrtc.so.13", "liblode_cached_nvrtc13.so", true},
#else
    {"libcuda.so", "libcuda.so.1", false},
    {"libcudart.so.12", "libcudart.so.12", false},
    {"libcudart.so.13", "libcudart.so.13", false},
    {"libnvJitLink.so.12", "libnvJitLink.so.12", false},
    {"libnvJitLink.so.13", "libnvJitLink.so.13", false},
    {"libnvfatbin.so.12", "liblode_nvfatbin12.so", true},
    {"libnvfatbin.so.13", "liblode_nvfatbin13.so", true},
    {"libnvrtc.so.12", "liblode_nvrtc12.so", true},
    {"libnvrtc.so.13", "liblode_nvrtc13.so", true},
#endif
};
/// The same in this process.
struct Redirection : StandIn {
    char original[path_size];  ///< The file that the process has asked for last, or empty.
    char path[path_size];      ///< The path of `file`; empty without a private folder.
};
Redirection redirections[sizeof(table) / sizeof(*table)];

/// The private folder, with the slash; empty if the environment doesn't name it.
char folder[path_size];
/// Whether the library that the loader searches for by name is an original.
bool seeks_original;

bool exists(const char* path) noexcept {
    return system_call(SYS_faccessat, AT_FDCWD, path, 0) == 0;
}

Redirection* redirection_of_name(const char* name) noexcept {
    for (Redirection& row : redirections) {
        const char* rest = after(name, row.name);
        if (rest != nullptr && (*rest == '\0' || *rest == '.') && row.path[0] != '\0') return &row;
    }
    return nullptr;
}

/// The file name that a link leads to; nullptr for what is no link.
const char* target_name(const char* link) noexcept {
    static char target[path_size];
    const auto size = system_call(SYS_readlinkat, AT_FDCWD, link, target, path_size - 1);
    if (size <= 0) return nullptr;
    target[size] = '\0';
    return target + directory_length(target);
}

#ifdef LODE_REDIRECTS_TO_CACHE
/// Whether a file is a stand-in of the software device's that has no original.
bool is_device_stand_in(const char* path) noexcept {
    const char* target = target_name(path);
    return target != nullptr && after(target, "liblode_") != nullptr &&
           after(target, "liblode_cached_") == nullptr;
}
#endif

/// The stand-in for a file. For a link such as libnvrtc.so, the file's own name says which one.
Redirection* redirection_of(const char* path) noexcept {
    const char* name = path + directory_length(path);
    if (after(name, "lib") == nullptr) return nullptr;
    if (Redirection* found = redirection_of_name(name)) return found;
    for (const StandIn& row : table) {
        const char* unversioned = after(row.name, name);  // Only for the names' own beginnings.
        if (unversioned == nullptr || *unversioned != '.') continue;
        const char* target = target_name(path);
        return target != nullptr ? redirection_of_name(target) : nullptr;
    }
    return nullptr;
}

/// Writes a path in a way that the loader doesn't confuse with the name of a stand-in that was
/// loaded for it.
bool spell_otherwise(char (&room)[path_size], const char* path) noexcept {
    const std::size_t length = directory_length(path);
    std::size_t at = 0;
    return append(room, at, path, length) && append(room, at, "./") &&
           append(room, at, path + length);
}

/// The file of an original: `wanted` follows the prefix.
const char* original_of(const char* wanted) noexcept {
    if (directory_length(wanted) > 0) {
        static char spelled[path_size];
        return spell_otherwise(spelled, wanted) ? spelled : nullptr;
    }
    const Redirection* row = redirection_of_name(wanted);
    if (row != nullptr && row->original[0] != '\0') return row->original;
    seeks_original = true;
    return wanted;
}

/// A file of the private folder by its name, or nullptr.
const char* own_file(const char* name) noexcept {
    static char path[path_size];
    std::size_t at = 0;
    return append(path, at, folder) && append(path, at, name) && exists(path) ? path : nullptr;
}

/// What the loader opens instead of `name`: nullptr for nothing.
const char* redirected(const char* name, bool is_request) noexcept {
    if (folder[0] == '\0') return name;
    if (is_request) {
        seeks_original = false;
        if (const char* wanted = after(name, original_prefix)) return original_of(wanted);
    }
    const bool is_name = directory_length(name) == 0;
    const bool is_ours = after(name, folder) != nullptr;
    if (seeks_original) return is_ours ? nullptr : name;
    Redirection* row = is_ours ? nullptr : redirection_of(name);
    if (row == nullptr) {
        const char* own = is_name ? own_file(name) : nullptr;  // What a stand-in depends on.
        return own != nullptr ? own : name;
    }
    if (!is_name && exists(name)) {
#ifdef LODE_REDIRECTS_TO_CACHE
        if (is_device_stand_in(name)) return name;
#endif
        if (!spell_otherwise(row->original, name)) row->original[0] = '\0';
    } else if (row->needs_original) {
        return name;
    }
    return row->path;
}

/// Reads where the private folder is: this library lies in it.
void find_folder(const char* audit) noexcept {
    while (*audit != '\0') {
        std::size_t length = 0;
        while (audit[length] != '\0' && audit[length] != ':')
            ++length;
        std::size_t at = 0;
        if (append(folder, at, audit, length)) {
            const std::size_t directory = directory_length(folder);
            const char* rest = after(folder + directory, own_name);
            folder[directory] = '\0';
            if (rest != nullptr && *rest == '\0') return;
        }
        audit += length;
        if (*audit == ':') ++audit;
    }
    folder[0] = '\0';
}

[[gnu::constructor]] void prepare(int, char**, char** environment) noexcept {
    for (; *environment != nullptr; ++environment)
        if (const char* audit = after(*environment, "LD_AUDIT=")) find_folder(audit);
    for (std::size_t i = 0; i < sizeof(table) / sizeof(*table); ++i) {
        Redirection& row = redirections[i];
        static_cast<StandIn&>(row) = table[i];
        std::size_t at = 0;
        if (folder[0] == '\0' || !append(row.path, at, folder) || !append(row.path, at, row.file))
            row.path[0] = '\0';
    }
}

}  // namespace

// The functions that the loader calls.
extern "C" {

__attribute__((visibility("default"))) unsigned la_version(unsigned version) {
    return version;
}

/// Called once for what a process asks for (LA_SER_ORIG), then for every path that is tried.
__attribute__((visibility("default"))) char* la_objsearch(const char* name, std::uintptr_t*,
                                                          unsigned flag) {
    return const_cast<char*>(redirected(name, flag == LA_SER_ORIG));
}

#ifndef LODE_REDIRECTS_TO_CACHE
/// Called for every library and for the program, once it is mapped and before its code runs.
__attribute__((visibility("default"))) unsigned la_objopen(link_map* object, Lmid_t space,
                                                           std::uintptr_t*) {
    if (folder[0] != '\0') watch_object(*object, space == LM_ID_BASE, folder);
    return 0;
}
#endif
}
