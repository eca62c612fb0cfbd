#include "jit/worker/confine.hpp"

#include "base/descriptor.hpp"
#include "base/file.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lode::worker {
namespace {

/// The number of file system rights by version of Landlock: each version knows those of the earlier
/// ones. (Toolchains have headers that are older than the kernel.)
constexpr std::array<unsigned, 6> rights_by_version = {0, 13, 14, 15, 15, 16};
constexpr std::uint64_t read_file = 1 << 2;
constexpr std::uint64_t read_folder = 1 << 3;
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

tl::unexpected<Error> lacks(std::string_view what, int reason) {
    return fail(Errc::not_supported,
                fmt::format("Untrusted source can't be compiled here: the system has no {} ({}).",
                            what, std::generic_category().message(reason)),
                native_from_errno(reason));
}

Status restrict_files(std::span<const std::string> readable) {
    constexpr const char* landlock = "Landlock";
    const long version =
        ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
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
        static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, size, 0)));
    if (ruleset.get() < 0) return lacks(landlock, errno);
    for (const auto& folder : readable) {
        const Descriptor place(::open(folder.c_str(), O_PATH | O_CLOEXEC));
        if (place.get() < 0) return fail_from_errno("Opening a readable folder", folder, errno);
        landlock_path_beneath_attr rule{};
        rule.allowed_access = read_file | read_folder;
        rule.parent_fd = place.get();
        if (::syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) !=
            0)
            return fail_from_errno("Allowing a readable folder", folder, errno);
    }
    if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return lacks(landlock, errno);
    return {};
}

#if defined(__x86_64__)
constexpr std::uint32_t this_machine = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t this_machine = AUDIT_ARCH_AARCH64;
#endif

/// System calls that a compiler doesn't need: what Landlock leaves, or leaves in older versions.
constexpr std::uint32_t refused_calls[] = {
    // Network and other processes.
    SYS_socket,
    SYS_socketpair,
    SYS_bind,
    SYS_connect,
    SYS_listen,
    SYS_accept4,
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_open,
    SYS_shmget,
    SYS_shmat,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
    // Properties of files that may be read.
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_truncate,
    SYS_flock,
    SYS_inotify_init1,
    SYS_fanotify_init,
    // The system.
    SYS_mount,
    SYS_umount2,
    SYS_unshare,
    SYS_setns,
    SYS_chroot,
    SYS_pivot_root,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_userfaultfd,
    SYS_personality,
    // Newer calls, which the headers of a toolchain may not have; these numbers are those of all
    // machines: pidfd_send_signal, io_uring_setup, open_tree to fspick, pidfd_getfd, mount_setattr,
    // fchmodat2, setxattrat, removexattrat.
    424,
    425,
    428,
    429,
    430,
    431,
    432,
    433,
    438,
    442,
    452,
    463,
    466,
#if defined(__x86_64__)
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_accept,
    SYS_inotify_init,
#endif
};

Status restrict_calls() {
    constexpr std::size_t head = 4;
    constexpr std::size_t count = std::size(refused_calls);
    static_assert(count < 250);  // A jump has 8 bits.
    std::array<sock_filter, head + count + 2> filter{};
    const auto statement = [](unsigned code, std::uint32_t value) -> sock_filter {
        return {static_cast<std::uint16_t>(code), 0, 0, value};
    };
    const auto jump = [](unsigned code, std::uint32_t value, std::size_t yes,
                         std::size_t no) -> sock_filter {
        return {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(yes),
                static_cast<std::uint8_t>(no), value};
    };
    const std::size_t allow = head + count;
    // Other machines' call numbers (32-bit programs) end the process.
    filter[0] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
    filter[1] = jump(BPF_JMP | BPF_JEQ | BPF_K, this_machine, 1, 0);
    filter[2] = statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter[3] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    for (std::size_t i = 0; i < count; ++i)
        filter[head + i] = jump(BPF_JMP | BPF_JEQ | BPF_K, refused_calls[i], count - i, 0);
    filter[allow] = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[allow + 1] = statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        return lacks("filter for system calls", errno);
    return {};
}

Status restrict_resources(std::uint32_t open_files) {
    const rlimit files{open_files, open_files};
    const rlimit nothing{0, 0};
    if (::setrlimit(RLIMIT_NOFILE, &files) != 0 || ::setrlimit(RLIMIT_FSIZE, &nothing) != 0 ||
        ::setrlimit(RLIMIT_CORE, &nothing) != 0)
        return lacks("limits for resources", errno);
    return {};
}

}  // namespace

Status confine(std::span<const std::string> readable, std::uint32_t open_files) {
    std::error_code problem;
    const auto threads =
        std::distance(std::filesystem::directory_iterator("/proc/self/task", problem), {});
    if (problem || threads != 1) {
        return fail(Errc::not_supported,
                    fmt::format("Untrusted source can't be compiled here: the worker has {} "
                                "threads before it gives up its rights, not 1.",
                                threads));
    }
    // The host's terminal isn't for untrusted code.
    const Descriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (nowhere.get() < 0 || ::dup2(nowhere.get(), STDERR_FILENO) < 0)
        return fail_from_errno("Closing the worker's error output", "/dev/null", errno);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return lacks("way to give up privileges", errno);
    LODE_TRY(restrict_resources(open_files));
    LODE_TRY(restrict_files(readable));
    return restrict_calls();
}

}  // namespace lode::worker
