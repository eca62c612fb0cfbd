#include "emulator/debug/value.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include <fmt/format.h>

namespace lode::emulator::debug {

namespace {

using u8 = std::uint8_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

/// The most elements of an array that are shown, in one line and one below the other.
constexpr u64 most_in_line = 16;
constexpr u64 most_children = 1000;
constexpr int deepest = 3;

u64 bits_of(std::span<const u8> bytes) noexcept {
    u64 bits = 0;
    std::memcpy(&bits, bytes.data(), std::min<std::size_t>(bytes.size(), sizeof(bits)));
    return bits;
}

double half_of(u64 bits) noexcept {
    const int exponent = static_cast<int>(bits >> 10 & 0x1f);
    const auto fraction = static_cast<double>(bits & 0x3ff);
    double size =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 0x1f) size = fraction == 0 ? INFINITY : NAN;
    return (bits & 0x8000) != 0 ? -size : size;
}

Value make(const Type& type, u64 bits) {
    Value made{&type, std::vector<u8>(type.bytes), {}};
    std::memcpy(made.bytes.data(), &bits, made.bytes.size());
    return made;
}

Value part_of(const Value& whole, const Type& type, u64 offset) {
    Value made{&type, {}, {}};
    const u64 size = type.resolved().bytes;
    if (offset <= whole.bytes.size() && size <= whole.bytes.size() - offset) {
        const auto first = whole.bytes.begin() + static_cast<std::ptrdiff_t>(offset);
        made.bytes.assign(first, first + static_cast<std::ptrdiff_t>(size));
    }
    if (whole.address) made.address = *whole.address + offset;
    return made;
}

Value member_value(const Value& whole, const Member& member) {
    Value made = part_of(whole, *member.type, member.offset);
    if (member.bits == 0) return made;
    u64 bits = bits_of(made.bytes) >> member.first_bit;
    const unsigned unused = 64 - member.bits;
    const bool is_signed = member.type->resolved().kind == TypeKind::signed_integer;
    bits = is_signed ? static_cast<u64>(static_cast<i64>(bits << unused) >> unused)
                     : bits << unused >> unused;
    std::memcpy(made.bytes.data(), &bits, std::min(made.bytes.size(), sizeof(bits)));
    made.address.reset();
    return made;
}

std::string shown(const Value& value, int depth);

std::string shown_list(const Value& value, int depth) {
    const Type& type = value.type->resolved();
    if (depth == deepest) return "{...}";
    std::string text;
    const auto add = [&](const std::string& name, const Value& one) {
        text +=
            (text.empty() ? "" : ", ") + (name.empty() ? "" : name + " = ") + shown(one, depth + 1);
    };
    if (type.kind == TypeKind::structure) {
        for (const Member& member : type.members)
            add(member.name.empty() ? name_of(*member.type) : member.name,
                member_value(value, member));
        return "{" + text + "}";
    }
    for (u64 k = 0; k < std::min(type.count, most_in_line) && type.of != nullptr; ++k)
        add("", part_of(value, *type.of, k * type.of->resolved().bytes));
    if (type.count > most_in_line || type.count == 0) text += text.empty() ? "..." : ", ...";
    return "{" + text + "}";
}

std::string shown(const Value& value, int depth) {
    const Type& type = value.type->resolved();
    if (value.bytes.size() < type.bytes || (type.bytes == 0 && type.kind != TypeKind::array))
        return value.address ? "<unreadable>" : "<optimized out>";
    switch (type.kind) {
        case TypeKind::boolean:
            return integer_of(value) != 0 ? "true" : "false";
        case TypeKind::character: {
            const auto letter = static_cast<char>(integer_of(value));
            const bool is_shown = letter >= ' ' && letter <= '~';
            return fmt::format("{}{}", integer_of(value),
                               is_shown ? fmt::format(" '{}'", letter) : "");
        }
        case TypeKind::unsigned_integer:
            return fmt::format("{}", static_cast<u64>(integer_of(value)));
        case TypeKind::real:
            if (type.bytes == sizeof(float))
                return fmt::format("{}", static_cast<float>(real_of(value)));
            return fmt::format("{}", real_of(value));
        case TypeKind::enumeration: {
            const i64 number = integer_of(value);
            const auto found = std::ranges::find_if(
                type.enumerators, [&](const auto& one) { return one.second == number; });
            return found == type.enumerators.end() ? fmt::format("{}", number)
                                                   : fmt::format("{} ({})", found->first, number);
        }
        case TypeKind::pointer:
            return fmt::format("0x{:x}", bits_of(value.bytes));
        case TypeKind::array:
        case TypeKind::structure:
            return shown_list(value, depth);
        default:
            return fmt::format("{}", integer_of(value));
    }
}

}  // namespace

const Type type_bool{.kind = TypeKind::boolean, .name = "bool", .bytes = 1};
const Type type_int{.kind = TypeKind::signed_integer, .name = "int", .bytes = 4};
const Type type_unsigned{.kind = TypeKind::unsigned_integer, .name = "unsigned int", .bytes = 4};
const Type type_long{.kind = TypeKind::signed_integer, .name = "long", .bytes = 8};
const Type type_unsigned_long{
    .kind = TypeKind::unsigned_integer, .name = "unsigned long", .bytes = 8};
const Type type_float{.kind = TypeKind::real, .name = "float", .bytes = 4};
const Type type_double{.kind = TypeKind::real, .name = "double", .bytes = 8};

const Type type_byte{.kind = TypeKind::unsigned_integer, .name = "unsigned char", .bytes = 1};

Value value_of(bool number) {
    return make(type_bool, number ? 1 : 0);
}

Value value_of(i64 number) {
    const bool is_short = number == static_cast<std::int32_t>(number);
    return make(is_short ? type_int : type_long, static_cast<u64>(number));
}

Value value_of(double number) {
    return make(type_double, std::bit_cast<u64>(number));
}

bool is_integral(const Type& type) noexcept {
    const TypeKind kind = type.resolved().kind;
    return kind != TypeKind::other && kind != TypeKind::real && kind != TypeKind::array &&
           kind != TypeKind::structure;
}

i64 integer_of(const Value& value) noexcept {
    const Type& type = value.type->resolved();
    if (type.kind == TypeKind::real) return static_cast<i64>(real_of(value));
    u64 bits = bits_of(value.bytes);
    const bool is_signed = type.kind == TypeKind::signed_integer ||
                           type.kind == TypeKind::character || type.kind == TypeKind::enumeration;
    if (!is_signed || value.bytes.empty() || value.bytes.size() >= sizeof(bits))
        return static_cast<i64>(bits);
    const auto unused = static_cast<unsigned>(64 - 8 * value.bytes.size());
    return static_cast<i64>(bits << unused) >> unused;
}

double real_of(const Value& value) noexcept {
    const Type& type = value.type->resolved();
    const u64 bits = bits_of(value.bytes);
    if (type.kind == TypeKind::real) {
        if (type.bytes == sizeof(double)) return std::bit_cast<double>(bits);
        if (type.bytes == sizeof(float)) return std::bit_cast<float>(static_cast<unsigned>(bits));
        return half_of(bits);
    }
    const i64 number = integer_of(value);
    const bool is_negative = type.kind != TypeKind::unsigned_integer && number < 0;
    return is_negative ? static_cast<double>(number)
                       : static_cast<double>(static_cast<u64>(number));
}

bool is_true(const Value& value) noexcept {
    return value.type->resolved().kind == TypeKind::real ? real_of(value) != 0
                                                         : integer_of(value) != 0;
}

std::string text_of(const Value& value) {
    return shown(value, 0);
}

bool has_children(const Value& value) noexcept {
    const Type& type = value.type->resolved();
    return type.kind == TypeKind::structure || (type.kind == TypeKind::array && type.count != 0) ||
           (type.kind == TypeKind::pointer && type.of != nullptr && type.of->resolved().bytes != 0);
}

std::optional<Value> member_of(const Value& value, const std::string& name) {
    const Type& type = value.type->resolved();
    for (const Member& member : type.members) {
        if (member.name == name) return member_value(value, member);
        if (!member.name.empty()) continue;
        if (auto found = member_of(member_value(value, member), name)) return found;
    }
    return std::nullopt;
}

std::optional<Value> element_of(const Value& value, i64 index, const ReadMemory& read) {
    const Type& type = value.type->resolved();
    if (type.of == nullptr) return std::nullopt;
    const u64 size = type.of->resolved().bytes;
    const u64 offset = static_cast<u64>(index) * size;
    const bool has_count = type.count != 0 || !value.address;
    if (type.kind == TypeKind::array && has_count) {
        if (index < 0 || static_cast<u64>(index) >= type.count) return std::nullopt;
        return part_of(value, *type.of, offset);
    }
    if (type.kind != TypeKind::pointer && type.kind != TypeKind::array) return std::nullopt;
    const u64 first = type.kind == TypeKind::array ? *value.address : bits_of(value.bytes);
    const u64 address = first + offset;
    auto bytes = read(address, size);
    if (!bytes) return std::nullopt;
    return Value{type.of, *std::move(bytes), address};
}

std::vector<std::pair<std::string, Value>> children_of(const Value& value, const ReadMemory& read) {
    const Type& type = value.type->resolved();
    std::vector<std::pair<std::string, Value>> all;
    if (type.kind == TypeKind::structure) {
        for (const Member& member : type.members)
            all.emplace_back(member.name.empty() ? name_of(*member.type) : member.name,
                             member_value(value, member));
    } else if (type.kind == TypeKind::array) {
        for (u64 k = 0; k < std::min(type.count, most_children); ++k)
            if (auto one = element_of(value, static_cast<i64>(k), read))
                all.emplace_back(fmt::format("[{}]", k), *std::move(one));
    } else if (type.kind == TypeKind::pointer) {
        if (auto one = element_of(value, 0, read)) all.emplace_back("*", *std::move(one));
    }
    return all;
}

}  // namespace lode::emulator::debug
