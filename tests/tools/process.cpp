#include "tests/tools/process.hpp"

#include "base/shared_library.hpp"
#include "tests/support/scratch.hpp"

#include <csignal>
#include <cstdlib>
#include <utility>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lode::test {
namespace {

/// The command in the build folder; found relative to the tests if the build folder has moved.
std::filesystem::path command_path() {
    if (const char* other = std::getenv("LODE_TEST_COMMAND")) return other;
    const std::filesystem::path built = LODE_COMMAND;
    if (std::filesystem::exists(built)) return built;
    return executable_folder() / "../../tools/lode/lode";
}

/// In the child: opens or closes the stream `number` as `stream` says.
void give(int number, Stream stream, const std::filesystem::path& file) {
    constexpr mode_t mode = 0600;
    int ends[2] = {-1, -1};
    switch (stream) {
        case Stream::caught:
            ends[1] = ::open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC, mode);
            break;
        case Stream::full:
            ends[1] = ::open("/dev/full", O_WRONLY);
            break;
        case Stream::broken_pipe:
            if (::pipe(ends) == 0) ::close(ends[0]);
            break;
        case Stream::closed:
            ::close(number);
            return;
    }
    ::dup2(ends[1], number);
    ::close(ends[1]);
}

/// In the child: everything between fork and exec. The alarm survives exec and ends a hanging
/// command.
[[noreturn]] void become(const std::filesystem::path& command, std::vector<char*>& arguments,
                         const Environment& environment, const Streams& streams,
                         const std::filesystem::path& out, const std::filesystem::path& err) {
    constexpr int exec_failed = 127;
    constexpr unsigned minute = 60;
    for (const auto& [name, value] : environment)
        ::setenv(name.c_str(), value.c_str(), 1);
    ::signal(SIGPIPE, SIG_DFL);
    ::alarm(minute);
    if (!streams.in.empty()) ::dup2(::open(streams.in.c_str(), O_RDONLY), STDIN_FILENO);
    give(STDOUT_FILENO, streams.out, out);
    give(STDERR_FILENO, streams.err, err);
    ::execv(command.c_str(), arguments.data());
    ::_exit(exec_failed);
}

}  // namespace

nlohmann::json Outcome::json() const {
    auto value = nlohmann::json::parse(out, nullptr, false);
    REQUIRE_MESSAGE(!value.is_discarded(), "stdout is JSON: " << out);
    return value;
}

Running::Running(const std::vector<std::string>& arguments, const Environment& environment,
                 Streams streams)
    : folder_(make_scratch()) {
    const auto command = command_path();
    std::vector<std::string> texts = {command.string()};
    texts.insert(texts.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (auto& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);

    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
        become(command, pointers, environment, streams, folder_.path() / "out",
               folder_.path() / "err");
    }
}

Running::~Running() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
}

void Running::send(int signal) const {
    REQUIRE(::kill(process_, signal) == 0);
}

Outcome Running::wait() {
    int status = 0;
    REQUIRE(::waitpid(std::exchange(process_, -1), &status, 0) > 0);
    Outcome outcome;
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    outcome.out = read_text(folder_.path() / "out").value_or("");
    outcome.err = read_text(folder_.path() / "err").value_or("");
    return outcome;
}

Outcome lode(const std::vector<std::string>& arguments, const Environment& environment,
             Streams streams) {
    return Running(arguments, environment, streams).wait();
}

std::string on_terminal(std::vector<std::string> arguments, const Environment& environment,
                        int stream, unsigned short columns) {
    const int ours = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(ours >= 0);
    REQUIRE(::grantpt(ours) == 0);
    REQUIRE(::unlockpt(ours) == 0);
    const winsize size{.ws_row = 0, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(::ioctl(ours, TIOCSWINSZ, &size) == 0);
    const std::string name = ::ptsname(ours);
    std::string command = command_path().string();
    std::vector<char*> values{command.data()};
    for (auto& argument : arguments)
        values.push_back(argument.data());
    values.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        const int theirs = ::open(name.c_str(), O_RDWR | O_NOCTTY);
        const int nowhere = ::open("/dev/null", O_WRONLY);
        ::dup2(nowhere, stream == STDERR_FILENO ? STDOUT_FILENO : STDERR_FILENO);
        ::dup2(theirs, stream);
        ::setenv("TERM", "xterm", 1);
        for (const auto& [variable, value] : environment)
            ::setenv(variable.c_str(), value.c_str(), 1);
        ::execv(command.c_str(), values.data());
        ::_exit(127);
    }
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(ours, buffer, sizeof buffer)) > 0;)  // EIO at the end.
        text.append(buffer, static_cast<std::size_t>(got));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    ::close(ours);
    CHECK(WIFEXITED(status));
    return text;
}

}  // namespace lode::test
