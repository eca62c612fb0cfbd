// Expressions of a debugger: names, numbers and C++'s operators without side effects.
#pragma once

#include "emulator/debug/value.hpp"

#include <functional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace lode::emulator::debug {

/// What an expression may ask for.
struct Names {
    /// The value of a variable, a register ("%r3") or "threadIdx"; nothing if there is none.
    std::function<std::optional<Value>(const std::string& name)> find;
    /// The type with a name; nullptr if there is none. "int", "float" and their like are known.
    std::function<const Type*(const std::string& name)> find_type;
    ReadMemory read;
    /// Receives pointer types that are made; they live as long as the values.
    std::deque<Type>* made_types = nullptr;
};

/// The value, or why there is none, as a sentence.
[[nodiscard]] tl::expected<Value, std::string> evaluate(std::string_view text, const Names& names);

}  // namespace lode::emulator::debug
