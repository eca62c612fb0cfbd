// Requests: a debugger's requests of a process, in the words of the Debug Adapter Protocol.
#pragma once

#include "emulator/debug/debugger.hpp"

#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>

namespace lode::emulator::debug {

/// Answers requests with the bodies of the protocol's responses. Not thread-safe.
class Requests {
public:
    explicit Requests(Debugger& debugger) : debugger_(debugger) {}

    /// The body, or why there is none, as a sentence.
    tl::expected<nlohmann::json, std::string> answer(const std::string& command,
                                                     const nlohmann::json& arguments);

private:
    using Answer = tl::expected<nlohmann::json, std::string>;
    struct Registers {
        LaneView lane;
    };
    struct Locals {
        LaneView lane;
    };
    struct Globals {
        LaneView lane;
    };
    struct Symbols {
        LaneView lane;
    };
    struct Builtins {
        LaneView lane;
    };
    struct Parts {
        LaneView lane;
        Value value;
    };
    /// What a variablesReference stands for.
    using Container = std::variant<Locals, Registers, Symbols, Globals, Builtins, Parts>;

    Answer threads();
    Answer stack_trace(const nlohmann::json& arguments);
    Answer scopes(const nlohmann::json& arguments);
    Answer variables(const nlohmann::json& arguments);
    Answer evaluate(const nlohmann::json& arguments);
    Answer read_memory(const nlohmann::json& arguments);
    Answer set_breakpoints(const nlohmann::json& arguments);
    Answer set_function_breakpoints(const nlohmann::json& arguments);
    Answer set_exception_breakpoints(const nlohmann::json& arguments);
    Answer data_breakpoint_info(const nlohmann::json& arguments);
    Answer set_data_breakpoints(const nlohmann::json& arguments);
    Answer source();
    Answer go_back(bool to_breakpoint, const nlohmann::json& arguments);
    Answer go_on(StepKind kind, const nlohmann::json& arguments);

    /// The frame with an id; that of the thread in focus if it is missing.
    tl::expected<LaneView, std::string> frame(const nlohmann::json& arguments);
    u32 keep(Container container);
    nlohmann::json shown(const std::string& name, const LaneView& lane, const Value& value);
    std::vector<std::pair<std::string, Value>> contents(const Container& container);

    Debugger& debugger_;
    std::vector<LaneView> frames_;
    std::vector<Container> containers_;
};

}  // namespace lode::emulator::debug
