#include "lode_kernels/families.hpp"

#include "lode_kernels/common.hpp"

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
    row.needs.tensor_maps = needs.tensor_maps;
    row.shape = shape;
    if (refuses != nullptr) row.refuses = refuses;
    row.caveat = caveat;
    return row;
}

std::vector<std::uint32_t> random_words(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::vector<std::uint32_t> words(count);
    std::ranges::generate(words, [&] { return static_cast<std::uint32_t>(generator() >> 32); });
    return words;
}

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::vector<float> values(count);
    constexpr float scale = 1.0F / (1 << 23);
    std::ranges::generate(values, [&] {
        return static_cast<float>(static_cast<std::int32_t>(generator() >> 40) - (1 << 23)) * scale;
    });
    return values;
}

Status compare_words(std::span<const std::uint32_t> got, std::span<const std::uint32_t> wanted) {
    Comparison comparison;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        comparison.add(i, got[i], wanted[i], 0);
    return comparison.result();
}

std::span<const FamilyEntry> all() {
    static const std::vector<FamilyEntry> entries{
        gemm::entry(), gemm::bf16_entry(), histogram::entry(), reduce::entry(),
        scan::entry(), softmax::entry(),   transpose::entry(), vector::entry()};
    return entries;
}

const FamilyEntry* find(std::string_view name) noexcept {
    for (const auto& entry : all()) {
        if (entry.family.name == name) return &entry;
    }
    return nullptr;
}

}  // namespace lode::kernels
