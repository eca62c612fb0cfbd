// Value: bytes of a thread with their C++ type, as a debugger shows them.
#pragma once

#include "emulator/debug/dwarf.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lode::emulator::debug {

struct Value {
    const Type* type = nullptr;
    std::vector<std::uint8_t> bytes;       ///< As many as the type has.
    std::optional<std::uint64_t> address;  ///< Generic; none for what is in a register.
};

/// Bytes at a generic address, as the thread in focus sees them; nothing if it may not read them.
using ReadMemory = std::function<std::optional<std::vector<std::uint8_t>>(std::uint64_t address,
                                                                          std::uint64_t bytes)>;

// Types that exist without debug information.
extern const Type type_bool, type_int, type_unsigned, type_long, type_unsigned_long, type_float,
    type_double, type_byte;

[[nodiscard]] Value value_of(bool number);
[[nodiscard]] Value value_of(std::int64_t number);
[[nodiscard]] Value value_of(double number);

[[nodiscard]] bool is_integral(const Type& type) noexcept;
/// The number that an integer, a character, an enumerator, a boolean or a pointer is.
[[nodiscard]] std::int64_t integer_of(const Value& value) noexcept;
/// The same, or a real number.
[[nodiscard]] double real_of(const Value& value) noexcept;
/// Whether an operator such as && takes it for true.
[[nodiscard]] bool is_true(const Value& value) noexcept;

/// What a debugger shows in one line: "3", "1.5", "97 'a'", "{x = 1, y = 2}", "{0, 1, 2}".
[[nodiscard]] std::string text_of(const Value& value);

/// Members of a structure, elements of an array, what a pointer points to.
[[nodiscard]] std::vector<std::pair<std::string, Value>> children_of(const Value& value,
                                                                     const ReadMemory& read);
[[nodiscard]] bool has_children(const Value& value) noexcept;

/// One of them; nothing if there is none or it can't be read.
[[nodiscard]] std::optional<Value> member_of(const Value& value, const std::string& name);
/// Element `index` of an array, or of what a pointer points to.
[[nodiscard]] std::optional<Value> element_of(const Value& value, std::int64_t index,
                                              const ReadMemory& read);

}  // namespace lode::emulator::debug
