// The options of a request as bytes: what writes and what reads visit the same list.
#pragma once

#include "jit/request/bytes.hpp"
#include "jit/request/nvrtc_call.hpp"
#include "jit/request/options_fields.hpp"
#include "jit/request/options_text.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE::worker {

inline void write(ByteWriter& out, const std::optional<std::string>& text) {
    out.flag(text.has_value());
    if (text) out.text(*text);
}
inline std::optional<std::string> read_optional(ByteReader& in) {
    if (!in.flag()) return std::nullopt;
    return in.text();
}

inline std::vector<std::byte> read_bytes(ByteReader& in) {
    const auto bytes = in.raw(in.number<std::uint64_t>());
    return {bytes.begin(), bytes.end()};
}

/// Writes a member; a visitor of each_field().
struct MemberWriter {
    ByteWriter& out;

    void operator()(const char* /*name*/, const auto& value, auto... /*flag*/) const { put(value); }

    void put(bool value) const { out.flag(value); }
    void put(int value) const { out.number(std::int32_t{value}); }
    template <class Value>
    void put(const std::optional<Value>& value) const {
        out.flag(value.has_value());
        put(value.value_or(Value{}));
    }
    void put(const std::vector<std::string>& texts) const { out.texts(texts); }
    void put(const std::vector<std::filesystem::path>& paths) const {
        out.list(paths, [&](const auto& path) { out.text(path.string()); });
    }
    void put(const std::vector<Definition>& definitions) const {
        out.list(definitions, [&](const Definition& definition) {
            out.text(definition.name);
            write(out, definition.value);
        });
    }
    void put(const std::vector<Header>& headers) const { write(out, headers); }
    void put(const Math& math) const { each_field(math, *this); }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void put(Enum value) const { out.number(static_cast<std::uint8_t>(value)); }
};

/// Reads what MemberWriter wrote.
struct MemberReader {
    ByteReader& in;

    void operator()(const char* /*name*/, auto& value, auto... /*flag*/) const { take(value); }

    void take(bool& value) const { value = in.flag(); }
    void take(int& value) const { value = in.number<std::int32_t>(); }
    template <class Value>
    void take(std::optional<Value>& value) const {
        const bool has_value = in.flag();
        Value read{};
        take(read);
        value = has_value ? std::optional(read) : std::nullopt;
    }
    void take(std::vector<std::string>& texts) const { texts = in.texts(); }
    void take(std::vector<std::filesystem::path>& paths) const {
        paths = in.list([&] { return std::filesystem::path(in.text()); });
    }
    void take(std::vector<Definition>& definitions) const {
        definitions = in.list([&] { return Definition{in.text(), read_optional(in)}; });
    }
    void take(std::vector<Header>& headers) const { headers = read_headers(in); }
    void take(Math& math) const { each_field(math, *this); }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void take(Enum& value) const {
        value = in.enumerator(static_cast<Enum>(names_of(value).size() - 1));
    }
};

}  // namespace LODE_NAMESPACE::worker
