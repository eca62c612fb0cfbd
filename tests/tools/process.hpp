// Runs the lode command as its users do, and catches everything it says.
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

/// What a finished process left behind.
struct Outcome {
    int exit_code = -1;  ///< -1 when a signal ended it.
    int signal = 0;      ///< That signal; SIGALRM when it took more than a minute.
    std::string out;
    std::string err;

    /// stdout as one JSON value; a test failure when it isn't.
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

/// What one of the command's standard streams is.
enum class Stream {
    caught,       ///< A file, read into Outcome.
    closed,       ///< No open file.
    full,         ///< /dev/full: every write fails.
    broken_pipe,  ///< A pipe that nobody reads.
};

struct Streams {
    Stream out = Stream::caught;
    Stream err = Stream::caught;
};

/// `lode` while it runs. The variable LODE_TEST_COMMAND names another build's command, so that a
/// test can be seen failing there.
class Running {
public:
    explicit Running(const std::vector<std::string>& arguments, const Environment& environment = {},
                     Streams streams = {});
    /// Kills a process that nobody has waited for.
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    void send(int signal) const;
    /// Waits for its end, which comes within a minute. Once.
    Outcome wait();

private:
    lode::ScratchFolder folder_;
    pid_t process_ = -1;
};

/// Runs `lode` with these arguments and waits for it, a minute at most.
Outcome lode(const std::vector<std::string>& arguments, const Environment& environment = {},
             Streams streams = {});

}  // namespace lode::test
