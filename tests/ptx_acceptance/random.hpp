// A random number generator whose sequence doesn't depend on the compiler or the library.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace lode::ptx_acceptance {

class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

    /// SplitMix64.
    std::uint64_t next() noexcept {
        state_ += 0x9E3779B97F4A7C15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31U);
    }
    std::size_t below(std::size_t bound) noexcept {
        return bound == 0 ? 0 : static_cast<std::size_t>(next() % bound);
    }
    bool one_in(std::size_t n) noexcept { return below(n) == 0; }

    template <typename Container>
    const auto& pick(const Container& from) noexcept {
        return from[below(std::size(from))];
    }
    template <typename T>
    void shuffle(std::vector<T>& values) noexcept {
        for (std::size_t k = values.size(); k > 1; --k)
            std::swap(values[k - 1], values[below(k)]);
    }

private:
    std::uint64_t state_;
};

}  // namespace lode::ptx_acceptance
