// Random choices that are the same on every machine for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace lode::oracle {

class Dice {
public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}

    /// A number in [0, limit); 0 if `limit` is 0.
    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : engine_() % limit; }
    bool percent(std::size_t chance) { return below(100) < chance; }
    template <class List>
    const auto& pick(const List& list) {
        return list[below(std::size(list))];
    }

private:
    std::mt19937_64 engine_;
};

/// The seed of one step. It doesn't depend on other steps, so steps can be left out.
[[nodiscard]] inline std::uint64_t seed_of_step(std::uint64_t seed, std::uint64_t step) {
    std::uint64_t mixed = seed * 0x9E3779B97F4A7C15ULL + step;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    return mixed ^ (mixed >> 31);
}

}  // namespace lode::oracle
