#include "tests/jail/hostile_nvrtc.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

namespace lode::test::hostile {
namespace {

/// The end of a process that shouldn't exist and isn't waited for.
bool be_a_child(long pid) {
    if (pid == 0) {
        ::setsid();
        ::sleep(5);
        ::_exit(0);
    }
    return pid > 0;
}

template <class... Args>
bool works(long number, Args... args) {
    return ::syscall(number, args...) >= 0;
}

pid_t host() {
    static const pid_t process = ::getppid();
    return process;
}

int open_file(const std::string& file) {
    return ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
}

bool set_file_flags(const std::string& file) {
    const int opened = open_file(file);
    int flags = 0;
    if (opened < 0 || ::ioctl(opened, FS_IOC_GETFLAGS, &flags) != 0) return false;
    flags |= FS_NODUMP_FL;
    return ::ioctl(opened, FS_IOC_SETFLAGS, &flags) == 0;
}

bool lock_file(const std::string& file) {
    struct flock lock {};
    lock.l_type = F_RDLCK;
    return ::fcntl(open_file(file), F_SETLK, &lock) == 0;
}

bool signal_through_descriptor() {
    constexpr int socket = 3;
    return ::fcntl(socket, F_SETOWN, host()) == 0;
}

bool change_host_limits() {
    rlimit limit{};
    return ::prlimit(host(), RLIMIT_CORE, nullptr, &limit) == 0 &&
           ::prlimit(host(), RLIMIT_CORE, &limit, nullptr) == 0;
}

bool raise_limit(__rlimit_resource resource) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) return false;
    limit.rlim_max = RLIM_INFINITY;
    limit.rlim_cur = RLIM_INFINITY;
    return ::setrlimit(resource, &limit) == 0;
}

bool change_host_affinity() {
    cpu_set_t set;
    return ::sched_getaffinity(host(), sizeof(set), &set) == 0 &&
           ::sched_setaffinity(host(), sizeof(set), &set) == 0;
}

bool write_host_memory() {
    std::uint64_t mine = 0;
    iovec local{&mine, sizeof(mine)};
    // An address that isn't there: the right is looked at first.
    iovec remote{reinterpret_cast<void*>(16), sizeof(mine)};
    return ::process_vm_writev(host(), &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT;
}

bool pass_descriptor() {
    char byte = 0;
    iovec bytes{&byte, 0};
    std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    constexpr int socket = 3;
    return ::sendmsg(socket, &message, MSG_DONTWAIT) >= 0 || errno == EBADF || errno == EINVAL;
}

/// Runs a program from memory.
bool run_from_memory() {
    return ::memfd_create("program", 0) >= 0;
}

bool map(int protection, int flags) {
    return ::mmap(nullptr, 4096, protection, flags, -1, 0) != MAP_FAILED;
}

bool make_executable() {
    void* const memory =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED && ::mprotect(memory, 4096, PROT_READ | PROT_EXEC) == 0;
}

bool run_program() {
    char name[] = "/bin/true";
    char* arguments[] = {name, nullptr};
    ::execv(name, arguments);
    return false;
}

[[noreturn]] void spin(int /*signal*/ = 0) {
    for (;;)
        __asm__ volatile("");
}

/// A process in this one's group.
std::string start_child() {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::sleep(60);
        ::_exit(0);
    }
    return std::to_string(pid);
}

/// Keeps the thread that watches the host from seeing its end.
[[noreturn]] void outlive_host() {
    // Not by the import, which is lode's.
    const auto handle = reinterpret_cast<decltype(&std::signal)>(::dlsym(RTLD_DEFAULT, "signal"));
    handle(SIGALRM, &spin);
    sigset_t alarm;
    ::sigemptyset(&alarm);
    ::sigaddset(&alarm, SIGALRM);
    ::sigprocmask(SIG_BLOCK, &alarm, nullptr);
    const itimerval soon{{0, 0}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &soon, nullptr);
    for (pid_t thread = own_process() + 1; thread < own_process() + 100; ++thread)
        ::syscall(SYS_tgkill, own_process(), thread, SIGALRM);
    spin();
}

/// A call by the numbers of 32-bit programs.
bool call_as_32_bit() {
#if defined(__x86_64__)
    long result = 20;  // getpid
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    return result > 0;
#else
    return false;
#endif
}

struct Attack {
    std::string_view name;
    bool (*run)(const std::string& file);
};

using File = const std::string&;

constexpr Attack attacks[] = {
    {"fork", [](File) { return be_a_child(::fork()); }},
    {"vfork",
     [](File) { return be_a_child(::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0)); }},
    {"clone",
     [](File) { return be_a_child(::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)); }},
    {"clone3",
     [](File) {
         clone_args how{};
         how.exit_signal = SIGCHLD;
         return be_a_child(::syscall(SYS_clone3, &how, sizeof(how)));
     }},
    {"leave-group", [](File) { return ::setpgid(0, host()) == 0 || ::setsid() >= 0; }},
    {"read-outside", [](File) { return open_file("/etc/passwd") >= 0; }},
    {"list-outside", [](File) { return ::open("/etc", O_RDONLY | O_DIRECTORY) >= 0; }},
    {"read-proc", [](File) { return open_file("/proc/self/maps") >= 0; }},
    {"write", [](File f) { return ::open(f.c_str(), O_WRONLY) >= 0; }},
    {"append", [](File f) { return ::open(f.c_str(), O_RDWR | O_APPEND) >= 0; }},
    {"create", [](File f) { return ::open((f + ".new").c_str(), O_WRONLY | O_CREAT, 0600) >= 0; }},
    {"create-unnamed", [](File) { return ::open("/tmp", O_TMPFILE | O_RDWR, 0600) >= 0; }},
    {"make-folder", [](File f) { return ::mkdir((f + ".d").c_str(), 0700) == 0; }},
    {"make-link", [](File f) { return ::symlink("/", (f + ".l").c_str()) == 0; }},
    {"make-fifo", [](File f) { return ::mknod((f + ".p").c_str(), S_IFIFO | 0600, 0) == 0; }},
    {"rename", [](File f) { return ::rename(f.c_str(), (f + ".b").c_str()) == 0; }},
    {"link", [](File f) { return ::link(f.c_str(), (f + ".c").c_str()) == 0; }},
    {"remove", [](File f) { return ::unlink(f.c_str()) == 0; }},
    {"truncate", [](File f) { return ::truncate(f.c_str(), 0) == 0; }},
    {"change-mode", [](File f) { return ::chmod(f.c_str(), 0777) == 0; }},
    {"change-owner", [](File f) { return ::chown(f.c_str(), 1, 1) == 0; }},
    {"change-times", [](File f) { return ::utimes(f.c_str(), nullptr) == 0; }},
    {"change-attributes",
     [](File f) { return works(SYS_setxattr, f.c_str(), "user.a", "b", 1, 0); }},
    {"set-file-flags", [](File f) { return set_file_flags(f); }},
    {"lock-file", [](File f) { return lock_file(f); }},
    {"lock-whole-file", [](File f) { return ::flock(open_file(f), LOCK_SH) == 0; }},
    {"lease", [](File f) { return ::fcntl(open_file(f), F_SETLEASE, F_RDLCK) == 0; }},
    {"watch-files", [](File) { return works(SYS_inotify_init1, 0); }},
    {"internet-socket", [](File) { return ::socket(AF_INET, SOCK_DGRAM, 0) >= 0; }},
    {"unix-socket", [](File) { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }},
    {"netlink-socket", [](File) { return ::socket(AF_NETLINK, SOCK_RAW, 0) >= 0; }},
    {"socket-pair",
     [](File) {
         int pair[2];
         return ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
     }},
    {"pass-descriptor", [](File) { return pass_descriptor(); }},
    {"signal-host", [](File) { return ::kill(host(), 0) == 0; }},
    {"signal-thread", [](File) { return works(SYS_tgkill, host(), host(), 0); }},
    {"signal-own-process", [](File) { return ::kill(own_process(), 0) == 0; }},
    {"queue-signal",
     [](File) {
         siginfo_t info{};
         info.si_code = SI_QUEUE;
         return works(SYS_rt_sigqueueinfo, host(), 0, &info);
     }},
    {"signal-through-descriptor", [](File) { return signal_through_descriptor(); }},
    {"open-host", [](File) { return works(SYS_pidfd_open, host(), 0); }},
    {"trace-host", [](File) { return works(SYS_ptrace, PTRACE_SEIZE, host(), 0, 0); }},
    {"write-host-memory", [](File) { return write_host_memory(); }},
    {"change-host-limits", [](File) { return change_host_limits(); }},
    {"change-host-affinity", [](File) { return change_host_affinity(); }},
    {"change-host-priority",
     [](File) {
         return ::setpriority(PRIO_PROCESS, static_cast<id_t>(host()),
                              ::getpriority(PRIO_PROCESS, static_cast<id_t>(host()))) == 0;
     }},
    {"change-own-priority", [](File) { return ::setpriority(PRIO_PROCESS, 0, 1) == 0; }},
    {"change-own-affinity",
     [](File) {
         cpu_set_t set;
         CPU_ZERO(&set);
         CPU_SET(0, &set);
         return ::sched_setaffinity(0, sizeof(set), &set) == 0;
     }},
    {"change-scheduling",
     [](File) {
         const sched_param none{};
         return ::sched_setscheduler(0, SCHED_BATCH, &none) == 0;
     }},
    {"change-io-priority", [](File) { return works(SYS_ioprio_set, 1, 0, 2 << 13 | 7); }},
    {"more-files", [](File) { return raise_limit(RLIMIT_NOFILE); }},
    {"more-memory", [](File) { return raise_limit(RLIMIT_DATA); }},
    {"more-addresses", [](File) { return raise_limit(RLIMIT_AS); }},
    {"file-in-memory", [](File) { return run_from_memory(); }},
    {"map-executable",
     [](File) { return map(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS); }},
    {"make-executable", [](File) { return make_executable(); }},
    {"map-shared", [](File) { return map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS); }},
    {"map-stack",
     [](File) { return map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN); }},
    {"lock-memory", [](File) { return ::mlockall(MCL_CURRENT) == 0; }},
    {"userfaultfd", [](File) { return works(SYS_userfaultfd, 0); }},
    {"io_uring",
     [](File) {
         std::array<char, 120> setup{};
         return works(SYS_io_uring_setup, 1, setup.data());
     }},
    {"bpf",
     [](File) { return works(SYS_bpf, 0, nullptr, 0) || errno == EINVAL || errno == EFAULT; }},
    {"perf",
     [](File) { return works(SYS_perf_event_open, nullptr, 0, -1, -1, 0) || errno == EFAULT; }},
    {"keys", [](File) { return works(SYS_keyctl, 0, -3, 1, 0, 0); }},
    {"mount", [](File) { return works(SYS_mount, 0, 0, 0, 0, 0) || errno == EFAULT; }},
    {"namespace", [](File) { return ::unshare(CLONE_NEWNS) == 0; }},
    {"user-namespace", [](File) { return works(SYS_unshare, CLONE_NEWUSER) || errno == EINVAL; }},
    {"change-root", [](File) { return ::chroot("/") == 0; }},
    {"change-user", [](File) { return works(SYS_setresuid, 1, 1, 1); }},
    {"host-name",
     [](File) {
         std::array<char, 256> name{};
         return ::gethostname(name.data(), name.size()) == 0 &&
                ::sethostname(name.data(), std::strlen(name.data())) == 0;
     }},
    {"clock", [](File) { return works(SYS_settimeofday, nullptr, nullptr); }},
    {"be-dumpable", [](File) { return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0; }},
    {"stay-after-host", [](File) { return ::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) == 0; }},
    {"own-filter", [](File) { return works(SYS_seccomp, 0, 0, nullptr) || errno == EFAULT; }},
};

std::string outcome(bool has_succeeded) {
    if (has_succeeded) return "succeeded";
    const char* const name = ::strerrorname_np(errno);
    return name != nullptr ? name : "no error";
}

}  // namespace

std::string attack(std::string_view name, const std::string& file) {
    if (name == "run-program") return outcome(run_program());
    if (name == "start-child") return start_child();
    if (name == "spin") spin();
    if (name == "outlive-host") outlive_host();
    if (name == "abort") std::abort();
    if (name == "call-as-32-bit") return outcome(call_as_32_bit());
    std::string report;
    for (const auto& [known, run] : attacks) {
        if (name != "all" && name != known) continue;
        errno = 0;
        report += (report.empty() ? "" : "; ") + std::string(known) + " " + outcome(run(file));
    }
    return report.empty() ? "unknown" : report;
}

}  // namespace lode::test::hostile
