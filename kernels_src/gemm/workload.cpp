#include "gemm/gemm.hpp"
#include "gemm/random_elements.hpp"

#include <array>
#include <span>
#include <utility>

namespace LODE_NAMESPACE::kernels::gemm {
namespace {

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
        if (!maps_ || row_ != variant.row.name) {
            auto maps = encode_maps(device_, variant, problem(), product_, arguments());
            if (!maps) return tl::unexpected(maps.error());
            maps_ = *maps;
            row_ = variant.row.name;
        }
        const auto bytes = workspace_bytes(variant, problem());
        if (auto enough = reserve_workspace(bytes); !enough) return enough;
        return gemm::launch(variant, stream, problem(), *maps_, arguments());
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
    [[nodiscard]] Arguments arguments() const {
        return {.a = on_device_.a.native(),
                .b = on_device_.b.native(),
                .c = c_.native(),
                .scale = product_.scale,
                .operand = product_.epilogue.empty() ? nullptr : on_device_.bias.data(),
                .workspace = workspace_.data()};
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
    std::string row_;  ///< Whose maps they are.
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
    return {.family = family(product),
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
