// DebugLink: the processes that `lode debug` debugs, one of which a front end talks to at a time.
#pragma once

#include "base/os/descriptor.hpp"
#include "tools/lode/report.hpp"

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace lode::tool {

/// Listens for processes of the program. Requests and events are those of the Debug Adapter
/// Protocol. Requests that set breakpoints are repeated for each new process. While one process is
/// stopped, the stops of others wait. Thread-safe.
class DebugLink {
public:
    using Answer = tl::expected<Json, std::string>;

    /// `on_event` receives events on a thread of its own; it may make requests.
    explicit DebugLink(std::function<void(const Json& event)> on_event);
    /// close()
    ~DebugLink();
    DebugLink(const DebugLink&) = delete;
    DebugLink& operator=(const DebugLink&) = delete;

    /// Returns an errno value, or 0.
    [[nodiscard]] int listen(const std::filesystem::path& socket);
    /// From now on processes run; until then they wait in cuInit.
    void let_run();
    /// The answer of the process that is stopped, otherwise of the newest one. Without a process, a
    /// request that sets breakpoints has an answer of its own.
    Answer request(const std::string& command, const Json& arguments);
    /// Waits until the events of the processes that have ended were received.
    void close();

private:
    struct Process;

    void accept_processes();
    void read_lines(Process& process);
    void pass_events();
    Answer ask(Process& process, const std::string& command, const Json& arguments);
    [[nodiscard]] Process* chosen();

    const std::function<void(const Json&)> on_event_;
    Descriptor listener_;
    std::mutex mutex_;  ///< Guards all that follows.
    std::condition_variable changed_;
    bool may_run_ = false;
    bool is_closing_ = false;
    bool is_drained_ = false;  ///< No event comes any more.
    std::deque<std::unique_ptr<Process>> processes_;
    Process* stopped_ = nullptr;
    std::map<std::string, Json> settings_;  ///< Requests to repeat, by command and source.
    std::deque<std::pair<Process*, Json>> events_;
    int last_number_ = 0;
    std::thread accepting_, passing_;
};

}  // namespace lode::tool
