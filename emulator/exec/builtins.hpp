// Functions that the device provides. builtins.cpp has printf, assert, malloc, free and
// cudaGraphSetConditional; device_calls.cpp has those of libcudadevrt.a.
#pragma once

#include "emulator/decode/code.hpp"
#include "emulator/exec/warp_context.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>

namespace lode::emulator::exec {

using BuiltinHandler = const Op* (*)(WarpContext& c, const Op* op, const CallSite& site);
/// By Builtin.
extern const BuiltinHandler builtin_handlers[];

#define LODE_BUILTIN(name, handler) \
    const Op* handler(WarpContext& c, const Op* op, const CallSite& site);
#define LODE_DEVICE_RUNTIME(name, handler) LODE_BUILTIN(name, handler)
#define LODE_NO_DEVICE_RUNTIME(name)
#include "emulator/decode/builtins.def"
#undef LODE_BUILTIN
#undef LODE_DEVICE_RUNTIME
#undef LODE_NO_DEVICE_RUNTIME

/// The value of a call's argument for one lane.
template <class T>
T argument(const WarpContext& c, const CallSite& site, std::size_t index, u32 lane) {
    T value{};
    if (index >= site.arguments.size()) return value;
    const ParameterRows rows = site.arguments[index];
    u8 bytes[sizeof(T)] = {};
    for (u32 w = 0; w < std::min<u32>(rows.rows(), (sizeof(T) + 3) / 4); ++w) {
        std::memcpy(bytes + w * 4, c.frame->registers + (rows.offset + w * 128 + lane * 4), 4);
    }
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

/// Sets a call's result for one lane.
template <class T>
void give_result(WarpContext& c, const CallSite& site, u32 lane, T value) {
    if (site.returns.empty()) return;
    const ParameterRows rows = site.returns[0];
    u8 bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof value);
    for (u32 w = 0; w < std::min<u32>(rows.rows(), sizeof(T) / 4); ++w) {
        std::memcpy(c.frame->registers + (rows.offset + w * 128 + lane * 4), bytes + w * 4, 4);
    }
}

/// Copies bytes from one lane's generic address; false if any of them is inaccessible.
bool read_generic(WarpContext& c, u32 lane, u64 address, void* to, u32 bytes);
/// Copies bytes to one lane's generic address; false, and nothing is written, if any of them is
/// inaccessible.
bool write_generic(WarpContext& c, u32 lane, u64 address, const void* from, u32 bytes);

/// What reports call the memory that this op allocates.
std::string heap_label(const WarpContext& c, const Op* op);
/// Allocates from the heap of kernels; 0 if its limit is reached.
u64 take_from_heap(Launch& launch, u64 asked, std::string_view label);
/// Frees memory of that heap. What is wrong with the address, for raise(), or nothing.
std::string give_to_heap(WarpContext& c, u64 address);

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
