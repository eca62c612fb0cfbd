// The options of a request as bytes: what writes and what reads visit the same list.
#pragma once

#include "jit/bytes.hpp"
#include "jit/options_fields.hpp"
#include "jit/options_text.hpp"

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

inline void write(ByteWriter& out, const std::vector<std::string>& texts) {
    out.count(texts.size());
    for (const auto& text : texts)
        out.text(text);
}
inline std::vector<std::string> read_texts(ByteReader& in) {
    std::vector<std::string> texts;
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
        texts.push_back(in.text());
    return texts;
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
    void put(const std::vector<std::string>& texts) const { write(out, texts); }
    void put(const std::vector<std::filesystem::path>& paths) const {
        out.count(paths.size());
        for (const auto& path : paths)
            out.text(path.string());
    }
    void put(const std::vector<Definition>& definitions) const {
        out.count(definitions.size());
        for (const auto& [name, value] : definitions) {
            out.text(name);
            write(out, value);
        }
    }
    void put(const std::vector<Header>& headers) const {
        out.count(headers.size());
        for (const auto& [name, text] : headers) {
            out.text(name);
            out.long_text(text);
        }
    }
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
    void take(std::vector<std::string>& texts) const { texts = read_texts(in); }
    void take(std::vector<std::filesystem::path>& paths) const {
        for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
            paths.emplace_back(in.text());
    }
    void take(std::vector<Definition>& definitions) const {
        for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
            Definition definition;
            definition.name = in.text();
            definition.value = read_optional(in);
            definitions.push_back(std::move(definition));
        }
    }
    void take(std::vector<Header>& headers) const {
        for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
            Header header;
            header.name = in.text();
            header.text = in.long_text();
            headers.push_back(std::move(header));
        }
    }
    void take(Math& math) const { each_field(math, *this); }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void take(Enum& value) const {
        value = in.enumerator(static_cast<Enum>(names_of(value).size() - 1));
    }
};

}  // namespace LODE_NAMESPACE::worker
