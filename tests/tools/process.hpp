// Runs the lode command as a user would, and captures its output.
#pragma once

#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

namespace lode::test {

/// The outcome of a finished process.
struct Outcome {
    int exit_code = -1;  ///< -1 if a signal ended it.
    int signal = 0;      ///< That signal; SIGALRM after a minute.
    std::string out;
    std::string err;

    /// stdout as one JSON value; fails the test if it isn't one.
    [[nodiscard]] nlohmann::json json() const;
    [[nodiscard]] bool says(std::string_view text) const {
        return out.find(text) != std::string::npos;
    }
    [[nodiscard]] bool complains(std::string_view text) const {
        return err.find(text) != std::string::npos;
    }
};

/// Variables to set on top of the test's own environment.
using Environment = std::map<std::string, std::string>;

/// The environment of a machine without a driver.
inline const Environment no_driver = {{"LODE_DRIVER", "/nonexistent/libcuda.so.1"}};

/// The kinds of standard streams that the command can get.
enum class Stream {
    caught,       ///< A file, read into Outcome.
    closed,       ///< No open file.
    full,         ///< /dev/full: every write fails.
    broken_pipe,  ///< A pipe without a reader.
};

struct Streams {
    Stream out = Stream::caught;
    Stream err = Stream::caught;
    std::string in = {};  ///< A file as standard input; by default that of the test.
};

/// A running `lode`. The variable LODE_TEST_COMMAND selects another build's command, to see a test
/// fail with it.
class Running {
public:
    explicit Running(const std::vector<std::string>& arguments, const Environment& environment = {},
                     Streams streams = {});
    /// Kills the process unless wait() was called.
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    void send(int signal) const;
    /// Waits for the process to end, at most a minute. Call once.
    Outcome wait();

private:
    lode::ScratchFolder folder_;
    pid_t process_ = -1;
};

/// Runs `lode` with these arguments and waits for it, at most a minute.
Outcome lode(const std::vector<std::string>& arguments, const Environment& environment = {},
             Streams streams = {});

/// Runs `lode` with a terminal as stdout or stderr and the other on /dev/null, and returns what it
/// writes to the terminal. Without `columns`, the terminal doesn't tell its width.
std::string on_terminal(std::vector<std::string> arguments, const Environment& environment,
                        int stream = 2, unsigned short columns = 0);

}  // namespace lode::test
