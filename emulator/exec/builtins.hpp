// The functions that device code calls without defining them.
#pragma once

#include <emulator/exec/code.hpp>

namespace lode::emulator {

/// The device's own function of that name; none when there is no such.
Builtin builtin_named(std::string_view name) noexcept;

const Op* builtin_vprintf(Context& c, const Op* op, const CallSite& site);
const Op* builtin_assertfail(Context& c, const Op* op, const CallSite& site);
const Op* builtin_malloc(Context& c, const Op* op, const CallSite& site);
const Op* builtin_free(Context& c, const Op* op, const CallSite& site);

/// Copies bytes from one lane's generic address; false when some aren't accessible.
bool read_generic(Context& c, u32 lane, u64 address, void* to, u32 bytes);

/// One conversion of printf's format language, as the device supports it. `arguments` yields the
/// bytes of the argument block; `text` the string at a generic address.
std::string format_printf(std::string_view format, std::span<const u8> arguments,
                          const std::function<std::string(u64)>& text);

}  // namespace lode::emulator
