#include "tools/lode/output.hpp"

#include "base/file.hpp"
#include "base/foreign_environment.hpp"
#include "tools/lode/color.hpp"
#include "tools/lode/layout.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace lode::tool {
namespace {

/// Whether the parent left SIGPIPE at its default; only then may a broken pipe end the process.
bool broken_pipe_ends = true;
/// The same for the limit of a file's size.
bool large_file_ends = true;

struct Warnings {
    std::mutex mutex;
    std::vector<std::string> lines;
    std::optional<std::vector<std::string>> findings;
};

/// Never destroyed: driver threads may log while the process ends.
Warnings& kept_warnings() {
    static auto* const kept = new Warnings;
    return *kept;
}

/// 0, or errno.
int write_text(int file, std::string_view text) noexcept {
    return write_all(file, std::as_bytes(std::span(text)));
}

/// nullopt if it isn't a terminal, or one that doesn't tell.
std::optional<std::size_t> terminal_width(int file) noexcept {
    winsize size{};
    if (::ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
    return size.ws_col;
}

/// The line of progress.
std::mutex progress_mutex;
bool progress_is_shown = false;

/// Needs progress_mutex.
void remove_progress() noexcept {
    if (!progress_is_shown) return;
    progress_is_shown = false;
    [[maybe_unused]] const int nobody_to_tell = write_text(STDERR_FILENO, "\r\033[K");
}

}  // namespace

void prepare_streams() noexcept {
    // Opened with the opposite access mode: reading from stdin and writing to the others still
    // fails with EBADF. Lowest first, since open() returns the lowest free number.
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
        const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (opened >= 0 && opened != stream) {  // Fails without /dev/null.
            ::dup2(opened, stream);
            ::close(opened);
        }
    }
    const auto is_ignored = [](int signal) {
        struct sigaction before {};
        return ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    };
    broken_pipe_ends = !is_ignored(SIGPIPE);
    large_file_ends = !is_ignored(SIGXFSZ);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
}

void restore_signals() noexcept {
    if (broken_pipe_ends) ::signal(SIGPIPE, SIG_DFL);
    if (large_file_ends) ::signal(SIGXFSZ, SIG_DFL);
}

int write_stdout(std::string_view text) noexcept {
    if (std::fflush(stdout) != 0) return errno;
    const std::lock_guard guard(progress_mutex);
    remove_progress();
    return write_text(STDOUT_FILENO, text);
}

void write_stderr(std::string_view text) noexcept {
    const std::lock_guard guard(progress_mutex);
    remove_progress();
    [[maybe_unused]] const int nobody_to_tell = write_text(STDERR_FILENO, text);
}

std::size_t text_width(int file) {
    constexpr std::size_t least = 40;
    const std::string columns = foreign_environment("COLUMNS").value_or("");
    std::size_t width = 0;
    std::from_chars(columns.data(), columns.data() + columns.size(), width);
    if (width == 0) width = terminal_width(file).value_or(any_width);
    return std::max(width, least);
}

bool can_show_progress() {
    return ::isatty(STDERR_FILENO) == 1 && environment("TERM").value_or("dumb") != "dumb";
}

void show_progress(std::string_view line) noexcept {
    const std::lock_guard guard(progress_mutex);
    remove_progress();
    if (line.empty()) return;
    constexpr std::size_t usual_width = 80;
    // The last column would wrap on some terminals.
    line = line.substr(0, terminal_width(STDERR_FILENO).value_or(usual_width) - 1);
    [[maybe_unused]] const int nobody_to_tell = write_text(STDERR_FILENO, line);
    progress_is_shown = true;
}

void end_quietly() noexcept {
    if (!broken_pipe_ends) return;
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
}

Log warning_log() {
    return Log([](LogLevel level, std::string_view line) {
        std::string text(line);
        auto& kept = kept_warnings();
        const std::lock_guard guard(kept.mutex);
        if (level == LogLevel::error && kept.findings) kept.findings->push_back(text);
        if (level != LogLevel::warning) return;
        // A command may open the cache twice and find the same fault.
        if (std::ranges::find(kept.lines, text) != kept.lines.end()) return;
        constexpr std::string_view prefix = "lode:";
        const auto message = wrapped(fmt::format("{} {}\n", prefix, visible(text)),
                                     text_width(STDERR_FILENO), prefix.size() + 1);
        write_stderr(colors_of(STDERR_FILENO).warning(prefix) + message.substr(prefix.size()));
        kept.lines.push_back(std::move(text));
    });
}

void watch_findings() {
    auto& kept = kept_warnings();
    const std::lock_guard guard(kept.mutex);
    kept.findings.emplace();
}

std::optional<std::vector<std::string>> findings() {
    auto& kept = kept_warnings();
    const std::lock_guard guard(kept.mutex);
    return kept.findings;
}

std::vector<std::string> warnings() {
    auto& kept = kept_warnings();
    const std::lock_guard guard(kept.mutex);
    return kept.lines;
}

}  // namespace lode::tool
