// Breakpoints: where a debugger wants to stop, and the ops that this means in a launch.
#pragma once

#include "emulator/debug/code_places.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace lode::emulator::debug {

struct Breakpoint {
    u32 id = 0;
    std::string file;  ///< Empty for a function.
    u32 line = 0;
    std::string function;   ///< A kernel or a function: its C++ name, with or without parameters.
    std::string condition;  ///< Stops for the first lane for which it holds; empty: for any.
    std::string message;    ///< Is printed instead of a stop; expressions are in braces.
    u64 ignored = 0;        ///< How many times it is passed before it stops.
    u64 hits = 0;
    bool is_bound = false;  ///< A kernel that was launched has it.
};

class Breakpoints {
public:
    /// Replaces those in a file, or those of functions if `file` is empty. Sets their ids.
    std::vector<const Breakpoint*> replace(const std::string& file, std::vector<Breakpoint> fresh);
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

    /// Finds the ops of a kernel's functions; forgets those of an earlier kernel. Calls `bound` for
    /// each that is found for the first time; its line is then one that has code.
    void bind(const std::deque<std::unique_ptr<CodePlaces>>& codes,
              const std::function<void(const Breakpoint&)>& bound);
    /// Those at an op; nullptr if there are none.
    [[nodiscard]] const std::vector<Breakpoint*>* at(const Op* op) const;

private:
    std::deque<Breakpoint> all_;
    std::unordered_map<const Op*, std::vector<Breakpoint*>> sites_;
    u32 last_id_ = 0;
};

/// Whether a symbol is what a user calls `name`: "scale", "ns::scale<float>", "scale(float*)".
[[nodiscard]] bool is_called(std::string_view symbol, std::string_view name);

}  // namespace lode::emulator::debug
