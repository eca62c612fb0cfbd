#include "lode_kernels/common.hpp"

#include <numeric>

#include <lode_embedded/scan.hpp>

namespace lode::kernels::scan {
namespace {

constexpr std::uint32_t bulk_threads = 512;       // As in scan_sm90.cu.
constexpr std::uint32_t bulk_tile_bytes = 65536;  // As in scan_sm90.cu.
constexpr std::uint32_t bulk_shared_bytes = 3 * bulk_tile_bytes;
constexpr std::uint32_t least_tile_bytes = 8192;  // Bytes of the smallest tile.
constexpr std::uint64_t first_word = 2;           // As in scan.cuh.

template <class Element>
std::uint32_t tiles_of(const Problem& problem, std::uint32_t tile_bytes) {
    return ceil_div(problem.x, tile_bytes / sizeof(Element));
}

template <class Element, std::uint32_t threads, std::uint32_t tile_bytes>
LaunchShape tile_shape(const Problem& problem, const VariantDeviceProperties&) {
    return {.grid = {tiles_of<Element>(problem, tile_bytes)}, .block = {threads}};
}

template <class Element>
LaunchShape bulk_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto most = std::max(1U, static_cast<std::uint32_t>(properties.multiprocessors));
    return {.grid = {std::min(tiles_of<Element>(problem, bulk_tile_bytes), most)},
            .block = {bulk_threads},
            .dynamic_shared_bytes = bulk_shared_bytes};
}

/// For rows that want all tiles to run at the same time. Wide elements take so many shuffles that
/// persistent blocks are faster from 4 MiB on.
template <class Element, std::uint64_t mebibytes, std::uint64_t mebibytes_if_wide>
std::optional<std::string> refuses_above(const Problem& problem) {
    constexpr std::uint64_t limit = sizeof(Element) == 8 ? mebibytes_if_wide : mebibytes;
    constexpr std::uint64_t most = (limit << 20) / sizeof(Element);
    if (problem.x <= most) return std::nullopt;
    return fmt::format("{} elements exceed the {} that it was made for", problem.x, most);
}

template <class Element>
class Scan final : public Workload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto values = random_summands<Element>(problem.x, seed);
        auto from = device.upload(values);
        if (!from) return tl::unexpected(from.error());
        auto to = Output<Element>::create(device, problem.x, static_cast<Element>(0xdeadbeefU));
        if (!to) return tl::unexpected(to.error());
        std::vector<std::uint64_t> words(first_word + tiles_of<Element>(problem, least_tile_bytes) *
                                                          sizeof(Element) / 4);
        // The epoch starts at the last one, so that the second launch is the first of a new round.
        words[0] = std::uint64_t{(1U << 30) - 1} << 32;
        auto state = device.upload(words);
        if (!state) return tl::unexpected(state.error());
        std::partial_sum(values.begin(), values.end(), values.begin());
        return std::unique_ptr<Workload>(new Scan(problem, std::move(values), *std::move(from),
                                                  *std::move(to), *std::move(state)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        return launch_with(variant, stream, problem(), from_.data(), to_.data(), state_.data(),
                           static_cast<unsigned long long>(problem().x));
    }
    Status poison() override { return to_.poison(); }
    WorkloadData data() const override { return {{from_.data()}, {to_.data()}}; }

    Status check() const override {
        const auto to = to_.read();
        if (!to) return tl::unexpected(to.error());
        return compare_equal<Element>(*to, sums_);
    }

    double bytes() const noexcept override {
        return 2.0 * sizeof(Element) * static_cast<double>(problem().x);
    }

private:
    Scan(const Problem& problem, std::vector<Element> sums, DeviceBuffer<Element> from,
         Output<Element> to, DeviceBuffer<std::uint64_t> state)
        : Workload(problem),
          sums_(std::move(sums)),
          from_(std::move(from)),
          to_(std::move(to)),
          state_(std::move(state)) {}

    std::vector<Element> sums_;
    DeviceBuffer<Element> from_;
    Output<Element> to_;
    DeviceBuffer<std::uint64_t> state_;
};

template <class Element>
FamilyEntry make_entry(std::string name, const char* element) {
    KernelFamily family{std::move(name), {}, lode_embedded::scan()};
#define LODE_VARIANT(...) family.rows.push_back(make_row(__VA_ARGS__));
#include "scan/variants.def"
#undef LODE_VARIANT
    if (element != nullptr) {
        for (auto& row : family.rows)
            row.definitions = {{"LODE_ELEMENT", element}};
    }
    return {.family = std::move(family),
            .folder = "scan",
            .extents = "elements",
            .test_problems = {{1}, {127}, {2048}, {16385}, {131072}, {1000003}, {10000019}},
            .bench_problems = {{1U << 16}, {1U << 20}, {1U << 24}, {1U << 27}},
            .make = &Scan<Element>::make};
}

}  // namespace

FamilyEntry entry() {
    return make_entry<std::uint32_t>("scan", nullptr);
}

FamilyEntry float_entry() {
    return make_entry<float>("scan_float", "float");
}

FamilyEntry int64_entry() {
    return make_entry<std::uint64_t>("scan_int64", "unsigned long long");
}

}  // namespace lode::kernels::scan
