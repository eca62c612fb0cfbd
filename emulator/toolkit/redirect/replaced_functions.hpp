// The jumps from functions of a program to those of a stand-in, which is loaded at the first call.
#pragma once

#include <cstdint>

#include <link.h>

namespace lode::emulator::redirect {

/// What `write_jump` needs at a function's start.
constexpr std::uint64_t jump_bytes = 14;

/// Remembers the libraries that have dlmopen and dlsym.
void watch_library(const link_map& object) noexcept;

/// Begins with an object that contains a runtime of this version. Its stand-in, which lies in
/// `folder`, has a state of its own. False if there is no room for more.
bool add_object(unsigned major, const char* folder) noexcept;

/// The code that goes on in the newest object's stand-in for `name`, or nullptr if there is no room
/// for more functions. The name is logged if the stand-in lacks it, and the call returns
/// cudaErrorNotSupported.
const void* entry_of(const char* name) noexcept;

/// Writes a jump to `target` at `place`, whose memory must be writable.
void write_jump(unsigned char* place, const void* target) noexcept;

}  // namespace lode::emulator::redirect
