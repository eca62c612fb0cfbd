#include "jit/nvrtc/file_hooks.hpp"

#include "base/process_end.hpp"
#include "jit/nvrtc/linux/hooks.hpp"
#include "jit/nvrtc/linux/import_table.hpp"
#include "jit/nvrtc/linux/recorded_files.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <cxxabi.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace LODE_NAMESPACE {
namespace {

constinit thread_local FileAccesses* in_force = nullptr;
/// The precompiled header of the compilation; nullptr if there is none.
constinit thread_local PchFile* own_pch = nullptr;
/// Compilations on threads without FileAccesses.
constinit std::atomic<std::uint64_t> foreign_compilations = 0;

/// Whether a file is the compiler's temporary one: "/tmp/edg0_1234", with this process's number.
bool is_temporary(std::string_view path) noexcept {
    unsigned count = 0;
    int process = 0;
    int length = -1;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    // The hooks get texts that end with NUL.
    return std::sscanf(name.data(), "edg%u_%d%n", &count, &process, &length) == 2 &&
           static_cast<std::size_t>(length) == name.size() && process == ::getpid();
}

/// Whether a file is the compiler's own.
bool is_own(const char* path) noexcept {
    return own_pch != nullptr && (path == own_pch->path || is_temporary(path));
}

/// Whether a variable concerns only the compiler's own files.
bool is_own_variable(std::string_view name) noexcept {
    return own_pch != nullptr && name == "TMPDIR";
}

/// The compiler has read the head of the source and writes its precompiled header.
void note_head() noexcept {
    guarded(0, [] {
        own_pch->head = in_force->record();
        return 0;
    });
}

void unforeseen(const char* function, const char* path) noexcept {
    if (in_force == nullptr) return;
    guarded(0, [&] {
        in_force->note_unforeseen(fmt::format("{} '{}'", function, path));
        return 0;
    });
}

// -- Replacements for the C library functions that NVRTC calls ------------------------------

int plain_xstat(int /*version*/, const char* path, struct stat* status) noexcept {
    return ::stat(path, status);
}
int plain_lxstat(int /*version*/, const char* path, struct stat* status) noexcept {
    return ::lstat(path, status);
}
int plain_open(const char* path, int flags, unsigned mode) noexcept {
    return ::open(path, flags, mode);
}
int plain_openat(int folder, const char* path, int flags, unsigned mode) noexcept {
    return ::openat(folder, path, flags, mode);
}
std::FILE* plain_fopen(const char* path, const char* mode) noexcept {
    return std::fopen(path, mode);
}
int plain_stat(const char* path, struct stat* status) noexcept {
    return ::stat(path, status);
}
int plain_lstat(const char* path, struct stat* status) noexcept {
    return ::lstat(path, status);
}
int plain_access(const char* path, int mode) noexcept {
    return ::access(path, mode);
}
char* plain_realpath(const char* path, char* resolved) noexcept {
    return ::realpath(path, resolved);
}
ssize_t plain_readlink(const char* path, char* text, std::size_t size) noexcept {
    return ::readlink(path, text, size);
}
DIR* plain_opendir(const char* path) noexcept {
    return ::opendir(path);
}
int plain_sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
    return ::sigaction(number, action, before);
}
char* plain_time_text(const std::time_t* time) noexcept {
    return std::ctime(time);
}

template <class Function>
void* address(Function* function) noexcept {
    return reinterpret_cast<void*>(function);
}

/// getenv for this text, which names no variable, asks other copies of lode in the process whether
/// one of them compiles on this thread.
constexpr std::string_view copies_question = "=lode compiles";

/// The hooks of one library. Each library has its own, because what they forward to differs:
/// another copy of lode may have its hooks in some of the libraries, before or after this one.
template <int library>
struct Hooks {
    static inline constinit Next next_fopen{&plain_fopen};
    static inline constinit Next next_stat{&plain_stat};
    static inline constinit Next next_xstat{&plain_xstat};
    static inline constinit Next next_variable{&::getenv};
    static inline constinit Next next_open{&plain_open};
    static inline constinit Next next_openat{&plain_openat};
    static inline constinit Next next_lstat{&plain_lstat};
    static inline constinit Next next_lxstat{&plain_lxstat};
    static inline constinit Next next_access{&plain_access};
    static inline constinit Next next_realpath{&plain_realpath};
    static inline constinit Next next_readlink{&plain_readlink};
    static inline constinit Next next_opendir{&plain_opendir};
    static inline constinit Next next_time_text{&plain_time_text};
    static inline constinit Next next_time{&std::time};
    static inline constinit Next next_process{&::getpid};
    static inline constinit Next next_at_exit{&abi::__cxa_atexit};
    static inline constinit Next next_signal{&std::signal};
    static inline constinit Next next_sigaction{&plain_sigaction};

    static std::FILE* hooked_fopen(const char* path, const char* mode) noexcept {
        if (in_force == nullptr) return next_fopen(path, mode);
        if (is_own(path)) {
            if (mode[0] == 'w' && path == own_pch->path) note_head();
            return next_fopen(path, mode);
        }
        if (mode[0] != 'r' || std::strchr(mode, '+') != nullptr) {
            unforeseen("writing", path);
            return next_fopen(path, mode);
        }
        return guarded<std::FILE*>(nullptr, [&] { return open_recorded(*in_force, path); });
    }
    static int hooked_stat(const char* path, struct stat* status) noexcept {
        if (in_force == nullptr || is_own(path)) return next_stat(path, status);
        return guarded(-1, [&] { return look_recorded(*in_force, path, status); });
    }
    /// stat as exported by C libraries before glibc 2.33.
    static int hooked_xstat(int version, const char* path, struct stat* status) noexcept {
        if (in_force == nullptr || is_own(path)) return next_xstat(version, path, status);
        return guarded(-1, [&] { return look_recorded(*in_force, path, status); });
    }
    static char* hooked_variable(const char* name) noexcept {
        constinit static char yes[] = "yes";
        if (in_force != nullptr && name == copies_question) return yes;
        char* const value = next_variable(name);
        if (in_force == nullptr || is_own_variable(name)) return value;
        guarded(0, [&] {
            in_force->note_variable(name, value);
            return 0;
        });
        return value;
    }

    /// NVRTC asks for the time as text once in each compilation, for __TIME__ and __DATE__.
    static char* hooked_time_text(const std::time_t* time) noexcept {
        if (in_force == nullptr) {
            // No compilation of another copy leaves traces in NVRTC.
            if (next_variable(copies_question.data()) == nullptr)
                foreign_compilations.fetch_add(1, std::memory_order_relaxed);
            return next_time_text(time);
        }
        constinit static thread_local char constant[] = "Sat Jan  1 11:22:33 2000\n";
        // The compiler puts quotes around parts of the text, and reads them where it expands a
        // macro.
        constinit static thread_local char unusable[] = "Mon \"######\"####### ####\n";
        switch (in_force->time()) {
            case CompilerTime::constant:
                return constant;
            case CompilerTime::unusable:
                return unusable;
            case CompilerTime::real:
                break;
        }
        const std::time_t now = std::time(nullptr);
        return std::ctime(&now);
    }
    // NVRTC before 12.3 puts the time and the number of the process into the names of symbols that
    // only their own code knows.
    static std::time_t hooked_time(std::time_t* to) noexcept {
        if (in_force == nullptr) return next_time(to);
        constexpr std::time_t always = 946'684'800;
        if (to != nullptr) *to = always;
        return always;
    }
    static pid_t hooked_process() noexcept {
        constexpr pid_t always = 1;
        // The names of temporary files have the number too.
        return in_force == nullptr || own_pch != nullptr ? next_process() : always;
    }
    // NVRTC's front end handles SIGTERM and others with exit(), and doesn't give the host's
    // handlers back.
    static void (*hooked_signal(int number, void (*handler)(int)) noexcept)(int) {
        return in_force == nullptr ? next_signal(number, handler) : SIG_DFL;
    }
    static int hooked_sigaction(int number, const struct sigaction* action,
                                struct sigaction* before) noexcept {
        const bool is_fault = number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
                              number == SIGILL || number == SIGABRT;
        return next_sigaction(number, in_force == nullptr || is_fault ? action : nullptr, before);
    }
    /// NVRTC's handlers must find no compilation in progress.
    static int hooked_at_exit(void (*handler)(void*), void* argument, void* owner) noexcept {
        const ExitHandlerScope scope;
        return next_at_exit(handler, argument, owner);
    }

    // NVRTC isn't known to call the following: they are forwarded, and the result isn't kept.

    static int hooked_open(const char* path, int flags, unsigned mode) noexcept {
        unforeseen("opening", path);
        return next_open(path, flags, mode);
    }
    static int hooked_openat(int folder, const char* path, int flags, unsigned mode) noexcept {
        unforeseen("opening", path);
        return next_openat(folder, path, flags, mode);
    }
    static int hooked_lstat(const char* path, struct stat* status) noexcept {
        unforeseen("examining the link", path);
        return next_lstat(path, status);
    }
    static int hooked_lxstat(int version, const char* path, struct stat* status) noexcept {
        unforeseen("examining the link", path);
        return next_lxstat(version, path, status);
    }
    static int hooked_access(const char* path, int mode) noexcept {
        unforeseen("checking access to", path);
        return next_access(path, mode);
    }
    static char* hooked_realpath(const char* path, char* resolved) noexcept {
        unforeseen("resolving", path);
        return next_realpath(path, resolved);
    }
    static ssize_t hooked_readlink(const char* path, char* text, std::size_t size) noexcept {
        unforeseen("reading the link", path);
        return next_readlink(path, text, size);
    }
    static DIR* hooked_opendir(const char* path) noexcept {
        unforeseen("listing", path);
        return next_opendir(path);
    }

    static std::span<const ImportedFunction> table() {
        static const ImportedFunction functions[] = {
            {"fopen", address(&hooked_fopen), next_fopen.slot()},
            {"fopen64", address(&hooked_fopen), next_fopen.slot()},
            {"stat", address(&hooked_stat), next_stat.slot()},
            {"stat64", address(&hooked_stat), next_stat.slot()},
            {"__xstat", address(&hooked_xstat), next_xstat.slot()},
            {"__xstat64", address(&hooked_xstat), next_xstat.slot()},
            {"getenv", address(&hooked_variable), next_variable.slot()},
            {"secure_getenv", address(&hooked_variable), next_variable.slot()},
            {"open", address(&hooked_open), next_open.slot()},
            {"open64", address(&hooked_open), next_open.slot()},
            {"openat", address(&hooked_openat), next_openat.slot()},
            {"openat64", address(&hooked_openat), next_openat.slot()},
            {"lstat", address(&hooked_lstat), next_lstat.slot()},
            {"lstat64", address(&hooked_lstat), next_lstat.slot()},
            {"__lxstat", address(&hooked_lxstat), next_lxstat.slot()},
            {"__lxstat64", address(&hooked_lxstat), next_lxstat.slot()},
            {"access", address(&hooked_access), next_access.slot()},
            {"realpath", address(&hooked_realpath), next_realpath.slot()},
            {"readlink", address(&hooked_readlink), next_readlink.slot()},
            {"opendir", address(&hooked_opendir), next_opendir.slot()},
            {"ctime", address(&hooked_time_text), next_time_text.slot()},
            {"time", address(&hooked_time), next_time.slot()},
            {"getpid", address(&hooked_process), next_process.slot()},
            {"__cxa_atexit", address(&hooked_at_exit), next_at_exit.slot()},
            {"signal", address(&hooked_signal), next_signal.slot()},
            {"sigaction", address(&hooked_sigaction), next_sigaction.slot()},
        };
        return functions;
    }
};

/// For each library that is watched, one after the other.
constexpr std::span<const ImportedFunction> (*const hook_tables[])() = {
    &Hooks<0>::table, &Hooks<1>::table, &Hooks<2>::table, &Hooks<3>::table,
    &Hooks<4>::table, &Hooks<5>::table, &Hooks<6>::table, &Hooks<7>::table,
};
static_assert(std::size(hook_tables) == max_watched_libraries);

}  // namespace

std::span<const ImportedFunction> file_hooks(std::size_t library) {
    return hook_tables[library]();
}

FileAccesses* accesses_in_force() noexcept {
    return in_force;
}

std::uint64_t count_of_foreign_compilations() noexcept {
    return foreign_compilations.load(std::memory_order_relaxed);
}

FileAccessScope::FileAccessScope(FileAccesses& accesses, PchFile* pch) noexcept
    : outer_(std::exchange(in_force, &accesses)), outer_pch_(std::exchange(own_pch, pch)) {}

FileAccessScope::~FileAccessScope() {
    own_pch = outer_pch_;
    in_force = outer_;
}

}  // namespace LODE_NAMESPACE
