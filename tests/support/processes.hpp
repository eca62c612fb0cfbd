// Other processes, as /proc shows them.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/types.h>

namespace lode::test {

/// The processes that this one has started and that haven't been waited for.
inline std::vector<pid_t> children() {
    std::vector<pid_t> all;
    std::error_code gone;  // A thread may end meanwhile.
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", gone)) {
        std::ifstream file(thread.path() / "children");
        for (pid_t child = 0; file >> child;)
            all.push_back(child);
    }
    return all;
}

/// A line of /proc/PID/status; empty if there is no such process.
inline std::string status_of(pid_t pid, const std::string& name) {
    std::ifstream file(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
    }
    return {};
}

/// Whether a process exists and isn't a zombie.
inline bool is_running(pid_t pid) {
    const auto state = status_of(pid, "State");
    return !state.empty() && !state.starts_with("Z");
}

/// Waits up to 10 s until something is so.
template <class Condition>
bool becomes(Condition condition) {
    for (int i = 0; i < 1000 && !condition(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
}

}  // namespace lode::test
