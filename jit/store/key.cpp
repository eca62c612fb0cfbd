#include "jit/store/key.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {

KeyWriter& KeyWriter::field(std::string_view name, std::string_view value) {
    text_ += fmt::format("{} {}:", name, value.size());
    text_ += value;
    text_ += '\n';
    return *this;
}

KeyWriter& KeyWriter::field(std::string_view name, std::uint64_t value) {
    return field(name, fmt::format("{}", value));
}

Key KeyWriter::finish() {
    const Digest digest = sha256(text_);
    return Key{std::exchange(text_, {}), digest};
}

std::optional<KeyFields> key_fields(std::string_view text) {
    KeyFields fields;
    while (!text.empty()) {
        const auto blank = text.find(' ');
        if (blank == std::string_view::npos) return std::nullopt;
        const std::string_view name = text.substr(0, blank);
        text.remove_prefix(blank + 1);
        std::size_t size = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), size);
        const auto digits = static_cast<std::size_t>(end - text.data());
        if (problem != std::errc{} || digits == text.size() || *end != ':') return std::nullopt;
        text.remove_prefix(digits + 1);
        if (size >= text.size() || text[size] != '\n') return std::nullopt;
        fields.emplace_back(name, text.substr(0, size));
        text.remove_prefix(size + 1);
    }
    return fields;
}

}  // namespace LODE_NAMESPACE::cache
