// Functions that the device provides: printf, assert, malloc, free and
// cudaGraphSetConditional.
#pragma once

#include "emulator/decode/code.hpp"

#include <functional>
#include <span>

namespace lode::emulator::exec {

const Op* builtin_vprintf(WarpContext& c, const Op* op, const CallSite& site);
const Op* builtin_assertfail(WarpContext& c, const Op* op, const CallSite& site);
const Op* builtin_malloc(WarpContext& c, const Op* op, const CallSite& site);
const Op* builtin_free(WarpContext& c, const Op* op, const CallSite& site);
const Op* builtin_set_condition(WarpContext& c, const Op* op, const CallSite& site);

/// Copies bytes from one lane's generic address; false if any of them is inaccessible.
bool read_generic(WarpContext& c, u32 lane, u64 address, void* to, u32 bytes);

/// What printf writes, and how many arguments it has used: its result.
struct Printed {
    std::string text;
    int arguments = 0;
    std::optional<u64> unreadable;  ///< The address of the first string that isn't in any memory.
};

/// Formats text as the device's printf does, in the C locale. `arguments` holds the bytes of the
/// argument block; `text` returns the string at a generic address, if it is in any memory.
Printed format_printf(std::string_view format, std::span<const u8> arguments,
                      const std::function<std::optional<std::string>(u64)>& text);

}  // namespace lode::emulator::exec
