#include "emulator/debug/session.hpp"

#include "base/os/process.hpp"
#include "base/os/socket.hpp"

#include <cerrno>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lode::emulator::debug {

using Json = nlohmann::json;

Session::Session(Descriptor socket)
    : socket_(std::move(socket)),
      debugger_({.stopped =
                     [this](const StopReason& why, u32 thread) {
                         send({{"event", "stopped"},
                               {"body",
                                {{"reason", why.reason},
                                 {"text", why.text},
                                 {"description", why.text},
                                 {"threadId", thread + 1},
                                 {"allThreadsStopped", true},
                                 {"hitBreakpointIds", why.breakpoints}}}});
                     },
                 .bound =
                     [this](const Breakpoint& one) {
                         Json changed = {{"id", one.id}, {"verified", true}};
                         if (one.line != 0) changed["line"] = one.line;
                         send({{"event", "breakpoint"},
                               {"body", {{"reason", "changed"}, {"breakpoint", changed}}}});
                     },
                 .output =
                     [this](std::string_view text) {
                         send({{"event", "output"},
                               {"body", {{"category", "console"}, {"output", text}}}});
                     }}) {}

Session* Session::connect(const std::filesystem::path& socket, std::string& why) {
    Descriptor connected = os::connect_to(socket);
    if (!connected) {
        why = fmt::format("LODE_EMULATOR_DEBUG is '{}', where no 'lode debug' listens: {}.",
                          socket.string(), std::generic_category().message(errno));
        return nullptr;
    }
    // Launches use it until the process ends.
    auto* const made = new Session(std::move(connected));
    made->send({{"event", "process"},
                {"body",
                 {{"name", os::executable_path().string()},
                  {"systemProcessId", static_cast<std::int64_t>(os::process_id())}}}});
    std::thread([made] { made->serve(); }).detach();
    std::unique_lock held(made->mutex_);
    made->ready_.wait(held, [&] { return made->is_ready_; });
    return made;
}

void Session::send(const Json& message) {
    const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    const std::lock_guard held(sending_);
    // serve() notices that nobody listens.
    static_cast<void>(os::send_all(socket_.get(), std::as_bytes(std::span(line))));
}

void Session::answer_line(const std::string& line) {
    const Json request = Json::parse(line, nullptr, false);
    if (!request.is_object()) return;
    const std::string command = request.value("command", "");
    if (command == "ready") {
        const std::lock_guard held(mutex_);
        is_ready_ = true;
        ready_.notify_all();
    }
    Json response = {{"response", request.value("number", 0)}};
    if (command == "ready") {
        response["body"] = Json::object();
    } else if (auto body = requests_.answer(command, request.value("arguments", Json::object()))) {
        response["body"] = *std::move(body);
    } else {
        response["error"] = body.error();
    }
    send(response);
}

void Session::serve() {
    std::string text;
    std::byte part[4096];
    for (;;) {
        const auto got = os::receive(socket_.get(), part);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text.append(reinterpret_cast<const char*>(part), static_cast<std::size_t>(got));
        for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
            answer_line(text.substr(0, end));
            text.erase(0, end + 1);
        }
    }
    const auto held = debugger_.lock();
    debugger_.detach();
    const std::lock_guard waiting(mutex_);
    is_ready_ = true;
    ready_.notify_all();
}

}  // namespace lode::emulator::debug
