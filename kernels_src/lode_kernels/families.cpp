#include "lode_kernels/families.hpp"

#include "lode_kernels/common.hpp"

#include <thread>

namespace lode::kernels {

VariantRow make_row(std::string_view name, std::string_view source, std::string_view arch,
                    const Needs& needs, Shape shape, Refusal refuses, std::string_view caveat) {
    VariantRow row;
    row.name = name;
    const auto slash = source.find(':');
    row.source = source.substr(0, slash);
    row.kernel = source.substr(slash + 1);
    // The tables are constants: a name that can't be parsed gives 0.0, which the test of
    // check_family and every use of the row would reveal.
    row.needs.arch = Arch::parse(arch).value_or(Arch());
    row.needs.shared_bytes_per_block = needs.shared_bytes;
    row.needs.threads_per_block = needs.threads;
    row.needs.cluster_launch = needs.cluster;
    row.needs.cooperative_launch = needs.cooperative;
    row.needs.tensor_maps = needs.tensor_maps;
    row.shape = shape;
    if (refuses != nullptr) row.refuses = refuses;
    row.caveat = caveat;
    return row;
}

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
        auto list = gemm::entries();
        for (auto make : {&histogram::entry,
                          &layer_norm::entry,
                          &select::partition_entry,
                          &select::partition_float_entry,
                          &select::partition_int64_entry,
                          &reduce::entry,
                          &reduce::float_entry,
                          &reduce::int64_entry,
                          &scan::entry,
                          &scan::float_entry,
                          &scan::int64_entry,
                          &select::entry,
                          &select::float_entry,
                          &select::int64_entry,
                          &softmax::entry,
                          &sort::entry,
                          &sort::float_entry,
                          &sort::int64_entry,
                          &sort::pairs_entry,
                          &transpose::entry,
                          &vector::entry})
            list.push_back(make());
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

}  // namespace lode::kernels
