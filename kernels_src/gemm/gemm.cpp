#include "gemm/product.hpp"
#include "lode_kernels/workload.hpp"

#include <lode/runtime/tensor_map.hpp>

#include <array>
#include <span>
#include <utility>

#include <lode_embedded/gemm.hpp>

namespace LODE_NAMESPACE::kernels::gemm {
namespace {

/// The tensor maps of A, B and C for one row.
struct Maps {
    std::string row;
    TensorMap a;
    TensorMap b;
    TensorMap c;
};

/// A row-major matrix for TMA, whose boxes have 128 bytes in a row.
TiledTensor matrix_for_tma(const ElementFormat& format, NativeDevicePointer address,
                           std::uint64_t rows, std::uint64_t columns, std::uint32_t box_rows,
                           TensorL2Fetch l2_fetch = TensorL2Fetch::bytes_128) {
    return {.layout = {.type = format.type,
                       .address = address,
                       .extents = {columns, rows},
                       .strides_bytes = {columns * format.bytes},
                       .swizzle = TensorSwizzle::bytes_128,
                       .l2_fetch = l2_fetch},
            .box = {128 / format.bytes, box_rows}};
}

/// Multiples of 1/128 in [-1, 1), which are bfloat16 too.
std::vector<float> random_bias(std::size_t count, std::uint64_t seed) {
    auto bias = random_floats(count, seed);
    for (auto& x : bias)
        x = std::floor(x * 128) / 128;
    return bias;
}

/// Element is an integer of the size of A's and B's elements.
template <class Element>
class Gemm final : public Workload {
public:
    static Result<std::unique_ptr<Workload>> make(const Device& device, const Product& product,
                                                  const Problem& problem, std::uint64_t seed) {
        Inputs inputs{random_elements<Element>(product.in, problem.x * problem.z, seed),
                      random_elements<Element>(product.in, problem.y * problem.z, seed + 1),
                      random_bias(problem.y, seed + 2)};
        auto a = device.upload(inputs.a);
        if (!a) return tl::unexpected(a.error());
        auto b = device.upload(inputs.b);
        if (!b) return tl::unexpected(b.error());
        auto bias = device.upload(inputs.bias);
        if (!bias) return tl::unexpected(bias.error());
        auto c =
            Output<std::uint16_t>::create(device, problem.x * problem.y, product.out.not_a_number);
        if (!c) return tl::unexpected(c.error());
        return std::unique_ptr<Workload>(new Gemm(device, product, problem, std::move(inputs),
                                                  {*std::move(a), *std::move(b), *std::move(bias)},
                                                  *std::move(c)));
    }

    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        const auto m = static_cast<unsigned>(problem().x);
        const auto n = static_cast<unsigned>(problem().y);
        const auto k = static_cast<unsigned>(problem().z);
        const float scale = product_.scale;
        const float* const operand = product_.epilogue.empty() ? nullptr : on_device_.bias.data();
        if (!variant.row.needs.tensor_maps) {
            return launch_with(variant, stream, problem(), on_device_.a.data(), on_device_.b.data(),
                               c_.data(), m, n, k, scale, operand);
        }
        const WgmmaTile* const tile = tile_of(variant.row);
        if (!maps_ || maps_->row != variant.row.name) {
            auto maps = make_maps(variant.row.name, tile);
            if (!maps) return tl::unexpected(maps.error());
            maps_ = *maps;
        }
        if (tile == nullptr) {
            return launch_with(variant, stream, problem(), maps_->a, maps_->b, c_.data(), m, n, k,
                               scale, operand);
        }
        const auto bytes = tile->workspace_bytes(variant.shape(problem()));
        if (auto enough = reserve_workspace(bytes); !enough) return enough;
        return launch_with(variant, stream, problem(), maps_->a, maps_->b, maps_->c, m, n, k, scale,
                           operand, workspace_.data());
    }
    Status poison() override { return c_.poison(); }
    WorkloadData data() const override {
        return {{on_device_.a.data(), on_device_.b.data(), on_device_.bias.data()}, {c_.data()}};
    }

    Status check() const override {
        const auto c = c_.read();
        if (!c) return tl::unexpected(c.error());
        const std::size_t n = problem().y;
        const std::size_t k = problem().z;
        // All elements of small products, a sample for large ones.
        constexpr double affordable = 1 << 27;
        constexpr std::size_t sample = 2048;
        if (operations() / 2 <= affordable) {
            std::vector<float> columns(n * k);
            for (std::size_t column = 0; column < n; ++column)
                read_column(column, std::span(columns).subspan(column * k, k));
            return compare_rows(problem().x, n, [&](std::size_t row, Comparison& comparison) {
                std::vector<float> a(k);
                read_row(row, a);
                for (std::size_t column = 0; column < n; ++column) {
                    compare(comparison, *c, row * n + column, a,
                            std::span(columns).subspan(column * k, k));
                }
            });
        }
        Comparison comparison;
        std::mt19937_64 generator(c->size());
        std::vector<float> a(k);
        std::vector<float> b(k);
        for (std::size_t i = 0; i < sample; ++i) {
            const std::size_t index = generator() % c->size();
            read_row(index / n, a);
            read_column(index % n, b);
            compare(comparison, *c, index, a, b);
        }
        return comparison.result();
    }

    double bytes() const noexcept override {
        return static_cast<double>(sizeof(Element)) *
                   static_cast<double>(inputs_.a.size() + inputs_.b.size()) +
               2.0 * static_cast<double>(c_.size());
    }
    double operations() const noexcept override {
        return 2.0 * static_cast<double>(problem().x) * static_cast<double>(problem().y) *
               static_cast<double>(problem().z);
    }

private:
    struct Inputs {
        std::vector<Element> a;
        std::vector<Element> b;
        std::vector<float> bias;
    };
    struct OnDevice {
        DeviceBuffer<Element> a;
        DeviceBuffer<Element> b;
        DeviceBuffer<float> bias;
    };

    Gemm(Device device, const Product& product, const Problem& problem, Inputs inputs,
         OnDevice on_device, Output<std::uint16_t> c)
        : Workload(problem),
          device_(std::move(device)),
          product_(product),
          inputs_(std::move(inputs)),
          on_device_(std::move(on_device)),
          c_(std::move(c)) {}

    /// Makes the workspace large enough. Freeing the smaller one waits for launches that use it.
    Status reserve_workspace(std::uint64_t bytes) {
        if (bytes <= workspace_.size()) return {};
        auto workspace = device_.alloc<std::uint8_t>(bytes);
        if (!workspace) return tl::unexpected(workspace.error());
        if (auto zeroed = workspace->zero(); !zeroed) return zeroed;
        workspace_ = *std::move(workspace);
        return {};
    }
    [[nodiscard]] Result<Maps> make_maps(const std::string& row, const WgmmaTile* tile) const {
        constexpr std::uint32_t tcgen05_rows = 128;  // Rows of its boxes.
        const auto& [m, n, k] = problem();
        const auto l2_fetch =
            tile != nullptr ? tile->l2_fetch(problem(), product_) : TensorL2Fetch::bytes_128;
        const auto input = [&, k = k](const DeviceBuffer<Element>& matrix, bool mn_major,
                                      std::uint64_t rows, std::uint32_t box_rows) {
            return encode_tensor_map(
                device_,
                mn_major
                    ? matrix_for_tma(product_.in, matrix.native(), k, rows, 64, l2_fetch)
                    : matrix_for_tma(product_.in, matrix.native(), rows, k, box_rows, l2_fetch));
        };
        auto a = input(on_device_.a, product_.a_m_major, m,
                       tile != nullptr ? tile->a_box_rows() : tcgen05_rows);
        if (!a) return tl::unexpected(a.error());
        auto b = input(on_device_.b, product_.b_n_major, n,
                       tile != nullptr ? tile->b_box_rows() : tcgen05_rows);
        if (!b) return tl::unexpected(b.error());
        if (tile == nullptr) return Maps{row, *a, *b, {}};
        const auto c = encode_tensor_map(
            device_, matrix_for_tma(product_.out, c_.native(), m, n, WgmmaTile::c_box_rows));
        if (!c) return tl::unexpected(c.error());
        return Maps{row, *a, *b, *c};
    }

    void read_row(std::size_t row, std::span<float> to) const {
        read_line(inputs_.a, product_.a_m_major, problem().x, row, to);
    }
    void read_column(std::size_t column, std::span<float> to) const {
        read_line(inputs_.b, product_.b_n_major, problem().y, column, to);
    }
    /// One of `lines` lines along k, which are one after the other or side by side.
    void read_line(const std::vector<Element>& from, bool side_by_side, std::size_t lines,
                   std::size_t line, std::span<float> to) const {
        for (std::size_t i = 0; i < to.size(); ++i)
            to[i] =
                product_.in.to_float(from[side_by_side ? i * lines + line : line * to.size() + i]);
    }

    void compare(Comparison& comparison, const std::vector<std::uint16_t>& c, std::size_t index,
                 std::span<const float> a, std::span<const float> b) const {
        double sum = 0;
        double magnitude = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const double product = double{a[i]} * b[i];
            sum += product;
            magnitude += std::abs(product);
        }
        // Rounding of the result, and single-precision sums in any order; tensor cores may truncate
        // where IEEE rounds. Those of e4m3 keep 13 bits of a sum's fraction.
        const double of_sums = sizeof(Element) == 1 ? 0x1p-10 : 0x1p-18;
        sum *= product_.scale;
        magnitude *= product_.scale;
        double limit = magnitude * of_sums + 0x1p-24;
        if (product_.activation != nullptr) {
            // A peer may round the sum before its epilogue.
            limit += std::abs(sum) * product_.out.rounding;
            sum = product_.activation(sum + inputs_.bias[index % problem().y]);
        }
        comparison.add(index, product_.out.to_float(c[index]), sum,
                       std::abs(sum) * product_.out.rounding + limit);
    }

    Device device_;
    const Product& product_;
    Inputs inputs_;
    OnDevice on_device_;
    Output<std::uint16_t> c_;
    DeviceBuffer<std::uint8_t> workspace_;  ///< See Exchange in gemm_sm90a.cu.
    std::optional<Maps> maps_;
};

template <std::size_t index>
Result<std::unique_ptr<Workload>> make(const Device& device, const Problem& problem,
                                       std::uint64_t seed) {
    const Product& product = products()[index];
    return product.in.bytes == 1 ? Gemm<std::uint8_t>::make(device, product, problem, seed)
                                 : Gemm<std::uint16_t>::make(device, product, problem, seed);
}

template <std::size_t index>
FamilyEntry make_entry() {
    const Product& product = products()[index];
    return {.family = {std::string(product.family), rows_of(product), lode_embedded::gemm()},
            .folder = "gemm",
            .extents = "m, n, k",
            .test_problems = {{1, 1, 1},
                              {17, 40, 33},
                              {64, 64, 64},
                              {136, 56, 112},
                              {24, 40, 784},
                              {128, 256, 64},
                              {136, 264, 80},
                              {256, 512, 1024},
                              {1000, 1016, 1040}},
            .bench_problems = {{4096, 4096, 4096}, {8192, 8192, 8192}},
            .make = &make<index>};
}

template <std::size_t... indices>
std::vector<FamilyEntry> make_entries(std::index_sequence<indices...>) {
    return {make_entry<indices>()...};
}

}  // namespace

std::vector<FamilyEntry> entries() {
    return make_entries(std::make_index_sequence<product_count>());
}

}  // namespace LODE_NAMESPACE::kernels::gemm
