// Helpers shared by the scenes of loads and stores, for every kind of memory.
#pragma once

#include "tests/unit/emulator/exec/opcode_support.hpp"

namespace lode::emulator::exec::testing {

struct MemoryType {
    std::string name;
    u32 bytes;
    bool is_signed = false;
};
const std::vector<MemoryType>& memory_types();
/// Widths of the registers that can hold the type, smallest first.
std::vector<u32> register_widths(const MemoryType& type);

/// A kind of memory and how it is addressed.
enum class Place {
    global,
    shared,       ///< 32-bit addresses.
    shared_wide,  ///< 64-bit addresses.
    local,
    constant,
    generic_global,  ///< The kinds above, with generic addresses.
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

/// The number of threads in a scene that needs no particular number.
inline constexpr u32 scene_threads = 64;

/// The pattern of the threads' addresses.
enum class Pattern { rows, contiguous, reversed, uniform, alternating, guarded };
/// A thread's offset in bytes from the start of the memory: of the whole table, or of the thread's
/// own local memory.
u32 offset_of(Pattern pattern, u32 thread, u32 threads, u32 size);
/// Whether the guard lets the thread run.
bool runs(Pattern pattern, u32 thread);

/// Module-level declarations for a place.
std::string declarations(Place place);
/// PTX that copies the rows of the table at `row` (%in or %out) to the memory, puts the memory's
/// address plus the pattern's offset in %d2 (%r1 for Place::shared), and synchronizes the threads.
std::string prepare(Place place, Pattern pattern, u32 threads, u32 size, const std::string& row);
/// PTX that copies the memory's rows back to the table at `row`.
std::string copy_back(Place place, const std::string& row);
/// An operand such as "[%d2+16]".
std::string address(Place place, u32 offset);
/// "@%p1 " for the guarded pattern, otherwise empty.
std::string guard(Pattern pattern);
/// Words of the constant table, the same for all threads.
u64 constant_word(u32 index);

/// "{%r4, %r5}": `count` registers, starting with the fourth.
std::string registers(u32 width, u32 count);
std::string register_name(u32 width, u32 index);

/// Reads a value at byte `at` of a table.
template <class T>
T get_from(const Rows& rows, std::size_t at) {
    T value;
    std::memcpy(&value, reinterpret_cast<const char*>(rows.data()) + at, sizeof value);
    return value;
}

}  // namespace lode::emulator::exec::testing
