// Session: the connection of a process to `lode debug`.
//
// Each line is a JSON object. Requests have "number", "command" and "arguments"; a response has the
// request's number as "response", and "body" or "error"; events have "event" and "body".
#pragma once

#include "base/os/descriptor.hpp"
#include "emulator/debug/requests.hpp"

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>

namespace lode::emulator::debug {

class Session {
public:
    /// Connects to the socket of `lode debug`, and waits until the user is ready: the breakpoints
    /// are set. Null if nobody listens; `why` then says so.
    static Session* connect(const std::filesystem::path& socket, std::string& why);

    [[nodiscard]] Debugger& debugger() noexcept { return debugger_; }

private:
    explicit Session(Descriptor socket);
    void serve();
    void answer_line(const std::string& line);
    void send(const nlohmann::json& message);

    const Descriptor socket_;
    std::mutex sending_;
    std::mutex mutex_;  ///< Guards the next.
    std::condition_variable ready_;
    bool is_ready_ = false;
    Debugger debugger_;
    Requests requests_{debugger_};
};

}  // namespace lode::emulator::debug
