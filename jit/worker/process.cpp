#include "jit/worker/process.hpp"

#include "base/file.hpp"
#include "jit/worker/channel.hpp"
#include "jit/worker/jail.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace LODE_NAMESPACE::worker {
namespace {

using Clock = std::chrono::steady_clock;

/// The descriptor of the socket in the worker; lode-worker knows it too.
constexpr int worker_socket = 3;
constexpr std::chrono::milliseconds memory_interval{5};
constexpr std::chrono::milliseconds stop_interval{20};

/// How long end() waits for a process that doesn't end, and between two looks at it.
constexpr std::chrono::seconds longest_end{5};
constexpr std::chrono::milliseconds end_interval{1};

constexpr const char* starting = "Starting a worker";

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
            failed = ::posix_spawn_file_actions_adddup2(&actions_, socket, worker_socket);
        if (failed == 0)
            failed = ::posix_spawn_file_actions_addclosefrom_np(&actions_, worker_socket + 1);
        return failed;
    }
    [[nodiscard]] const posix_spawn_file_actions_t* actions() const noexcept { return &actions_; }
    [[nodiscard]] const posix_spawnattr_t* attributes() const noexcept { return &attributes_; }

private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

std::string describe_exit(const siginfo_t& info) {
    if (info.si_pid == 0) return "ended";
    if (info.si_code == CLD_EXITED) return fmt::format("ended with code {}", info.si_status);
    const char* const name = ::sigabbrev_np(info.si_status);
    return name != nullptr ? fmt::format("was ended by SIG{}", name)
                           : fmt::format("was ended by signal {}", info.si_status);
}

/// Whether an error says that something has run out, which may be there later.
bool is_exhaustion(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/// Whether a process ended by a fault of its own, or because something else ended it.
Failure failure_of(const siginfo_t& info) {
    constexpr int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    if (info.si_pid == 0) return Failure::killed;
    const bool is_fault = std::ranges::find(faults, info.si_status) != std::end(faults);
    return info.si_code == CLD_EXITED || is_fault ? Failure::crashed : Failure::killed;
}

}  // namespace

Result<std::unique_ptr<Process>> Process::start(const std::filesystem::path& program,
                                                std::string jail) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return fail_from_errno(starting, program, errno);
    Descriptor host(pair[0]);
    Descriptor worker(pair[1]);
    if (::fcntl(host.get(), F_SETFL, O_NONBLOCK) != 0)
        return fail_from_errno(starting, program, errno);
    if (worker.get() == worker_socket) {  // dup2 onto itself would leave it to be closed on exec.
        worker = Descriptor(::fcntl(worker.get(), F_DUPFD_CLOEXEC, worker_socket + 1));
        if (!worker) return fail_from_errno(starting, program, errno);
    }
    std::string name = program.string();
    char* const arguments[] = {name.data(), jail.empty() ? nullptr : jail.data(), nullptr};
    auto variables = worker_environment(!jail.empty());
    std::vector<char*> environment;
    for (auto& variable : variables)
        environment.push_back(variable.data());
    environment.push_back(nullptr);
    // Before there is a process that an exception would lose.
    std::unique_ptr<Process> process(new Process(0, std::move(host)));
    SpawnSettings settings;
    int failed = settings.prepare(worker.get());
    if (failed == 0) {
        failed = ::posix_spawn(&process->pid_, name.c_str(), settings.actions(),
                               settings.attributes(), arguments, environment.data());
    }
    if (failed != 0) {
        process->pid_ = 0;
        return fail_from_errno(starting, program, failed);
    }
    const auto statm = fmt::format("/proc/{}/statm", process->pid_);
    process->memory_ = Descriptor(::open(statm.c_str(), O_RDONLY | O_CLOEXEC));
    if (!process->memory_ && is_exhaustion(errno)) return fail_from_errno(starting, program, errno);
    return process;
}

Process::~Process() {
    (void)end();
}

siginfo_t Process::end() noexcept {
    if (pid_ == 0 || ::getpid() != host_) return {};
    const pid_t pid = std::exchange(pid_, 0);
    ::shutdown(socket_.get(), SHUT_RDWR);  // A worker that may not be killed ends by this.
    siginfo_t info{};
    const auto look = [&](int options) {
        info = {};
        return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | options) == 0;
    };
    const auto start = Clock::now();
    // Until it has been waited for, its number and its group's aren't another's. It isn't there to
    // be waited for where the host waits for all children, or ignores SIGCHLD.
    while (look(WNOWAIT)) {
        ::kill(-pid, SIGKILL);
        if (!look(0) || info.si_pid != 0 || Clock::now() - start > longest_end) break;
        std::this_thread::sleep_for(end_interval);
    }
    return info;
}

tl::unexpected<Error> Process::refuse(Errc code, std::string message) {
    (void)end();
    return fail(code, std::move(message));
}

std::optional<std::uint64_t> Process::resident_bytes() const {
    std::array<char, 128> text{};
    const auto count = ::pread(memory_.get(), text.data(), text.size() - 1, 0);
    unsigned long long size = 0;
    unsigned long long resident = 0;
    if (count <= 0 || std::sscanf(text.data(), "%llu %llu", &size, &resident) != 2)
        return std::nullopt;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<Answer> Process::run(Request request, const CompileControl& control) {
    failure_ = Failure::refused;  // Unless the conversation says something else; it may throw.
    request.is_measured = resident_bytes().has_value();
    auto answer = converse(request, control);
    if (!answer) return answer;
    if (!answer->image && answer->image.error().code == Errc::out_of_memory) {
        (void)end();  // The worker ends too, or has little left.
    } else {
        failure_ = Failure::none;
    }
    return answer;
}

Result<Answer> Process::converse(const Request& request, const CompileControl& control) {
    const auto what = [&] { return fmt::format("'{}'", request.source.name()); };
    const CompileLimits& limits = request.limits;
    const auto start = Clock::now();
    // Sums with extreme durations overflow.
    const auto time =
        std::min<std::chrono::milliseconds>(limits.time, std::chrono::hours(24 * 365));
    Sender sender(format_request(request));
    Receiver receiver;
    bool is_sent = false;
    for (;;) {
        if (!is_sent) {
            const auto sent = sender.step(socket_.get());
            is_sent = sent != Transfer::waiting;
            // The worker's end shows when receiving; a worker that lives shall not wait for more.
            if (sent == Transfer::closed) ::shutdown(socket_.get(), SHUT_WR);
        }
        const auto received = receiver.step(socket_.get());
        if (received == Transfer::complete) break;
        if (received == Transfer::closed) {
            const siginfo_t info = end();
            failure_ = failure_of(info);
            return fail(Errc::compiler_failed,
                        fmt::format("The compiler's process {} while it compiled {}.",
                                    describe_exit(info), what()));
        }
        if (received == Transfer::damaged) {
            return refuse(
                Errc::compiler_failed,
                fmt::format("The compiler's process for {} sent what isn't an answer.", what()));
        }
        if (control.is_stopped()) {
            (void)end();
            return fail_cancelled(request.source.name());
        }
        if (limits.memory_bytes != 0 && resident_bytes().value_or(0) > limits.memory_bytes) {
            (void)end();
            return fail_memory_limit(request);
        }
        auto wait = stop_interval;
        if (limits.time.count() > 0) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(start + time - Clock::now());
            if (left.count() <= 0) {
                return refuse(Errc::timed_out, fmt::format("Compiling {} took longer than {} ms.",
                                                           what(), limits.time.count()));
            }
            wait = std::min(wait, left);
        }
        if (limits.memory_bytes != 0) wait = std::min(wait, memory_interval);
        pollfd watched{socket_.get(), static_cast<short>(is_sent ? POLLIN : POLLIN | POLLOUT), 0};
        if (::poll(&watched, 1, static_cast<int>(wait.count())) < 0 && errno != EINTR)
            std::this_thread::sleep_for(memory_interval);  // The system has no memory for it.
    }
    auto answer = parse_answer(receiver.message());
    if (!answer) return refuse(Errc::compiler_failed, std::move(answer).error().message);
    return answer;
}

}  // namespace LODE_NAMESPACE::worker
