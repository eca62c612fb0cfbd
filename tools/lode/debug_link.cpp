#include "tools/lode/debug_link.hpp"

#include "base/os/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <span>

#include <fmt/format.h>

namespace lode::tool {

struct DebugLink::Process {
    Descriptor socket;
    std::thread reader;
    bool has_ended = false;
    bool runs = false;                   ///< It was let run.
    std::map<int, Json> responses = {};  ///< By number, until they are taken.
};

namespace {

bool sets_breakpoints(const std::string& command) {
    return command.starts_with("set");
}

/// The answer before there is a process.
Json unbound(const std::string& command, const Json& arguments) {
    if (command == "setExceptionBreakpoints") return Json::object();
    Json all = Json::array();
    for (const Json& one : arguments.value("breakpoints", Json::array())) {
        Json made = {{"verified", false}, {"message", "No kernel has been launched yet."}};
        if (one.contains("line")) made["line"] = one["line"];
        all.push_back(made);
    }
    return {{"breakpoints", all}};
}

bool send_line(int socket, const Json& message) {
    const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    return os::send_all(socket, std::as_bytes(std::span(line)));
}

}  // namespace

DebugLink::DebugLink(std::function<void(const Json& event)> on_event)
    : on_event_(std::move(on_event)) {}

DebugLink::~DebugLink() {
    close();
}

int DebugLink::listen(const std::filesystem::path& socket) {
    listener_ = os::listen_at(socket);
    if (!listener_) return errno;
    accepting_ = std::thread([this] { accept_processes(); });
    passing_ = std::thread([this] { pass_events(); });
    return 0;
}

void DebugLink::close() {
    {
        const std::lock_guard held(mutex_);
        if (std::exchange(is_closing_, true)) return;
        if (listener_) os::shut_down(listener_.get());
        for (const auto& one : processes_)
            os::shut_down(one->socket.get());
        changed_.notify_all();
    }
    if (accepting_.joinable()) accepting_.join();
    for (const auto& one : processes_)
        one->reader.join();
    {
        const std::lock_guard held(mutex_);
        is_drained_ = true;
        changed_.notify_all();
    }
    if (passing_.joinable()) passing_.join();
}

void DebugLink::accept_processes() {
    for (;;) {
        Descriptor made = os::accept_connection(listener_.get());
        if (!made && errno == EINTR) continue;
        if (!made) return;
        const std::lock_guard held(mutex_);
        if (is_closing_) return;
        Process& process = *processes_.emplace_back(std::make_unique<Process>());
        process.socket = std::move(made);
        process.reader = std::thread([this, &process] { read_lines(process); });
    }
}

void DebugLink::read_lines(Process& process) {
    std::string text;
    std::byte part[4096];
    for (;;) {
        const auto got = os::receive(process.socket.get(), part);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text.append(reinterpret_cast<const char*>(part), static_cast<std::size_t>(got));
        for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
            Json message = Json::parse(text.substr(0, end), nullptr, false);
            text.erase(0, end + 1);
            const std::lock_guard held(mutex_);
            if (message.is_object() && message.contains("response")) {
                const int number = message["response"].get<int>();
                process.responses[number] = std::move(message);
            } else if (message.is_object()) {
                events_.emplace_back(&process, std::move(message));
            }
            changed_.notify_all();
        }
    }
    const std::lock_guard held(mutex_);
    process.has_ended = true;
    if (stopped_ == &process) stopped_ = nullptr;
    changed_.notify_all();
}

/// Passes events on, and lets each new process run once the user is ready.
void DebugLink::pass_events() {
    std::unique_lock held(mutex_);
    for (;;) {
        Process* fresh = nullptr;
        auto next = events_.end();
        changed_.wait(held, [&] {
            const auto waits = [&](const auto& one) {
                return one.second.value("event", "") == "stopped" && stopped_ != nullptr;
            };
            next = std::ranges::find_if_not(events_, waits);
            const auto is_fresh = [&](const auto& one) {
                return may_run_ && !one->runs && !one->has_ended;
            };
            const auto found = std::ranges::find_if(processes_, is_fresh);
            fresh = found == processes_.end() ? nullptr : found->get();
            return next != events_.end() || fresh != nullptr || is_drained_;
        });
        if (next != events_.end()) {
            auto [process, event] = std::move(*next);
            events_.erase(next);
            if (event.value("event", "") == "stopped") {
                if (process->has_ended) continue;
                stopped_ = process;
            }
            held.unlock();
            on_event_(event);
            held.lock();
        } else if (fresh != nullptr) {
            fresh->runs = true;
            const auto settings = settings_;
            held.unlock();
            for (const auto& [key, request] : settings)
                static_cast<void>(ask(*fresh, request["command"], request["arguments"]));
            static_cast<void>(ask(*fresh, "ready", Json::object()));
            held.lock();
        } else {
            return;
        }
    }
}

void DebugLink::let_run() {
    const std::lock_guard held(mutex_);
    may_run_ = true;
    changed_.notify_all();
}

DebugLink::Process* DebugLink::chosen() {
    if (stopped_ != nullptr) return stopped_;
    Process* newest = nullptr;
    for (const auto& one : processes_)
        if (one->runs && !one->has_ended) newest = one.get();
    return newest;
}

DebugLink::Answer DebugLink::ask(Process& process, const std::string& command,
                                 const Json& arguments) {
    std::unique_lock held(mutex_);
    const int number = ++last_number_;
    const Json message = {{"number", number}, {"command", command}, {"arguments", arguments}};
    constexpr const char* gone = "The process has ended.";
    if (!send_line(process.socket.get(), message)) return tl::unexpected(gone);
    changed_.wait(held, [&] { return process.responses.contains(number) || process.has_ended; });
    const auto found = process.responses.find(number);
    if (found == process.responses.end()) return tl::unexpected(gone);
    const Json response = std::move(found->second);
    process.responses.erase(found);
    if (response.contains("error")) return tl::unexpected(response["error"].get<std::string>());
    return response.value("body", Json::object());
}

DebugLink::Answer DebugLink::request(const std::string& command, const Json& arguments) {
    Process* process = nullptr;
    {
        const std::lock_guard held(mutex_);
        if (sets_breakpoints(command)) {
            const Json source = arguments.value("source", Json::object());
            settings_[command + source.value("path", "")] = {{"command", command},
                                                             {"arguments", arguments}};
        }
        process = chosen();
        const bool goes_on = command == "continue" || command == "next" || command == "stepIn" ||
                             command == "stepOut" || command == "stepBack" ||
                             command == "reverseContinue" || command == "disconnect";
        if (goes_on) {
            stopped_ = nullptr;
            changed_.notify_all();
        }
    }
    if (process != nullptr) return ask(*process, command, arguments);
    if (sets_breakpoints(command)) return unbound(command, arguments);
    return tl::unexpected(std::string("No process uses the software device yet."));
}

}  // namespace lode::tool
