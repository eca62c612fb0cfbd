// Mutations of inputs, the same on every machine for the same seed.
#pragma once

#include "tests/fuzz/target.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace lode::fuzz {

/// splitmix64.
class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t bits() noexcept {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// A number in [0, count); 0 if `count` is 0.
    std::size_t below(std::size_t count) noexcept { return count == 0 ? 0 : bits() % count; }
    bool one_in(std::size_t count) noexcept { return below(count) == 0; }

private:
    std::uint64_t state_;
};

/// Changes `input` in a few places, in a way that suits the target. `other` is another input to
/// take parts from. The result has at most target.most bytes.
void mutate(const Target& target, std::string& input, std::string_view other, Random& random);

/// Mutates bits, bytes, numbers and blocks; `words` as in Target.
void mutate_bytes(std::string& input, std::string_view other, std::string_view words,
                  Random& random);

/// Mutates statements, opcodes, modifiers, operands and numbers of PTX.
void mutate_ptx(std::string& input, std::string_view other, Random& random);

}  // namespace lode::fuzz
