#include "tools/lode/child_process.hpp"

#include "base/foreign_environment.hpp"
#include "tools/lode/output.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lode::tool {
namespace {

constexpr std::array held = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
/// What shells add to the number of the signal that ended a program.
constexpr int signal_base = 128;

sigset_t held_set(bool with_children) noexcept {
    sigset_t set{};
    ::sigemptyset(&set);
    for (const int signal : held)
        ::sigaddset(&set, signal);
    if (with_children) ::sigaddset(&set, SIGCHLD);
    return set;
}

/// The signals that were blocked when the process started; the program inherits them.
sigset_t& signals_before() noexcept {
    static sigset_t set{};
    return set;
}

int exit_code_of(int status) noexcept {
    return WIFSIGNALED(status) ? signal_base + WTERMSIG(status) : WEXITSTATUS(status);
}

/// In the child: becomes the program, or writes errno to `failures`.
[[noreturn]] void become(const std::vector<char*>& command, const ChildEnvironment& environment,
                         ChildOutput output, int failures) noexcept {
    if (output == ChildOutput::to_stderr) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    for (const auto& [name, value] : environment)
        ::setenv(name.c_str(), value.c_str(), 1);
    restore_signals();
    ::sigprocmask(SIG_SETMASK, &signals_before(), nullptr);
    ::execvp(command.front(), command.data());
    const int problem = errno;
    [[maybe_unused]] const ssize_t put = ::write(failures, &problem, sizeof(problem));
    ::_exit(exit_not_found);
}

ChildEnd not_started(int problem) noexcept {
    return {problem == ENOENT ? exit_not_found : exit_not_executable, problem};
}

/// Passes signals on until the child has ended.
int wait_for(pid_t child) noexcept {
    const sigset_t set = held_set(true);
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(child, &status, WNOHANG);
        if (ended == child) return exit_code_of(status);
        if (ended < 0 && errno != EINTR) return exit_not_executable;
        siginfo_t signal{};
        const int number = ::sigwaitinfo(&set, &signal);
        // The terminal's driver signals the whole group, which the child belongs to.
        if (number > 0 && number != SIGCHLD && signal.si_code <= 0) ::kill(child, number);
    }
}

/// What keeps a program from starting.
std::string why_not_started(const std::string& program, int problem) {
    std::error_code ignored;
    const bool is_path = program.find('/') != std::string::npos;
    if (problem == ENOENT && !is_path) return "no folder of PATH has it";
    if (problem == ENOENT && std::filesystem::exists(program, ignored))
        return "the interpreter that it names doesn't exist";
    if (problem == EACCES && std::filesystem::is_directory(program, ignored))
        return "it is a folder";
    if (problem == EACCES && std::filesystem::exists(program, ignored))
        return "it isn't executable, which `chmod +x` mends";
    return std::generic_category().message(problem);
}

/// With LD_AUDIT the loader reserves the thread-local memory of a program's own libraries before it
/// knows them. This asks for enough; a program that needs more, such as one with ThreadSanitizer,
/// says so itself.
std::string tunables() {
    constexpr std::string_view name = "glibc.rtld.optional_static_tls";
    std::string before = foreign_environment("GLIBC_TUNABLES").value_or("");
    if (before.find(name) != std::string::npos) return before;
    return fmt::format("{}{}{}=8192", before, before.empty() ? "" : ":", name);
}

}  // namespace

HeldSignals::HeldSignals() noexcept {
    const sigset_t set = held_set(true);
    ::sigprocmask(SIG_BLOCK, &set, &signals_before());
    // If SIGCHLD is ignored, the end of a child is lost.
    ::signal(SIGCHLD, SIG_DFL);
}

HeldSignals::~HeldSignals() {
    ::sigprocmask(SIG_SETMASK, &signals_before(), nullptr);
}

ChildEnd run_child(const std::vector<std::string>& command, const ChildEnvironment& environment,
                   ChildOutput output) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const auto& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    std::array<int, 2> failures{};
    if (::pipe2(failures.data(), O_CLOEXEC) != 0) return not_started(errno);
    const pid_t child = ::fork();
    if (child == 0) become(words, environment, output, failures[1]);
    const int fork_problem = errno;
    ::close(failures[1]);
    int problem = 0;
    // The pipe closes when the program has started.
    const ssize_t got = child < 0 ? 0 : ::read(failures[0], &problem, sizeof(problem));
    ::close(failures[0]);
    if (child < 0) return not_started(fork_problem);
    const int exit_code = wait_for(child);
    return got == sizeof(problem) ? not_started(problem) : ChildEnd{exit_code, 0};
}

std::string in_front_of(const std::filesystem::path& folder,
                        const std::optional<std::string>& before) {
    return before && !before->empty() ? fmt::format("{}:{}", folder.string(), *before)
                                      : folder.string();
}

ChildEnvironment audited_by(const std::filesystem::path& library, AuditOrder order) {
    const auto before = foreign_environment("LD_AUDIT");
    std::string libraries = in_front_of(library, before);
    if (order == AuditOrder::last && before && !before->empty()) {
        // One is enough: around this command it does the same.
        const bool is_there = before->find(library.filename().string()) != std::string::npos;
        libraries = is_there ? *before : fmt::format("{}:{}", *before, library.string());
    }
    return {{"LD_AUDIT", std::move(libraries)}, {"GLIBC_TUNABLES", tunables()}};
}

Error start_failure(const std::string& program, int problem) {
    return {Errc::file_failed,
            fmt::format("The program '{}' can't be started: {}.", program,
                        why_not_started(program, problem)),
            native_from_errno(problem)};
}

}  // namespace lode::tool
