// Starts the worker program and reads its output.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace lode::test {

/// A running worker; the destructor kills and reaps it.
class Worker {
public:
    explicit Worker(std::vector<std::string> arguments) {
        int ends[2] = {-1, -1};
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        arguments.insert(arguments.begin(), LODE_CACHE_WORKER);
        std::vector<char*> argv;
        for (auto& argument : arguments)
            argv.push_back(argument.data());
        argv.push_back(nullptr);
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            ::execv(argv[0], argv.data());
            ::_exit(127);
        }
        ::close(ends[1]);
        output_ = ends[0];
    }
    ~Worker() {
        if (pid_ > 0) {
            kill();
            (void)wait();
        }
        ::close(output_);
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void kill() const { ::kill(pid_, SIGKILL); }

    /// Waits for the end. Returns the exit status, or -1 if a signal ended the worker.
    int wait() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    /// The worker's standard output, after it has ended.
    std::string output() const {
        std::string text;
        char buffer[4096];
        for (ssize_t got = 0; (got = ::read(output_, buffer, sizeof(buffer))) > 0;)
            text.append(buffer, static_cast<std::size_t>(got));
        return text;
    }

    /// Waits for a successful exit and returns the JSON that the worker printed.
    nlohmann::json answer() {
        const std::string text = output();
        REQUIRE(wait() == 0);
        return nlohmann::json::parse(text);
    }

private:
    pid_t pid_ = -1;
    int output_ = -1;
};

}  // namespace lode::test
