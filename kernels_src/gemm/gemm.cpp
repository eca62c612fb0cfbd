#include "gemm/half.hpp"
#include "lode_kernels/common.hpp"

#include <lode/runtime/tensor_map.hpp>

#include <lode_embedded/gemm.hpp>

namespace lode::kernels::gemm {
namespace {

constexpr std::uint32_t tcgen05_shared_bytes = 4 * 32768 + 1024;  // As in gemm_sm100a.cu.
constexpr std::uint32_t wgmma_shared_bytes = 4 * 49152 + 1024;    // As in gemm_sm90a.cu.
constexpr std::uint32_t mma_shared_bytes = 4 * 16384;             // As in gemm_sm80.cu.
constexpr std::uint32_t swizzle_columns = 64;

/// The tile of C that a block computes; also the boxes that TMA copies: rows of A and of B.
struct Tile {
    std::uint32_t m;
    std::uint32_t n;

    friend bool operator==(const Tile&, const Tile&) = default;
};
constexpr Tile tcgen05_tile{128, 128};
constexpr Tile wgmma_tile{128, 256};

Tile tile_fed_by_tma(const VariantRow& row) {
    return row.name == "tcgen05" ? tcgen05_tile : wgmma_tile;
}

LaunchShape in_tiles(const Problem& problem, std::uint32_t tile) {
    return {.grid = {ceil_div(problem.x, tile) * ceil_div(problem.y, tile)}, .block = {256}};
}

LaunchShape tiled_shape(const Problem& problem, const VariantDeviceProperties&) {
    return in_tiles(problem, 64);
}

LaunchShape wmma_shape(const Problem& problem, const VariantDeviceProperties&) {
    return in_tiles(problem, 128);
}

LaunchShape mma_shape(const Problem& problem, const VariantDeviceProperties&) {
    LaunchShape shape = in_tiles(problem, 128);
    shape.dynamic_shared_bytes = mma_shared_bytes;
    return shape;
}

LaunchShape tcgen05_shape(const Problem& problem, const VariantDeviceProperties&) {
    LaunchShape shape = in_tiles(problem, tcgen05_tile.m);
    shape.block = {128};
    shape.dynamic_shared_bytes = tcgen05_shared_bytes;
    return shape;
}

LaunchShape wgmma_shape(const Problem& problem, const VariantDeviceProperties& properties) {
    const auto tiles = ceil_div(problem.x, wgmma_tile.m) * ceil_div(problem.y, wgmma_tile.n);
    const auto most = std::max(1U, static_cast<std::uint32_t>(properties.multiprocessors));
    return {.grid = {std::min(tiles, most)},
            .block = {384},
            .dynamic_shared_bytes = wgmma_shared_bytes};
}

std::optional<std::string> refuses_unless_k_eights(const Problem& problem) {
    if (problem.z % 8 == 0) return std::nullopt;
    return fmt::format("k = {} isn't a multiple of 8", problem.z);
}

std::optional<std::string> refuses_unless_eights(const Problem& problem) {
    if (problem.y % 8 == 0) return refuses_unless_k_eights(problem);
    return fmt::format("n = {} isn't a multiple of 8", problem.y);
}

/// The tensor maps of A and B for one tile.
struct Maps {
    Tile tile;
    TensorMap a;
    TensorMap b;
};

class Gemm final : public Workload {
public:
    template <const HalfFormat& format>
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                                  std::uint64_t seed) {
        auto a = random_halves(format, problem.x * problem.z, seed);
        auto b = random_halves(format, problem.y * problem.z, seed + 1);
        auto on_device_a = device.upload(a);
        if (!on_device_a) return tl::unexpected(on_device_a.error());
        auto on_device_b = device.upload(b);
        if (!on_device_b) return tl::unexpected(on_device_b.error());
        auto c = Output<std::uint16_t>::create(device, problem.x * problem.y, format.not_a_number);
        if (!c) return tl::unexpected(c.error());
        return std::unique_ptr<Workload>(new Gemm(device, problem, format, std::move(a),
                                                  std::move(b), *std::move(on_device_a),
                                                  *std::move(on_device_b), *std::move(c)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        const auto m = static_cast<unsigned>(problem().x);
        const auto n = static_cast<unsigned>(problem().y);
        const auto k = static_cast<unsigned>(problem().z);
        if (!variant.row.needs.tensor_maps) {
            return launch_with(variant, stream, problem(), a_.data(), b_.data(), c_.data(), m, n,
                               k);
        }
        if (const Tile tile = tile_fed_by_tma(variant.row); !maps_ || maps_->tile != tile) {
            auto a = map_of(a_, problem().x, tile.m);
            if (!a) return tl::unexpected(a.error());
            auto b = map_of(b_, problem().y, tile.n);
            if (!b) return tl::unexpected(b.error());
            maps_ = Maps{tile, *a, *b};
        }
        return launch_with(variant, stream, problem(), maps_->a, maps_->b, c_.data(), m, n, k);
    }
    Status poison() override { return c_.poison(); }
    WorkloadData data() const override { return {{a_.data(), b_.data()}, {c_.data()}}; }

    Status check() const override {
        const auto c = c_.read();
        if (!c) return tl::unexpected(c.error());
        Comparison comparison;
        // All elements of small products, a sample for large ones.
        constexpr double affordable = 1 << 27;
        constexpr std::size_t sample = 2048;
        const bool whole = operations() / 2 <= affordable;
        std::mt19937_64 generator(c->size());
        for (std::size_t i = 0; i < (whole ? c->size() : sample); ++i)
            compare(comparison, *c, whole ? i : generator() % c->size());
        return comparison.result();
    }

    double bytes() const noexcept override {
        return 2.0 * static_cast<double>(host_a_.size() + host_b_.size() + c_.size());
    }
    double operations() const noexcept override {
        return 2.0 * static_cast<double>(problem().x) * static_cast<double>(problem().y) *
               static_cast<double>(problem().z);
    }

private:
    Gemm(Device device, const Problem& problem, const HalfFormat& format,
         std::vector<std::uint16_t> host_a, std::vector<std::uint16_t> host_b,
         DeviceBuffer<std::uint16_t> a, DeviceBuffer<std::uint16_t> b, Output<std::uint16_t> c)
        : Workload(problem),
          device_(std::move(device)),
          format_(format),
          host_a_(std::move(host_a)),
          host_b_(std::move(host_b)),
          a_(std::move(a)),
          b_(std::move(b)),
          c_(std::move(c)) {}

    [[nodiscard]] Result<TensorMap> map_of(const DeviceBuffer<std::uint16_t>& matrix,
                                           std::uint64_t rows, std::uint32_t box_rows) const {
        return encode_tensor_map(device_, {.address = matrix.native(),
                                           .rows = rows,
                                           .columns = problem().z,
                                           .row_bytes = problem().z * 2,
                                           .box_rows = box_rows,
                                           .box_columns = swizzle_columns});
    }

    void compare(Comparison& comparison, const std::vector<std::uint16_t>& c,
                 std::size_t index) const {
        const std::size_t k = problem().z;
        const std::uint16_t* const row = host_a_.data() + index / problem().y * k;
        const std::uint16_t* const column = host_b_.data() + index % problem().y * k;
        double sum = 0;
        double magnitude = 0;
        for (std::size_t i = 0; i < k; ++i) {
            const double product = double{format_.to_float(row[i])} * format_.to_float(column[i]);
            sum += product;
            magnitude += std::abs(product);
        }
        // Rounding of the result, and single-precision sums in any order; tensor cores may truncate
        // where IEEE rounds.
        comparison.add(index, format_.to_float(c[index]), sum,
                       std::abs(sum) * format_.rounding + magnitude * 0x1p-18 + 0x1p-24);
    }

    Device device_;
    const HalfFormat& format_;
    std::vector<std::uint16_t> host_a_;
    std::vector<std::uint16_t> host_b_;
    DeviceBuffer<std::uint16_t> a_;
    DeviceBuffer<std::uint16_t> b_;
    Output<std::uint16_t> c_;
    std::optional<Maps> maps_;
};

std::vector<VariantRow> make_rows() {
    std::vector<VariantRow> rows;
#define LODE_VARIANT(...) rows.push_back(make_row(__VA_ARGS__));
#include "gemm/variants.def"
#undef LODE_VARIANT
    return rows;
}

FamilyEntry make_entry(std::string name, std::vector<VariantRow> rows,
                       decltype(FamilyEntry::make) make) {
    return {.family = {std::move(name), std::move(rows), lode_embedded::gemm()},
            .folder = "gemm",
            .extents = "m, n, k",
            .test_problems = {{1, 1, 1},
                              {17, 40, 33},
                              {64, 64, 64},
                              {128, 256, 64},
                              {130, 264, 72},
                              {256, 512, 1024},
                              {1000, 1016, 1032}},
            .bench_problems = {{4096, 4096, 4096}, {8192, 8192, 8192}},
            .make = make};
}

}  // namespace

FamilyEntry entry() {
    return make_entry("gemm", make_rows(), &Gemm::make<float16>);
}

FamilyEntry bf16_entry() {
    auto rows = make_rows();
    std::erase_if(rows, [](const VariantRow& row) { return row.name == "wmma"; });
    for (auto& row : rows)
        row.definitions = {{"LODE_GEMM_BF16", "1"}};
    return make_entry("gemm_bf16", std::move(rows), &Gemm::make<bfloat16>);
}

}  // namespace lode::kernels::gemm
