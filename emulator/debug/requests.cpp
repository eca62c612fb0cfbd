#include "emulator/debug/requests.hpp"

#include "base/base64.hpp"
#include "base/cxx_names.hpp"
#include "emulator/exec/lanes.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lode::emulator::debug {

namespace {

using Json = nlohmann::json;

constexpr const char* not_stopped = "The program isn't stopped in a kernel.";

/// "(1,2,3)", "1,2" or "5"; nothing for other texts.
std::optional<Dim3> read_index(std::string_view text) {
    Dim3 made{0, 0, 0};
    u32* const parts[] = {&made.x, &made.y, &made.z};
    std::size_t count = 0;
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto skip = [&] {
        while (at != end && (*at == ' ' || *at == '(' || *at == ',' || *at == ')'))
            ++at;
    };
    for (skip(); at != end; skip()) {
        if (count == std::size(parts)) return std::nullopt;
        const auto read = std::from_chars(at, end, *parts[count++]);
        if (read.ec != std::errc()) return std::nullopt;
        at = read.ptr;
    }
    if (count == 0) return std::nullopt;
    return made;
}

Json bound_json(const Breakpoint& one) {
    Json made = {{"id", one.id}, {"verified", one.is_bound}};
    if (one.line != 0) made["line"] = one.line;
    if (!one.is_bound) made["message"] = "No kernel with this place has been launched yet.";
    return made;
}

/// A number such as "3"; a debugger may send any text.
u64 hits_of(const Json& arguments) {
    const std::string text = arguments.value("hitCondition", "");
    u64 number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number == 0 ? 0 : number - 1;
}

Breakpoint read_breakpoint(const Json& from) {
    Breakpoint made;
    made.line = from.value("line", 0U);
    made.function = from.value("name", "");
    made.condition = from.value("condition", "");
    made.message = from.value("logMessage", "");
    made.ignored = hits_of(from);
    return made;
}

}  // namespace

Requests::Answer Requests::answer(const std::string& command, const Json& arguments) {
    using Handler = std::function<Answer(Requests&, const Json&)>;
    static const std::map<std::string, Handler> handlers = {
        {"threads", [](Requests& r, const Json&) { return r.threads(); }},
        {"stackTrace", &Requests::stack_trace},
        {"scopes", &Requests::scopes},
        {"variables", &Requests::variables},
        {"evaluate", &Requests::evaluate},
        {"readMemory", &Requests::read_memory},
        {"setBreakpoints", &Requests::set_breakpoints},
        {"setFunctionBreakpoints", &Requests::set_function_breakpoints},
        {"setExceptionBreakpoints", &Requests::set_exception_breakpoints},
        {"dataBreakpointInfo", &Requests::data_breakpoint_info},
        {"setDataBreakpoints", &Requests::set_data_breakpoints},
        {"source", [](Requests& r, const Json&) { return r.source(); }},
        {"continue", [](Requests& r, const Json& a) { return r.go_on(StepKind::none, a); }},
        {"next", [](Requests& r, const Json& a) { return r.go_on(StepKind::over, a); }},
        {"stepIn", [](Requests& r, const Json& a) { return r.go_on(StepKind::into, a); }},
        {"stepOut", [](Requests& r, const Json& a) { return r.go_on(StepKind::out, a); }},
        {"stepBack", [](Requests& r, const Json& a) { return r.go_back(false, a); }},
        {"reverseContinue", [](Requests& r, const Json& a) { return r.go_back(true, a); }},
        {"pause",
         [](Requests& r, const Json&) -> Answer {
             r.debugger_.pause();
             return Json::object();
         }},
        {"disconnect", [](Requests& r, const Json&) -> Answer {
             r.debugger_.detach();
             return Json::object();
         }}};
    const auto held = debugger_.lock();
    const auto found = handlers.find(command);
    if (found == handlers.end())
        return tl::unexpected(fmt::format("The request '{}' isn't known.", command));
    try {
        return found->second(*this, arguments);
    } catch (const Json::exception& error) {
        return tl::unexpected(
            fmt::format("The request '{}' has wrong arguments: {}.", command, error.what()));
    }
}

Requests::Answer Requests::threads() {
    Json all = Json::array();
    for (const GroupView& one : debugger_.groups()) {
        const int count = std::popcount(one.mask);
        all.push_back(
            {{"id", Debugger::index_of(one.lane) + 1},
             {"name", fmt::format("block {} thread {}{}{}", exec::index_text(one.lane.block->index),
                                  exec::index_text(one.lane.thread()),
                                  count == 1 ? "" : fmt::format(", with {} others", count - 1),
                                  one.is_waiting ? ", waits" : "")}});
    }
    if (all.empty()) all.push_back({{"id", 1}, {"name", "no kernel is stopped"}});
    return Json{{"threads", all}};
}

Requests::Answer Requests::stack_trace(const Json& arguments) {
    const u32 id = arguments.at("threadId").get<u32>();
    auto lane = debugger_.thread(id - 1);
    if (!lane) return tl::unexpected(not_stopped);
    Json all = Json::array();
    for (; lane; lane = lane->caller()) {
        const auto frame_id = static_cast<u32>(frames_.size() + 1);
        frames_.push_back(*lane);
        const std::string_view symbol = lane->code().function->name;
        const DebugFunction* const function = debugger_.info_of(*lane).function(symbol);
        const std::string name = function != nullptr ? function->name : lode::readable_name(symbol);
        const Stack& stack = debugger_.stack_of(*lane);
        const std::vector<std::string> inlined = debugger_.inlined_names(*lane);
        for (std::size_t k = 0; k < stack.size(); ++k) {
            const std::filesystem::path file(stack[k].file);
            const bool is_inlined = k + 1 < stack.size();
            std::string shown_name = name;
            if (is_inlined)
                shown_name = k < inlined.size() ? inlined[k] : "code inlined into " + name;
            all.push_back(
                {{"id", frame_id},
                 {"name", shown_name},
                 {"line", stack[k].line},
                 {"column", 0},
                 {"instructionPointerReference", fmt::format("ptx:{}", lane->instruction().line)},
                 {"source", {{"name", file.filename().string()}, {"path", file.string()}}}});
        }
        if (!stack.empty()) continue;
        all.push_back({{"id", frame_id},
                       {"name", name},
                       {"line", lane->instruction().line},
                       {"column", 0},
                       {"source", {{"name", "kernel.ptx"}, {"sourceReference", 1}}}});
    }
    const std::size_t total = all.size();
    const std::size_t first = std::min<std::size_t>(arguments.value("startFrame", 0U), total);
    std::size_t count = arguments.value("levels", 0U);
    if (count == 0 || count > total - first) count = total - first;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    return Json{
        {"stackFrames", Json(Json::array_t(begin, begin + static_cast<std::ptrdiff_t>(count)))},
        {"totalFrames", total}};
}

tl::expected<LaneView, std::string> Requests::frame(const Json& arguments) {
    if (!debugger_.is_stopped()) return tl::unexpected(not_stopped);
    const u32 id = arguments.value("frameId", 0U);
    if (id != 0 && id <= frames_.size()) return frames_[id - 1];
    if (const auto lane = debugger_.thread(debugger_.focus())) return *lane;
    return tl::unexpected(not_stopped);
}

u32 Requests::keep(Container container) {
    containers_.push_back(std::move(container));
    return static_cast<u32>(containers_.size());
}

Requests::Answer Requests::scopes(const Json& arguments) {
    const auto lane = frame(arguments);
    if (!lane) return tl::unexpected(lane.error());
    Json all = Json::array();
    const auto add = [&](const char* name, Container container, bool is_expensive) {
        all.push_back({{"name", name},
                       {"variablesReference", keep(std::move(container))},
                       {"expensive", is_expensive}});
    };
    add("Locals", Locals{*lane}, false);
    add("Built-in", Builtins{*lane}, false);
    add("Globals", Globals{*lane}, true);
    add("Memory", Symbols{*lane}, true);
    add("Registers", Registers{*lane}, true);
    return Json{{"scopes", all}};
}

std::vector<std::pair<std::string, Value>> Requests::contents(const Container& container) {
    std::vector<std::pair<std::string, Value>> all;
    if (const auto* of = std::get_if<Locals>(&container)) {
        for (const DebugVariable* one : debugger_.locals(of->lane)) {
            const bool is_hidden = std::ranges::any_of(
                all, [&](const auto& other) { return other.first == one->name; });
            if (!is_hidden) all.emplace_back(one->name, of->lane.variable(*one));
        }
    } else if (const auto* registers = std::get_if<Registers>(&container)) {
        all = registers->lane.registers();
    } else if (const auto* globals = std::get_if<Globals>(&container)) {
        for (const DebugVariable& one : debugger_.info_of(globals->lane).globals)
            all.emplace_back(one.name, globals->lane.variable(one));
    } else if (const auto* symbols = std::get_if<Symbols>(&container)) {
        all = debugger_.symbols(symbols->lane);
    } else if (const auto* builtins = std::get_if<Builtins>(&container)) {
        for (const char* name : {"threadIdx", "blockIdx", "blockDim", "gridDim"})
            all.emplace_back(name, *builtins->lane.find_builtin(name));
    } else if (const auto* parts = std::get_if<Parts>(&container)) {
        const LaneView lane = parts->lane;
        all = children_of(parts->value,
                          [&](u64 address, u64 bytes) { return lane.read(address, bytes); });
    }
    return all;
}

Json Requests::shown(const std::string& name, const LaneView& lane, const Value& value) {
    Json made = {{"name", name},
                 {"value", text_of(value)},
                 {"type", name_of(*value.type)},
                 {"variablesReference", has_children(value) ? keep(Parts{lane, value}) : 0}};
    if (value.address) made["memoryReference"] = fmt::format("0x{:x}", *value.address);
    return made;
}

Requests::Answer Requests::variables(const Json& arguments) {
    const u32 id = arguments.at("variablesReference").get<u32>();
    if (!debugger_.is_stopped() || id == 0 || id > containers_.size())
        return tl::unexpected(not_stopped);
    const Container container = containers_[id - 1];
    const LaneView lane = std::visit([](const auto& of) { return of.lane; }, container);
    Json all = Json::array();
    for (const auto& [name, value] : contents(container))
        all.push_back(shown(name, lane, value));
    return Json{{"variables", all}};
}

Requests::Answer Requests::evaluate(const Json& arguments) {
    const std::string text = arguments.at("expression").get<std::string>();
    constexpr std::string_view thread_word = "thread ";
    if (text.starts_with(thread_word)) {
        const auto wanted = read_index(text.substr(thread_word.size()));
        if (!debugger_.is_stopped()) return tl::unexpected(not_stopped);
        for (const GroupView& group : debugger_.groups()) {
            LaneView lane = group.lane;
            for (lane.lane = 0; wanted && lane.lane < lanes; ++lane.lane) {
                if (!exec::bit(group.mask, lane.lane) || lane.thread() != *wanted) continue;
                debugger_.set_focus(Debugger::index_of(lane));
                return Json{
                    {"result", fmt::format("thread {} is in focus", exec::index_text(*wanted))},
                    {"threadId", debugger_.focus() + 1},
                    {"variablesReference", 0}};
            }
        }
        return tl::unexpected(fmt::format("The block has no thread '{}' that still runs.",
                                          text.substr(thread_word.size())));
    }
    const auto lane = frame(arguments);
    if (!lane) return tl::unexpected(lane.error());
    const auto value = debugger_.evaluate(text, *lane);
    if (!value) return tl::unexpected(value.error());
    Json made = shown(text, *lane, *value);
    made["result"] = made["value"];
    return made;
}

Requests::Answer Requests::read_memory(const Json& arguments) {
    const auto lane = frame(arguments);
    if (!lane) return tl::unexpected(lane.error());
    const std::string text = arguments.at("memoryReference").get<std::string>();
    u64 address = 0;
    const char* const first = text.data() + (text.starts_with("0x") ? 2 : 0);
    const auto read = std::from_chars(first, text.data() + text.size(), address, 16);
    if (read.ec != std::errc()) return tl::unexpected(fmt::format("'{}' isn't an address.", text));
    address += static_cast<u64>(arguments.value("offset", i64{0}));
    const u64 count = arguments.at("count").get<u64>();
    Json made = {{"address", fmt::format("0x{:x}", address)}};
    if (const auto bytes = lane->read(address, count)) {
        made["data"] =
            lode::to_base64({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    } else {
        made["unreadableBytes"] = count;
    }
    return made;
}

Requests::Answer Requests::set_breakpoints(const Json& arguments) {
    const Json& source = arguments.at("source");
    std::vector<Breakpoint> fresh;
    for (const Json& one : arguments.value("breakpoints", Json::array()))
        fresh.push_back(read_breakpoint(one));
    Json all = Json::array();
    const std::string file = source.value("path", source.value("name", ""));
    for (const Breakpoint* one : debugger_.set_breakpoints(file, std::move(fresh)))
        all.push_back(bound_json(*one));
    return Json{{"breakpoints", all}};
}

Requests::Answer Requests::set_function_breakpoints(const Json& arguments) {
    std::vector<Breakpoint> fresh;
    for (const Json& one : arguments.at("breakpoints"))
        fresh.push_back(read_breakpoint(one));
    Json all = Json::array();
    for (const Breakpoint* one : debugger_.set_breakpoints("", std::move(fresh)))
        all.push_back(bound_json(*one));
    return Json{{"breakpoints", all}};
}

Requests::Answer Requests::set_exception_breakpoints(const Json& arguments) {
    const Json filters = arguments.value("filters", Json::array());
    const auto has = [&](const char* name) {
        return std::ranges::find(filters, Json(name)) != filters.end();
    };
    debugger_.stop_on(has("findings"), has("launches"));
    return Json::object();
}

Requests::Answer Requests::data_breakpoint_info(const Json& arguments) {
    const auto none = [](const std::string& why) {
        return Json{{"dataId", nullptr}, {"description", why}};
    };
    const std::string name = arguments.at("name").get<std::string>();
    const u32 id = arguments.value("variablesReference", 0U);
    std::optional<Value> value;
    std::optional<LaneView> lane;
    if (id != 0 && id <= containers_.size()) {
        const Container container = containers_[id - 1];
        lane = std::visit([](const auto& of) { return of.lane; }, container);
        for (const auto& [each, found] : contents(container))
            if (each == name) value = found;
    } else {
        const auto at = frame(arguments);
        if (!at) return none(at.error());
        lane = *at;
        const auto found = debugger_.evaluate(name, *at);
        if (!found) return none(found.error());
        value = *found;
    }
    if (!value || !value->address || value->bytes.empty())
        return none(fmt::format("'{}' isn't in memory.", name));
    return Json{{"dataId", Json{{"name", name},
                                {"address", *value->address},
                                {"bytes", value->bytes.size()},
                                {"block", lane->block->linear},
                                {"thread", Debugger::index_of(*lane)}}
                               .dump()},
                {"description", name},
                {"accessTypes", {"write"}}};
}

Requests::Answer Requests::set_data_breakpoints(const Json& arguments) {
    std::vector<Watch> watches;
    Json all = Json::array();
    for (const Json& one : arguments.at("breakpoints")) {
        const Json id = Json::parse(one.at("dataId").get<std::string>());
        watches.push_back({id.at("name"),
                           id.at("address"),
                           id.at("bytes"),
                           id.at("block"),
                           id.at("thread"),
                           {},
                           false});
        all.push_back({{"verified", true}});
    }
    debugger_.set_watches(std::move(watches));
    return Json{{"breakpoints", all}};
}

Requests::Answer Requests::source() {
    const auto lane = debugger_.thread(debugger_.focus());
    if (!lane) return tl::unexpected(not_stopped);
    return Json{{"content", lane->launch->module->text}, {"mimeType", "text/x-ptx"}};
}

Requests::Answer Requests::go_back(bool to_breakpoint, const Json& arguments) {
    if (!debugger_.is_stopped()) return tl::unexpected(not_stopped);
    const u32 thread = arguments.value("threadId", debugger_.focus() + 1) - 1;
    const std::string why = debugger_.go_back(to_breakpoint, thread,
                                              arguments.value("granularity", "") == "instruction");
    if (!why.empty()) return tl::unexpected(why);
    frames_.clear();
    containers_.clear();
    return Json::object();
}

Requests::Answer Requests::go_on(StepKind kind, const Json& arguments) {
    if (!debugger_.is_stopped()) return tl::unexpected(not_stopped);
    const u32 thread = arguments.value("threadId", debugger_.focus() + 1) - 1;
    frames_.clear();
    containers_.clear();
    debugger_.resume(kind, thread, arguments.value("granularity", "") == "instruction");
    return Json{{"allThreadsContinued", true}};
}

}  // namespace lode::emulator::debug
