// Loads and stores over every kind of memory: what the scenes of both have in common.
#pragma once

#include "tests/unit/emulator/exec/opcode_support.hpp"

namespace lode::emulator::exec::testing {

struct MemoryType {
    std::string name;
    u32 bytes;
    bool is_signed = false;
};
const std::vector<MemoryType>& memory_types();
/// Widths of the registers that may hold it, the smallest first.
std::vector<u32> register_widths(const MemoryType& type);

/// A kind of memory and the way to it.
enum class Place {
    global,
    shared,       ///< By 32-bit addresses.
    shared_wide,  ///< By 64-bit addresses.
    local,
    constant,
    generic_global,  ///< The others by generic addresses.
    generic_shared,
    generic_local,
    generic_constant,
};
inline constexpr Place places[] = {
    Place::global,         Place::shared,        Place::shared_wide,
    Place::local,          Place::constant,      Place::generic_global,
    Place::generic_shared, Place::generic_local, Place::generic_constant};
/// ".shared" and the like; empty for generic addresses.
std::string space_of(Place place);
bool is_local(Place place);
bool is_constant(Place place);
bool is_shared(Place place);

/// Threads of a scene that needs no particular number.
inline constexpr u32 scene_threads = 64;

/// How the threads' addresses lie to each other.
enum class Pattern { rows, contiguous, reversed, uniform, alternating, guarded };
/// Bytes from the start of the memory: the whole table, or a thread's own of local memory.
u32 offset_of(Pattern pattern, u32 thread, u32 threads, u32 size);
/// Whether the guard lets the thread run.
bool runs(Pattern pattern, u32 thread);

/// Module-level declarations of a place.
std::string declarations(Place place);
/// The memory gets the rows of the table that `row` (%in or %out) points into; its address plus
/// the pattern's offset goes to %d2 (to %r1 for Place::shared). Afterwards all threads are there.
std::string prepare(Place place, Pattern pattern, u32 threads, u32 size, const std::string& row);
/// The memory's rows go to the table that `row` points into.
std::string copy_back(Place place, const std::string& row);
/// "[%d2+16]"
std::string address(Place place, u32 offset);
/// "@%p1 " for the guarded pattern.
std::string guard(Pattern pattern);
/// The constant table's words, the same for everybody.
u64 constant_word(u32 index);

/// "{%r4, %r5}" of registers from the fourth on.
std::string registers(u32 width, u32 count);
std::string register_name(u32 width, u32 index);

/// The bytes of a table in one run.
template <class T>
T get_from(const Rows& rows, std::size_t at) {
    T value;
    std::memcpy(&value, reinterpret_cast<const char*>(rows.data()) + at, sizeof value);
    return value;
}

}  // namespace lode::emulator::exec::testing
