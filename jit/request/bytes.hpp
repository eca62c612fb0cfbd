// Bounds-checked reading and writing of little-endian bytes: files of the cache, messages of
// workers.
#pragma once

#include <lode/base/api.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

using Bytes = std::vector<std::byte>;

inline std::span<const std::byte> as_bytes(std::string_view text) noexcept {
    return std::as_bytes(std::span(text));
}
inline std::string_view as_text(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Appends numbers and length-delimited texts.
class ByteWriter {
public:
    template <class Number>
    void number(Number value) {
        static_assert(std::endian::native == std::endian::little);
        const std::size_t at = bytes_.size();
        bytes_.resize(at + sizeof(value));  // GCC 12 warns of an overflow in insert().
        std::memcpy(bytes_.data() + at, &value, sizeof(value));
    }
    void raw(std::span<const std::byte> bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    void text(std::string_view text) {
        number(static_cast<std::uint32_t>(text.size()));
        raw(as_bytes(text));
    }
    /// Text of any size: the length has 64 bits.
    void long_text(std::string_view text) {
        number(std::uint64_t{text.size()});
        raw(as_bytes(text));
    }
    void flag(bool value) { number(static_cast<std::uint8_t>(value)); }
    void count(std::size_t items) { number(static_cast<std::uint32_t>(items)); }
    /// The number of items, then what write(item) writes.
    void list(const auto& items, auto write) {
        count(items.size());
        for (const auto& item : items)
            write(item);
    }
    void texts(const std::vector<std::string>& items) {
        list(items, [&](const std::string& item) { text(item); });
    }

    [[nodiscard]] const Bytes& bytes() const noexcept { return bytes_; }
    [[nodiscard]] Bytes take() && { return std::move(bytes_); }

private:
    Bytes bytes_;
};

/// Reads what ByteWriter wrote; accepts any bytes. The first read past the end makes ok() false
/// permanently, and all later reads return zeros: check once, at the end.
class ByteReader {
public:
    explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

    template <class Number>
    Number number() noexcept {
        Number value{};
        const auto bytes = raw(sizeof(value));
        if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(value));
        return value;
    }
    std::span<const std::byte> raw(std::size_t size) noexcept {
        if (size > rest_.size()) {
            ok_ = false;
            rest_ = {};
            return {};
        }
        const auto taken = rest_.first(size);
        rest_ = rest_.subspan(size);
        return taken;
    }
    std::string text() { return std::string(as_text(raw(number<std::uint32_t>()))); }

    std::string long_text() { return std::string(as_text(raw(number<std::uint64_t>()))); }
    /// 0 or 1; any other value makes ok() false.
    bool flag() noexcept {
        const auto value = number<std::uint8_t>();
        if (value > 1) ok_ = false;
        return value == 1;
    }

    /// The number of items that follow. Zero, and ok() becomes false, if the rest is too short for
    /// one byte per item: no allocation is larger than the input.
    std::size_t count() noexcept {
        const std::size_t items = number<std::uint32_t>();
        if (items <= rest_.size()) return items;
        ok_ = false;
        rest_ = {};
        return 0;
    }
    /// What ByteWriter::list() wrote, each item by read().
    template <class Read>
    auto list(Read read) {
        std::vector<decltype(read())> items;
        for (std::size_t left = count(); left > 0 && ok_; --left)
            items.push_back(read());
        return items;
    }
    std::vector<std::string> texts() {
        return list([&] { return text(); });
    }
    /// An enumerator in [0, last]; any other value makes ok() false.
    template <class Enum>
    Enum enumerator(Enum last) noexcept {
        const auto value = number<std::uint8_t>();
        if (value > static_cast<std::uint8_t>(last)) ok_ = false;
        return ok_ ? static_cast<Enum>(value) : Enum{};
    }

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    /// Whether all bytes were read, with no error.
    [[nodiscard]] bool ended() const noexcept { return ok_ && rest_.empty(); }
    [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }

private:
    std::span<const std::byte> rest_;
    bool ok_ = true;
};

}  // namespace LODE_NAMESPACE
