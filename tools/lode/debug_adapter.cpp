// The Debug Adapter Protocol: messages of editors, answered by the processes that are debugged.
#include "base/file.hpp"
#include "base/os/file.hpp"
#include "tools/lode/debug_front_end.hpp"
#include "tools/lode/debug_link.hpp"

#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

namespace lode::tool {
namespace {

/// Reads a file descriptor by lines and by numbers of bytes.
class Input {
public:
    explicit Input(Descriptor file) : file_(std::move(file)) {}

    /// The content of the next message; nothing at the end.
    std::optional<std::string> message() {
        std::size_t size = 0;
        for (std::string line; read_line(line);) {
            if (line.empty()) return size == 0 ? std::nullopt : read_bytes(size);
            constexpr std::string_view length = "Content-Length:";
            if (!line.starts_with(length)) continue;
            const auto number = line.find_first_not_of(' ', length.size());
            if (number != line.npos)
                std::from_chars(line.data() + number, line.data() + line.size(), size);
        }
        return std::nullopt;
    }

private:
    bool fill() {
        std::byte part[4096];
        const auto got = os::read_file(file_.get(), part);
        if (got <= 0) return false;
        text_.append(reinterpret_cast<const char*>(part), static_cast<std::size_t>(got));
        return true;
    }
    bool read_line(std::string& line) {
        std::size_t end = 0;
        while ((end = text_.find("\r\n")) == text_.npos)
            if (!fill()) return false;
        line = text_.substr(0, end);
        text_.erase(0, end + 2);
        return true;
    }
    std::optional<std::string> read_bytes(std::size_t size) {
        while (text_.size() < size)
            if (!fill()) return std::nullopt;
        std::string made = text_.substr(0, size);
        text_.erase(0, size);
        return made;
    }
    Descriptor file_;
    std::string text_;
};

class DebugAdapter final : public DebugFrontEnd {
public:
    DebugAdapter(Descriptor input, Descriptor output, Descriptor program_output)
        : input_(std::move(input)),
          output_(std::move(output)),
          program_output_(std::move(program_output)),
          link_([this](const Json& event) { send_event(event["event"], event["body"]); }) {}

    Result<bool> begin(const std::filesystem::path& socket,
                       std::vector<std::string>& command) override {
        if (const int problem = link_.listen(socket); problem != 0) {
            return fail(Errc::file_failed,
                        fmt::format("Listening at '{}' failed: {}.", socket.string(),
                                    std::generic_category().message(problem)));
        }
        copier_ = std::thread([this] { copy_output(); });
        std::thread([this] { read_messages(); }).detach();
        std::unique_lock held(mutex_);
        changed_.wait(held, [&] { return is_launched_ || is_over_; });
        if (!launched_.empty()) command = launched_;
        return is_launched_ && !is_over_;
    }

    void end(int exit_code, const std::string& notes) override {
        link_.close();
        copier_.join();
        if (!notes.empty()) send_event("output", {{"category", "console"}, {"output", notes}});
        std::unique_lock held(mutex_);
        has_ended_ = true;
        send_event("exited", {{"exitCode", exit_code}});
        send_event("terminated", Json::object());
        // An editor ends the conversation; without one, the end of its messages does.
        constexpr std::chrono::seconds patience{2};
        changed_.wait_for(held, patience, [&] { return is_over_; });
    }

private:
    void send(Json message) {
        const std::lock_guard held(sending_);
        message["seq"] = ++sequence_;
        const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
        const std::string whole = fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
        // An editor that is gone reads no more.
        static_cast<void>(write_all(output_.get(), std::as_bytes(std::span(whole))));
    }
    void send_event(const std::string& name, const Json& body) {
        send({{"type", "event"}, {"event", name}, {"body", body}});
    }

    void copy_output() {
        std::byte part[4096];
        for (;;) {
            const auto got = os::read_file(program_output_.get(), part);
            if (got <= 0) return;
            const std::string text(reinterpret_cast<const char*>(part),
                                   static_cast<std::size_t>(got));
            send_event("output", {{"category", "stdout"}, {"output", text}});
        }
    }

    void read_messages() {
        while (const auto text = input_.message()) {
            const Json request = Json::parse(*text, nullptr, false);
            if (!request.is_object()) continue;
            const std::string command = request.value("command", "");
            Json response = {{"type", "response"},
                             {"request_seq", request.value("seq", 0)},
                             {"command", command},
                             {"success", true}};
            const auto answer = respond(command, request.value("arguments", Json::object()));
            if (answer) {
                response["body"] = *answer;
            } else {
                response["success"] = false;
                response["message"] = answer.error();
            }
            send(response);
            if (command == "disconnect" || command == "terminate") break;
            if (command == "initialize") send_event("initialized", Json::object());
            if (command == "evaluate" && answer && answer->contains("threadId")) {
                // The user has chosen another thread.
                send_event("stopped", {{"reason", "pause"},
                                       {"threadId", (*answer)["threadId"]},
                                       {"allThreadsStopped", true}});
            }
        }
        const std::lock_guard held(mutex_);
        is_over_ = true;
        changed_.notify_all();
    }

    DebugLink::Answer respond(const std::string& command, const Json& arguments) {
        if (command == "initialize") return capabilities();
        if (command == "launch") return launch(arguments);
        if (command == "configurationDone") {
            link_.let_run();
            return Json::object();
        }
        if (command == "disconnect" || command == "terminate") {
            // As for a terminal's user: the signal goes on to the program.
            const std::lock_guard held(mutex_);
            if (!has_ended_ && arguments.value("terminateDebuggee", true))
                ::kill(::getpid(), SIGTERM);
            static_cast<void>(link_.request("disconnect", Json::object()));
            return Json::object();
        }
        auto answer = link_.request(command, arguments);
        // Editors ask for threads at any time.
        if (!answer && command == "threads")
            return Json{{"threads", {{{"id", 1}, {"name", "the program runs"}}}}};
        return answer;
    }

    DebugLink::Answer launch(const Json& arguments) {
        const std::lock_guard held(mutex_);
        if (arguments.contains("program")) {
            launched_ = {arguments["program"].get<std::string>()};
            for (const Json& one : arguments.value("args", Json::array()))
                launched_.push_back(one.get<std::string>());
        }
        const Json environment = arguments.value("env", Json::object());
        for (const auto& [name, value] : environment.items())
            ::setenv(name.c_str(), value.get<std::string>().c_str(), 1);
        if (arguments.contains("cwd")) {
            std::error_code problem;
            const std::string folder = arguments["cwd"].get<std::string>();
            std::filesystem::current_path(folder, problem);
            if (problem) {
                return tl::unexpected(fmt::format("'{}' can't be the working directory: {}.",
                                                  folder, problem.message()));
            }
        }
        is_launched_ = true;
        changed_.notify_all();
        return Json::object();
    }

    static Json capabilities() {
        Json made;
        for (const char* one :
             {"supportsConfigurationDoneRequest", "supportsFunctionBreakpoints",
              "supportsConditionalBreakpoints", "supportsHitConditionalBreakpoints",
              "supportsLogPoints", "supportsEvaluateForHovers", "supportsDataBreakpoints",
              "supportsReadMemoryRequest", "supportsStepBack", "supportsSteppingGranularity",
              "supportTerminateDebuggee", "supportsTerminateRequest"})
            made[one] = true;
        made["exceptionBreakpointFilters"] = {
            {{"filter", "findings"}, {"label", "Findings and faults"}, {"default", true}},
            {{"filter", "launches"}, {"label", "Launches of kernels"}, {"default", false}}};
        return made;
    }

    Input input_;
    const Descriptor output_;
    const Descriptor program_output_;
    std::mutex sending_;
    int sequence_ = 0;
    std::mutex mutex_;  ///< Guards the next.
    std::condition_variable changed_;
    bool is_launched_ = false, is_over_ = false, has_ended_ = false;
    std::vector<std::string> launched_;
    std::thread copier_;
    DebugLink link_;
};

}  // namespace

DebugFrontEnd& make_debug_adapter(Descriptor input, Descriptor output, Descriptor program_output) {
    return *new DebugAdapter(std::move(input), std::move(output), std::move(program_output));
}

}  // namespace lode::tool
