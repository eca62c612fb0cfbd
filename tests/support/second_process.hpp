// Another process that runs one test case of this program.
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lode::test {

/// Puts plain bytes into the environment, which other processes inherit.
template <class T>
void pass_on(const char* variable, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::array<unsigned char, sizeof(T)> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        text += digits[byte / 16];
        text += digits[byte % 16];
    }
    ::setenv(variable, text.c_str(), 1);
}

/// What another process has passed on; nullopt if the variable isn't set to as many bytes.
template <class T>
std::optional<T> passed_on(const char* variable) {
    const char* const text = std::getenv(variable);
    if (text == nullptr || std::strlen(text) != 2 * sizeof(T)) return std::nullopt;
    std::array<unsigned char, sizeof(T)> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<unsigned char>(
            std::strtoul(std::string(text + 2 * i, 2).c_str(), nullptr, 16));
    T value{};
    std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
    return value;
}

/// The process inherits the environment as it is when this object is made.
class SecondProcess {
public:
    /// `test_case` is one that doctest skips otherwise.
    explicit SecondProcess(const std::string& test_case) { start(test_case, nullptr); }
    /// The same; what the process writes to `stream` (1: stdout, 2: stderr) goes to a new file.
    SecondProcess(const std::string& test_case, int stream, const std::string& file) {
        posix_spawn_file_actions_t actions;
        REQUIRE(::posix_spawn_file_actions_init(&actions) == 0);
        constexpr mode_t mode = 0600;
        CHECK(::posix_spawn_file_actions_addopen(&actions, stream, file.c_str(),
                                                 O_CREAT | O_WRONLY | O_TRUNC, mode) == 0);
        start(test_case, &actions);
        ::posix_spawn_file_actions_destroy(&actions);
    }
    ~SecondProcess() { static_cast<void>(wait()); }
    SecondProcess(const SecondProcess&) = delete;
    SecondProcess& operator=(const SecondProcess&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return process_; }

    /// Its exit status, 0 if its test case passed; -1 if a signal ended it.
    int wait() {
        if (process_ > 0) {
            int status = 0;
            if (::waitpid(process_, &status, 0) == process_ && WIFEXITED(status))
                result_ = WEXITSTATUS(status);
        }
        process_ = 0;
        return result_;
    }

private:
    void start(const std::string& test_case, const posix_spawn_file_actions_t* actions) {
        // doctest reads a comma as the end of a filter, finds no such case, and that is a success.
        REQUIRE(test_case.find(',') == std::string::npos);
        const std::string filter = "--test-case=" + test_case;
        const char* arguments[] = {"test", filter.c_str(), "--no-skip", nullptr};
        REQUIRE(::posix_spawn(&process_, "/proc/self/exe", actions, nullptr,
                              const_cast<char* const*>(arguments), environ) == 0);
    }

    pid_t process_ = 0;
    int result_ = -1;
};

}  // namespace lode::test
