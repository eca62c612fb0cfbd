#include "base/os/child.hpp"

#include "base/os/file.hpp"
#include "base/os/linux/newer_libc.hpp"
#include "base/os/socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <span>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace LODE_NAMESPACE::os {
namespace {

using Clock = std::chrono::steady_clock;

/// How long end() waits for a process that doesn't end, and between two looks at it.
constexpr std::chrono::seconds longest_end{5};
constexpr std::chrono::milliseconds end_interval{1};

/// The actions and attributes of posix_spawn.
class SpawnSettings {
public:
    SpawnSettings() {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawnattr_init(&attributes_);
    }
    ~SpawnSettings() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;

    /// Returns an error number, 0 if there is none.
    [[nodiscard]] int prepare(int socket) {
        // A group of its own: a terminal's Ctrl-C is for the host, whose end ends the worker.
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        sigset_t signals;
        ::sigemptyset(&signals);
        ::posix_spawnattr_setsigmask(&attributes_, &signals);
        ::sigfillset(&signals);
        ::posix_spawnattr_setsigdefault(&attributes_, &signals);
        ::posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        int failed =
            ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (failed == 0)
            failed = ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null",
                                                        O_WRONLY, 0);
        if (failed == 0)
            failed = ::posix_spawn_file_actions_adddup2(&actions_, socket, Child::socket_in_child);
        if (failed == 0) failed = add_close_from(actions_, Child::socket_in_child + 1);
        return failed;
    }
    [[nodiscard]] const posix_spawn_file_actions_t* actions() const noexcept { return &actions_; }
    [[nodiscard]] const posix_spawnattr_t* attributes() const noexcept { return &attributes_; }

private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

/// A list as exec() takes it.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (auto& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// Whether an error says that something has run out, which may be there later.
bool is_exhaustion(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

ProcessEnd end_of(const siginfo_t& info) noexcept {
    using Kind = ProcessEnd::Kind;
    constexpr int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    if (info.si_pid == 0) return {};
    if (info.si_code == CLD_EXITED) return {Kind::exited, info.si_status};
    const bool is_fault = std::ranges::find(faults, info.si_status) != std::end(faults);
    return {is_fault ? Kind::faulted : Kind::killed, info.si_status};
}

}  // namespace

std::string signal_name(int number) {
    const char* const name = abbreviation_of_signal(number);
    return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

int Child::start(const std::filesystem::path& program, std::vector<std::string> arguments,
                 std::vector<std::string> environment) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return errno;
    socket_ = Descriptor(pair[0]);
    Descriptor worker(pair[1]);
    if (::fcntl(socket_.get(), F_SETFL, O_NONBLOCK) != 0) return errno;
    if (worker.get() == socket_in_child) {  // dup2 onto itself would leave it to be closed on exec.
        worker = Descriptor(::fcntl(worker.get(), F_DUPFD_CLOEXEC, socket_in_child + 1));
        if (!worker) return errno;
    }
    arguments.insert(arguments.begin(), program.string());
    const auto argument_list = pointers_to(arguments);
    const auto variables = pointers_to(environment);
    SpawnSettings settings;
    if (const int failed = settings.prepare(worker.get()); failed != 0) return failed;
    pid_t id = 0;
    if (const int failed =
            ::posix_spawn(&id, program.c_str(), settings.actions(), settings.attributes(),
                          argument_list.data(), variables.data());
        failed != 0)
        return failed;
    id_ = id;
    memory_ = open_file(fmt::format("/proc/{}/statm", id_));
    return !memory_ && is_exhaustion(errno) ? errno : 0;
}

ProcessEnd Child::end() noexcept {
    if (id_ == 0 || process_id() != host_) return {};
    const pid_t pid = std::exchange(id_, 0);
    shut_down(socket_.get());  // A worker that may not be killed ends by this.
    siginfo_t info{};
    const auto look = [&](int options) {
        info = {};
        return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | options) == 0;
    };
    const auto start = Clock::now();
    // As long as nobody has waited for it, its number and its group's aren't another's. It isn't
    // there to be waited for where the host waits for all children, or ignores SIGCHLD.
    while (look(WNOWAIT)) {
        ::kill(-pid, SIGKILL);
        if (!look(0) || info.si_pid != 0 || Clock::now() - start > longest_end) break;
        std::this_thread::sleep_for(end_interval);
    }
    return end_of(info);
}

std::optional<std::uint64_t> Child::resident_bytes() const {
    std::array<char, 128> text{};
    const auto room = std::as_writable_bytes(std::span(text)).first(text.size() - 1);
    unsigned long long size = 0;
    unsigned long long resident = 0;
    if (read_file_at(memory_.get(), room, 0) <= 0 ||
        std::sscanf(text.data(), "%llu %llu", &size, &resident) != 2)
        return std::nullopt;
    return resident * page_size();
}

}  // namespace LODE_NAMESPACE::os
