// Source: an input's bytes as the choices that a target makes.
#pragma once

#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace lode::fuzz {

/// Reads from the front; behind the end everything is zero.
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

    /// One of `count` things; count is at least 1.
    std::size_t below(std::size_t count) noexcept {
        return (count <= 256 ? take<std::uint8_t>() : take<std::uint16_t>()) % count;
    }

    template <class Value, std::size_t count>
    Value one_of(const Value (&values)[count]) noexcept {
        return values[below(count)];
    }

    /// Up to `size` bytes, as they are.
    Bytes take_bytes(std::size_t size) noexcept {
        const Bytes taken = rest_.first(std::min(size, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }

private:
    Bytes rest_;
};

}  // namespace lode::fuzz
