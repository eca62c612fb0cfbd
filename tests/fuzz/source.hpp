// Source: turns an input's bytes into the choices that a target makes.
#pragma once

#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace lode::fuzz {

/// Reads from the front; past the end all bytes are zero.
class Source {
public:
    explicit Source(Bytes bytes) noexcept : rest_(bytes) {}

    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }

    template <class Number = std::uint8_t>
    Number take() noexcept {
        Number number{};
        const std::size_t size = std::min(sizeof(Number), rest_.size());
        std::memcpy(&number, rest_.data(), size);
        rest_ = rest_.subspan(size);
        return number;
    }

    /// A number in [0, count); count is at least 1.
    std::size_t below(std::size_t count) noexcept {
        return (count <= 256 ? take<std::uint8_t>() : take<std::uint16_t>()) % count;
    }

    template <class Value, std::size_t count>
    Value one_of(const Value (&values)[count]) noexcept {
        return values[below(count)];
    }

    /// The next bytes unchanged, up to `size` of them.
    Bytes take_bytes(std::size_t size) noexcept {
        const Bytes taken = rest_.first(std::min(size, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }

private:
    Bytes rest_;
};

}  // namespace lode::fuzz
