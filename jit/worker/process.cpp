#include "jit/worker/process.hpp"

#include "base/file.hpp"
#include "jit/worker/channel.hpp"
#include "jit/worker/jail.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lode::worker {
namespace {

using Clock = std::chrono::steady_clock;

/// The descriptor of the socket in the worker; lode-worker knows it too.
constexpr int worker_socket = 3;
constexpr std::chrono::milliseconds memory_interval{5};
constexpr std::chrono::milliseconds stop_interval{20};

constexpr const char* starting = "Starting a worker";

/// The actions and attributes of posix_spawn.
class SpawnSettings {
public:
    explicit SpawnSettings(int socket) {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawnattr_init(&attributes_);
        ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_adddup2(&actions_, socket, worker_socket);
        ::posix_spawn_file_actions_addclosefrom_np(&actions_, worker_socket + 1);
        // A group of its own: a terminal's Ctrl-C is for the host, whose end ends the worker.
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        sigset_t signals;
        ::sigemptyset(&signals);
        ::posix_spawnattr_setsigmask(&attributes_, &signals);
        ::sigfillset(&signals);
        ::posix_spawnattr_setsigdefault(&attributes_, &signals);
        ::posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    ~SpawnSettings() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;

    [[nodiscard]] const posix_spawn_file_actions_t* actions() const noexcept { return &actions_; }
    [[nodiscard]] const posix_spawnattr_t* attributes() const noexcept { return &attributes_; }

private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

std::string describe_exit(const siginfo_t& info) {
    if (info.si_code == CLD_EXITED) return fmt::format("ended with code {}", info.si_status);
    const char* const name = ::sigabbrev_np(info.si_status);
    return name != nullptr ? fmt::format("was ended by SIG{}", name)
                           : fmt::format("was ended by signal {}", info.si_status);
}

/// Whether a process ended by a fault of its own, and not because something else ended it.
bool is_crash(const siginfo_t& info) {
    if (info.si_code == CLD_EXITED) return true;
    constexpr int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    return std::ranges::find(faults, info.si_status) != std::end(faults);
}

}  // namespace

Result<std::unique_ptr<Process>> Process::start(const std::filesystem::path& program,
                                                std::string jail) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return fail_from_errno(starting, program, errno);
    std::string name = program.string();
    char* const arguments[] = {name.data(), jail.empty() ? nullptr : jail.data(), nullptr};
    auto variables = worker_environment(!jail.empty());
    std::vector<char*> environment;
    for (auto& variable : variables)
        environment.push_back(variable.data());
    environment.push_back(nullptr);
    pid_t pid = 0;
    int failed = 0;
    {
        // dup2 onto itself would leave the descriptor to be closed on exec.
        const int socket = pair[1] == worker_socket ? ::fcntl(pair[1], F_DUPFD_CLOEXEC, 10) : -1;
        const SpawnSettings settings(socket >= 0 ? socket : pair[1]);
        failed = ::posix_spawn(&pid, name.c_str(), settings.actions(), settings.attributes(),
                               arguments, environment.data());
        if (socket >= 0) ::close(socket);
    }
    ::close(pair[1]);
    if (failed != 0) {
        ::close(pair[0]);
        return fail_from_errno(starting, program, failed);
    }
    ::fcntl(pair[0], F_SETFL, O_NONBLOCK);
    return std::unique_ptr<Process>(new Process(pid, pair[0]));
}

Process::~Process() {
    (void)end();
    ::close(socket_);
}

std::string Process::end() {
    if (pid_ == 0 || ::getpid() != host_) return {};
    // The process can't have been waited for, so its number isn't another's.
    ::kill(pid_, SIGKILL);
    siginfo_t info{};
    int waited = 0;
    do {
        waited = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
    } while (waited != 0 && errno == EINTR);
    pid_ = 0;
    if (waited != 0) {  // The host waits for all children, or ignores SIGCHLD.
        if (failure_ == Failure::none) failure_ = Failure::killed;
        return "ended";
    }
    if (failure_ == Failure::none) failure_ = is_crash(info) ? Failure::crashed : Failure::killed;
    return describe_exit(info);
}

tl::unexpected<Error> Process::refuse(Errc code, std::string message) {
    failure_ = Failure::refused;
    (void)end();
    return fail(code, std::move(message));
}

std::uint64_t resident_bytes(pid_t pid) {
    std::FILE* const file = std::fopen(fmt::format("/proc/{}/statm", pid).c_str(), "re");
    if (file == nullptr) return 0;
    unsigned long long size = 0;
    unsigned long long resident = 0;
    const int read = std::fscanf(file, "%llu %llu", &size, &resident);
    std::fclose(file);
    return read == 2 ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

Result<Answer> Process::run(const Request& request, const CompileControl& control) {
    const auto what = [&] { return fmt::format("'{}'", request.source.name()); };
    const CompileLimits& limits = control.limits;
    const auto start = Clock::now();
    // Sums with extreme durations overflow.
    const auto time =
        std::min<std::chrono::milliseconds>(limits.time, std::chrono::hours(24 * 365));
    Sender sender(format_request(request));
    Receiver receiver;
    bool is_sent = false;
    for (;;) {
        if (!is_sent) {
            const auto sent = sender.step(socket_);
            is_sent = sent != Transfer::waiting;  // A closed end shows when receiving.
        }
        const auto received = receiver.step(socket_);
        if (received == Transfer::complete) break;
        if (received == Transfer::closed) {
            const std::string how = end();
            return fail(
                Errc::compiler_failed,
                fmt::format("The compiler's process {} while it compiled {}.", how, what()));
        }
        if (received == Transfer::damaged) {
            return refuse(
                Errc::compiler_failed,
                fmt::format("The compiler's process for {} sent what isn't an answer.", what()));
        }
        if (control.is_stopped()) {
            failure_ = Failure::refused;
            (void)end();
            return fail_cancelled(request.source.name());
        }
        if (limits.memory_bytes != 0 && resident_bytes(pid_) > limits.memory_bytes) {
            return refuse(Errc::out_of_memory,
                          fmt::format("Compiling {} took more than the {} bytes of memory that a "
                                      "worker may have.",
                                      what(), limits.memory_bytes));
        }
        auto wait = control.should_stop ? stop_interval : std::chrono::milliseconds(-1);
        if (limits.time.count() > 0) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(start + time - Clock::now());
            if (left.count() <= 0) {
                return refuse(Errc::timed_out, fmt::format("Compiling {} took longer than {} ms.",
                                                           what(), limits.time.count()));
            }
            wait = wait.count() < 0 ? left : std::min(wait, left);
        }
        if (limits.memory_bytes != 0)
            wait = wait.count() < 0 ? memory_interval : std::min(wait, memory_interval);
        pollfd watched{socket_, static_cast<short>(is_sent ? POLLIN : POLLIN | POLLOUT), 0};
        wait = std::min<std::chrono::milliseconds>(wait, std::chrono::hours(1));
        (void)::poll(&watched, 1, static_cast<int>(wait.count()));
    }
    auto answer = parse_answer(receiver.message());
    if (!answer) return refuse(Errc::compiler_failed, std::move(answer).error().message);
    return answer;
}

}  // namespace lode::worker
