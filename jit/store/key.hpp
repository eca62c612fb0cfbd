// Cache keys: canonical text of everything that a compilation's result depends on, and its SHA-256.
//
//   key text = field*        field = name " " length ":" value "\n"
//
// The length delimits the value, so that no value can imitate another field. The full text is
// stored in the entry and compared on every hit; `lode cache why` shows where two key texts differ.
#pragma once

#include <lode/base/digest.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// A key: canonical text and its SHA-256.
struct Key {
    std::string text;
    Digest digest;

    friend bool operator==(const Key&, const Key&) = default;
};

/// Builds a key text field by field.
class KeyWriter {
public:
    KeyWriter() = default;
    /// Continues an existing text.
    explicit KeyWriter(std::string text) noexcept : text_(std::move(text)) {}

    /// Names contain neither blanks nor newlines; values may contain anything.
    KeyWriter& field(std::string_view name, std::string_view value);
    KeyWriter& field(std::string_view name, std::uint64_t value);

    /// Returns the key; the writer is empty afterwards.
    [[nodiscard]] Key finish();

private:
    std::string text_;
};

/// The fields of a key text, in order; nullopt if the text isn't a key text.
using KeyFields = std::vector<std::pair<std::string, std::string>>;
std::optional<KeyFields> key_fields(std::string_view text);

}  // namespace LODE_NAMESPACE::cache
