// The terminal of `lode debug`: commands as gdb spells them.
#include "base/file.hpp"
#include "base/os/file.hpp"
#include "tools/lode/debug_front_end.hpp"
#include "tools/lode/debug_link.hpp"
#include "tools/lode/output.hpp"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

namespace lode::tool {
namespace {

constexpr const char* help_page =
    "break FILE:LINE [if CONDITION]   stop at a line; b\n"
    "break NAME [if CONDITION]        stop in a kernel or a function\n"
    "watch EXPRESSION                 stop when memory changes\n"
    "delete                           remove all breakpoints and watches\n"
    "catch launches|findings|nothing  what else stops; findings by default\n"
    "run                              start the program; r\n"
    "continue                         go on; c\n"
    "next, step, finish               by a line, into calls, out of a function; n, s\n"
    "nexti, stepi                     by an instruction; ni, si\n"
    "reverse-next, reverse-nexti      back by a line, by an instruction; rn, rni\n"
    "reverse-continue                 back to the last breakpoint; rc\n"
    "print EXPRESSION                 a value; p\n"
    "info locals|registers|globals|threads\n"
    "thread (X,Y,Z)                   look at another thread of the block\n"
    "backtrace, up, down              the calls; bt\n"
    "list                             the source around the line; l\n"
    "quit                             end the program; q\n"
    "An empty line repeats the last command.\n";

/// What a user says about one breakpoint.
struct Wanted {
    std::string file;  ///< Empty for a function.
    std::uint32_t line = 0;
    std::string name, condition;
};

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

Wanted read_place(std::string_view text) {
    Wanted made;
    if (text.ends_with(" if")) text = trimmed(text.substr(0, text.size() - 3));
    if (const auto at = text.find(" if "); at != text.npos) {
        made.condition = trimmed(text.substr(at + 4));
        text = trimmed(text.substr(0, at));
    }
    const auto colon = text.rfind(':');
    const char* const end = text.data() + text.size();
    if (colon != text.npos && std::from_chars(text.data() + colon + 1, end, made.line).ptr == end &&
        made.line != 0) {
        made.file = text.substr(0, colon);
    } else {
        made.line = 0;
        made.name = text;
    }
    return made;
}

class DebugTerminal final : public DebugFrontEnd {
public:
    DebugTerminal(Descriptor input, bool is_interactive)
        : input_(std::move(input)),
          is_interactive_(is_interactive),
          link_([this](const Json& event) { take(event); }) {}

    Result<bool> begin(const std::filesystem::path& socket,
                       std::vector<std::string>& command) override {
        if (const int problem = link_.listen(socket); problem != 0) {
            return fail(Errc::file_failed,
                        fmt::format("Listening at '{}' failed: {}.", socket.string(),
                                    std::generic_category().message(problem)));
        }
        if (is_interactive_)
            say(fmt::format("'help' lists the commands; 'run' starts {}.\n", command.front()));
        std::thread([this] { read_commands(); }).detach();
        std::unique_lock held(mutex_);
        changed_.wait(held, [&] { return state_ != State::before; });
        return state_ == State::runs;
    }

    void end(int exit_code, const std::string& notes) override {
        link_.close();
        const std::lock_guard held(mutex_);
        if (state_ == State::ended) return;  // It never started.
        say(notes + fmt::format("The program has ended with exit code {}.\n", exit_code));
        state_ = State::ended;
        changed_.notify_all();
    }

private:
    enum class State : std::uint8_t { before, runs, stopped, ended };

    static void say(std::string_view text) { static_cast<void>(write_stdout(text)); }

    void take(const Json& event) {
        const std::string name = event.value("event", "");
        const Json body = event.value("body", Json::object());
        if (name == "output") say(body.value("output", ""));
        if (name != "stopped") return;
        thread_ = body.value("threadId", 1);
        frame_ = 0;
        const std::string reason = body.value("reason", "");
        const std::string text = body.value("text", "");
        if (reason == "breakpoint") {
            say("Breakpoint. ");
        } else if (!text.empty()) {
            say(text + "\n");
        }
        show_place(reason != "step");
        const std::lock_guard held(mutex_);
        state_ = State::stopped;
        changed_.notify_all();
    }

    [[nodiscard]] Json frames() {
        const auto answer = link_.request("stackTrace", {{"threadId", thread_}});
        return answer ? (*answer)["stackFrames"] : Json::array();
    }
    [[nodiscard]] Json current_frame() {
        const Json all = frames();
        return frame_ < all.size() ? all[frame_] : Json::object();
    }

    static std::vector<std::string> lines_of(const std::string& file) {
        std::vector<std::string> lines;
        const auto text = read_text(file);
        if (!text) return lines;
        for (std::size_t at = 0; at < text->size();) {
            const auto end = std::min(text->find('\n', at), text->size());
            lines.push_back(text->substr(at, end - at));
            at = end + 1;
        }
        return lines;
    }

    void show_lines(const Json& frame, std::uint32_t around) {
        const Json source = frame.value("source", Json::object());
        const auto lines = lines_of(source.value("path", ""));
        const auto line = frame.value("line", 0U);
        const std::uint32_t first = line > around ? line - around : 1;
        for (std::uint32_t k = first; k <= line + around && k <= lines.size(); ++k)
            say(fmt::format("{}{}\t{}\n", k == line && around != 0 ? "> " : "", k, lines[k - 1]));
    }

    void show_place(bool names_thread) {
        const Json frame = current_frame();
        if (frame.empty()) return;
        if (names_thread) {
            const auto answer = link_.request("threads", Json::object());
            for (const Json& one : answer ? (*answer)["threads"] : Json::array())
                if (one["id"] == thread_) say(one["name"].get<std::string>() + "\n");
        }
        const Json source = frame.value("source", Json::object());
        say(fmt::format("{} at {}:{}\n", frame.value("name", ""), source.value("name", ""),
                        frame.value("line", 0)));
        show_lines(frame, 0);
    }

    std::optional<std::string> read_line() {
        for (;;) {
            if (const auto end = text_.find('\n'); end != text_.npos) {
                std::string line = text_.substr(0, end);
                text_.erase(0, end + 1);
                return line;
            }
            std::byte part[1024];
            const auto got = os::read_file(input_.get(), part);
            if (got <= 0) return std::nullopt;
            text_.append(reinterpret_cast<const char*>(part), static_cast<std::size_t>(got));
        }
    }

    void read_commands() {
        std::string last;
        for (;;) {
            {
                std::unique_lock held(mutex_);
                changed_.wait(held, [&] { return state_ != State::runs; });
                if (state_ == State::ended) return;
            }
            if (is_interactive_) say("(lode) ");
            auto line = read_line();
            if (!line) break;
            if (trimmed(*line).empty()) line = last;
            last = *line;
            if (!is_interactive_) say("(lode) " + *line + "\n");
            if (!perform(trimmed(*line))) return;
        }
        // Nobody asks any more: the program runs to its end.
        static_cast<void>(link_.request("setExceptionBreakpoints", {{"filters", Json::array()}}));
        link_.let_run();
        set_state(State::runs);
        static_cast<void>(link_.request("disconnect", Json::object()));
    }

    void set_state(State to) {
        const std::lock_guard held(mutex_);
        if (state_ != State::ended) state_ = to;
        changed_.notify_all();
    }

    /// False if it was the last.
    bool perform(std::string_view line) {
        const auto blank = std::min(line.find(' '), line.size());
        const std::string word(line.substr(0, blank));
        const std::string rest(trimmed(line.substr(blank)));
        if (word == "quit" || word == "q") return quit();
        using Handler = std::function<void(const std::string&)>;
        const std::map<std::string_view, Handler> handlers = {
            {"help", [](const std::string&) { say(help_page); }},
            {"break", [&](const std::string& text) { add_breakpoint(text); }},
            {"b", [&](const std::string& text) { add_breakpoint(text); }},
            {"watch", [&](const std::string& text) { add_watch(text); }},
            {"delete", [&](const std::string&) { remove_all(); }},
            {"catch", [&](const std::string& text) { choose_stops(text); }},
            {"run", [&](const std::string&) { start(); }},
            {"r", [&](const std::string&) { start(); }},
            {"continue", [&](const std::string&) { go_on("continue", false); }},
            {"c", [&](const std::string&) { go_on("continue", false); }},
            {"next", [&](const std::string&) { go_on("next", false); }},
            {"n", [&](const std::string&) { go_on("next", false); }},
            {"step", [&](const std::string&) { go_on("stepIn", false); }},
            {"s", [&](const std::string&) { go_on("stepIn", false); }},
            {"finish", [&](const std::string&) { go_on("stepOut", false); }},
            {"nexti", [&](const std::string&) { go_on("next", true); }},
            {"ni", [&](const std::string&) { go_on("next", true); }},
            {"stepi", [&](const std::string&) { go_on("stepIn", true); }},
            {"si", [&](const std::string&) { go_on("stepIn", true); }},
            {"reverse-next", [&](const std::string&) { go_on("stepBack", false); }},
            {"rn", [&](const std::string&) { go_on("stepBack", false); }},
            {"reverse-nexti", [&](const std::string&) { go_on("stepBack", true); }},
            {"rni", [&](const std::string&) { go_on("stepBack", true); }},
            {"reverse-continue", [&](const std::string&) { go_on("reverseContinue", false); }},
            {"rc", [&](const std::string&) { go_on("reverseContinue", false); }},
            {"print", [&](const std::string& text) { print(text); }},
            {"p", [&](const std::string& text) { print(text); }},
            {"info", [&](const std::string& text) { inform(text); }},
            {"thread", [&](const std::string& text) { choose_thread(text); }},
            {"backtrace", [&](const std::string&) { show_calls(); }},
            {"bt", [&](const std::string&) { show_calls(); }},
            {"up", [&](const std::string&) { choose_frame(frame_ + 1); }},
            {"down", [&](const std::string&) { choose_frame(frame_ == 0 ? 0 : frame_ - 1); }},
            {"list", [&](const std::string&) { show_lines(current_frame(), 5); }},
            {"l", [&](const std::string&) { show_lines(current_frame(), 5); }}};
        const auto found = handlers.find(word);
        if (found == handlers.end()) {
            if (!word.empty()) say(fmt::format("'{}' isn't a command; 'help' lists them.\n", word));
        } else {
            found->second(rest);
        }
        return true;
    }

    bool quit() {
        if (state_ == State::before) {
            set_state(State::ended);
            return false;
        }
        ::kill(::getpid(), SIGTERM);  // It goes on to the program.
        return false;
    }

    void start() {
        if (state_ != State::before) return say("The program runs already.\n");
        link_.let_run();
        set_state(State::runs);
    }

    void go_on(const char* command, bool by_instruction) {
        if (state_ != State::stopped) return say("The program hasn't started; 'run' does it.\n");
        Json arguments = {{"threadId", thread_}};
        if (by_instruction) arguments["granularity"] = "instruction";
        set_state(State::runs);
        if (const auto answer = link_.request(command, arguments); !answer) {
            say(answer.error() + "\n");
            set_state(State::stopped);
        }
    }

    void send_breakpoints() {
        std::map<std::string, Json> files;
        Json functions = Json::array();
        for (const auto& file : cleared_files_)
            files[file] = Json::array();
        for (const Wanted& one : breakpoints_) {
            if (one.file.empty()) {
                functions.push_back({{"name", one.name}, {"condition", one.condition}});
            } else {
                files[one.file].push_back({{"line", one.line}, {"condition", one.condition}});
            }
        }
        static_cast<void>(link_.request("setFunctionBreakpoints", {{"breakpoints", functions}}));
        for (const auto& [file, all] : files) {
            static_cast<void>(link_.request("setBreakpoints",
                                            {{"source", {{"path", file}}}, {"breakpoints", all}}));
        }
    }

    void add_breakpoint(const std::string& text) {
        if (text.empty()) return say("A place is missing, such as kernels.cu:12 or saxpy.\n");
        breakpoints_.push_back(read_place(text));
        send_breakpoints();
        say(fmt::format("Breakpoint {} at {}\n", breakpoints_.size(), text));
    }

    void add_watch(const std::string& text) {
        const auto info =
            link_.request("dataBreakpointInfo", {{"name", text}, {"frameId", current_frame_id()}});
        if (!info) return say(info.error() + "\n");
        if ((*info)["dataId"].is_null())
            return say((*info)["description"].get<std::string>() + "\n");
        watches_.push_back({{"dataId", (*info)["dataId"]}});
        static_cast<void>(link_.request("setDataBreakpoints", {{"breakpoints", watches_}}));
        say(fmt::format("Watching {}\n", text));
    }

    void remove_all() {
        for (const Wanted& one : breakpoints_)
            if (!one.file.empty()) cleared_files_.push_back(one.file);
        breakpoints_.clear();
        watches_ = Json::array();
        send_breakpoints();
        static_cast<void>(link_.request("setDataBreakpoints", {{"breakpoints", watches_}}));
    }

    void choose_stops(const std::string& text) {
        Json filters = Json::array();
        for (const char* one : {"findings", "launches"})
            if (text.find(one) != text.npos) filters.push_back(one);
        if (filters.empty() && text != "nothing")
            return say("'catch' takes launches, findings or nothing.\n");
        static_cast<void>(link_.request("setExceptionBreakpoints", {{"filters", filters}}));
    }

    [[nodiscard]] int current_frame_id() { return current_frame().value("id", 0); }

    void print(const std::string& text) {
        const auto answer =
            link_.request("evaluate", {{"expression", text}, {"frameId", current_frame_id()}});
        say(answer ? (*answer)["result"].get<std::string>() + "\n" : answer.error() + "\n");
    }

    void inform(const std::string& what) {
        if (what == "threads") {
            const auto answer = link_.request("threads", Json::object());
            if (!answer) return say(answer.error() + "\n");
            for (const Json& one : (*answer)["threads"])
                say(fmt::format("{} {}\n", one["id"] == thread_ ? "*" : " ",
                                one["name"].get<std::string>()));
            return;
        }
        const std::map<std::string_view, std::string_view> scopes = {
            {"locals", "Locals"}, {"registers", "Registers"}, {"globals", "Globals"}};
        const auto scope = scopes.find(what);
        if (scope == scopes.end())
            return say("'info' takes locals, registers, globals or threads.\n");
        const auto all = link_.request("scopes", {{"frameId", current_frame_id()}});
        if (!all) return say(all.error() + "\n");
        for (const Json& one : (*all)["scopes"]) {
            if (one["name"] != scope->second) continue;
            const auto list =
                link_.request("variables", {{"variablesReference", one["variablesReference"]}});
            for (const Json& each : list ? (*list)["variables"] : Json::array())
                say(fmt::format("{} = {}\n", each["name"].get<std::string>(),
                                each["value"].get<std::string>()));
        }
    }

    void choose_thread(const std::string& text) {
        const auto answer = link_.request("evaluate", {{"expression", "thread " + text}});
        if (!answer) return say(answer.error() + "\n");
        thread_ = (*answer)["threadId"];
        frame_ = 0;
        show_place(true);
    }

    void show_calls() {
        const Json all = frames();
        for (std::size_t k = 0; k < all.size(); ++k) {
            const Json source = all[k].value("source", Json::object());
            say(fmt::format("{}#{} {} at {}:{}\n", k == frame_ ? "*" : " ", k,
                            all[k].value("name", ""), source.value("name", ""),
                            all[k].value("line", 0)));
        }
    }

    void choose_frame(std::size_t to) {
        if (to >= frames().size()) return say("There is no such call.\n");
        frame_ = to;
        show_place(false);
    }

    Descriptor input_;
    const bool is_interactive_;
    std::string text_;
    std::mutex mutex_;
    std::condition_variable changed_;
    State state_ = State::before;
    int thread_ = 1;
    std::size_t frame_ = 0;
    std::vector<Wanted> breakpoints_;
    std::vector<std::string> cleared_files_;
    Json watches_ = Json::array();
    DebugLink link_;
};

}  // namespace

DebugFrontEnd& make_debug_terminal(Descriptor input, bool is_interactive) {
    return *new DebugTerminal(std::move(input), is_interactive);
}

}  // namespace lode::tool
