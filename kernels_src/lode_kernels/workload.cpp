#include "lode_kernels/workload.hpp"

#include <iterator>
#include <thread>

namespace LODE_NAMESPACE::kernels {

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) noexcept {
    std::uint64_t bits = seed * 0xd1342543de82ef95U + (index + 1) * 0x9e3779b97f4a7c15U;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebU;
    return bits ^ bits >> 31;
}

void in_parts(std::size_t count,
              const std::function<void(std::size_t first, std::size_t last)>& work) {
    constexpr std::size_t least = std::size_t{1} << 20;  // Not worth a thread.
    const std::size_t threads = std::clamp<std::size_t>(
        count / least, 1, std::max(1U, std::thread::hardware_concurrency()));
    std::vector<std::jthread> running;
    for (std::size_t i = 1; i < threads; ++i)
        running.emplace_back(work, count * i / threads, count * (i + 1) / threads);
    work(0, count / threads);
}

std::vector<std::uint32_t> random_words(std::size_t count, std::uint64_t seed) {
    return random_values<std::uint32_t>(
        count, seed, [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 32); });
}

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
    constexpr float scale = 1.0F / (1 << 23);
    return random_values<float>(count, seed, [](std::uint64_t bits) {
        return static_cast<float>(static_cast<std::int32_t>(bits >> 40) - (1 << 23)) * scale;
    });
}

bool is_small(const FamilyEntry& entry, const Problem& problem) noexcept {
    constexpr std::uint64_t most = 1 << 20;
    if (entry.family.name == "histogram") return problem.x + problem.y <= most;
    return problem.x * problem.y * problem.z <= most;
}

std::span<const FamilyEntry> all() {
    static const std::vector<FamilyEntry> entries = [] {
        std::vector<FamilyEntry> list;
        const auto add = [&](std::vector<FamilyEntry> more) {
            std::ranges::move(more, std::back_inserter(list));
        };
        add(gemm::entries());
        add({histogram::entry(), layer_norm::entry()});
        add(reduce::entries());
        add(scan::entries());
        add(select::entries());
        add({softmax::entry()});
        add(sort::entries());
        add({transpose::entry(), vector::entry()});
        std::ranges::sort(list, {}, [](const FamilyEntry& entry) { return entry.family.name; });
        return list;
    }();
    return entries;
}

const FamilyEntry* find(std::string_view name) noexcept {
    for (const auto& entry : all()) {
        if (entry.family.name == name) return &entry;
    }
    return nullptr;
}

}  // namespace LODE_NAMESPACE::kernels
