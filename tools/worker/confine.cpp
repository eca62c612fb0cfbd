#include "tools/worker/confine.hpp"

#include "base/file.hpp"
#include "base/os/descriptor.hpp"
#include "base/try.hpp"
#include "tools/worker/lacks.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif
#include <sys/syscall.h>
#include <unistd.h>

namespace LODE_NAMESPACE::worker {
namespace {

/// The number of file system rights by version of Landlock: each version knows those of the earlier
/// ones. (Toolchains have headers that are older than the kernel.)
constexpr std::array<unsigned, 6> rights_by_version = {0, 13, 14, 15, 15, 16};
constexpr std::uint64_t read_file = 1 << 2;
/// Binding and connecting TCP sockets; since version 4.
constexpr std::uint64_t network_rights = 3;
constexpr int network_version = 4;
/// Abstract Unix sockets and signals to processes outside; since version 6.
constexpr std::uint64_t scopes = 3;
constexpr int scope_version = 6;

/// The kernel's structure, as long as its newest known version.
struct Ruleset {
    std::uint64_t files = 0;
    std::uint64_t network = 0;
    std::uint64_t scoped = 0;
};

Status restrict_files(std::span<const std::string> readable) {
    constexpr const char* landlock = "Landlock";
    const long version =
        ::syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return lacks(landlock, errno);
    const auto known = std::min(static_cast<std::size_t>(version), rights_by_version.size() - 1);
    Ruleset rules;
    rules.files = (std::uint64_t{1} << rights_by_version[known]) - 1;
    if (version >= network_version) rules.network = network_rights;
    if (version >= scope_version) rules.scoped = scopes;
    const std::size_t size = version >= scope_version     ? sizeof(Ruleset)
                             : version >= network_version ? 2 * sizeof(std::uint64_t)
                                                          : sizeof(std::uint64_t);
    const Descriptor ruleset(
        static_cast<int>(::syscall(__NR_landlock_create_ruleset, &rules, size, 0)));
    if (ruleset.get() < 0) return lacks(landlock, errno);
    for (const auto& folder : readable) {
        const Descriptor place(::open(folder.c_str(), O_PATH | O_CLOEXEC));
        if (place.get() < 0) return fail_from_errno("Opening a readable folder", folder, errno);
        landlock_path_beneath_attr rule{};
        rule.allowed_access = read_file;
        rule.parent_fd = place.get();
        if (::syscall(__NR_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &rule,
                      0) != 0)
            return fail_from_errno("Allowing a readable folder", folder, errno);
    }
    if (::syscall(__NR_landlock_restrict_self, ruleset.get(), 0) != 0)
        return lacks(landlock, errno);
    return {};
}

Status restrict_resources(std::uint32_t open_files) {
    const rlimit files{open_files, open_files};
    const rlimit nothing{0, 0};
    if (::setrlimit(RLIMIT_NOFILE, &files) != 0 || ::setrlimit(RLIMIT_FSIZE, &nothing) != 0 ||
        ::setrlimit(RLIMIT_CORE, &nothing) != 0 || ::setrlimit(RLIMIT_MEMLOCK, &nothing) != 0)
        return lacks("limits for resources", errno);
    return {};
}

/// Gives up all capabilities, also those that the process could get again.
Status drop_capabilities() {
    // These need a capability themselves. A process that may not has nothing that they would take,
    // and no way to get it: it starts no program and has no new privileges.
    constexpr unsigned long bits = SECBIT_NOROOT | SECBIT_NO_SETUID_FIXUP;
    constexpr unsigned long locked = bits | bits << 1 | SECBIT_KEEP_CAPS_LOCKED |
                                     SECBIT_NO_CAP_AMBIENT_RAISE |
                                     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    for (unsigned long right = 0; ::prctl(PR_CAPBSET_DROP, right, 0, 0, 0) == 0; ++right) {
    }
    (void)::prctl(PR_SET_SECUREBITS, locked, 0, 0, 0);
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return lacks("ambient capabilities", errno);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
    if (::syscall(SYS_capset, &header, none.data()) != 0)
        return lacks("way to give up capabilities", errno);
    return {};
}

/// Whether this is the process's only thread: a thread's rights are those at its start.
bool is_alone() {
    std::error_code problem;
    const std::filesystem::directory_iterator threads("/proc/self/task", problem);
    if (!problem) return std::distance(threads, {}) == 1;
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
}

}  // namespace

Status confine(std::span<const std::string> readable, std::uint32_t open_files) {
    if (!is_alone()) {
        return fail(Errc::not_supported,
                    "Untrusted source can't be compiled here: the worker has more than one thread "
                    "before it gives up its rights.");
    }
    // The host's terminal isn't for untrusted code.
    const Descriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (nowhere.get() < 0 || ::dup2(nowhere.get(), STDERR_FILENO) < 0)
        return fail_from_errno("Closing the worker's error output", "/dev/null", errno);
    LODE_TRY(drop_capabilities());
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return lacks("way to give up privileges", errno);
    LODE_TRY(restrict_resources(open_files));
    return restrict_files(readable);
}

}  // namespace LODE_NAMESPACE::worker
