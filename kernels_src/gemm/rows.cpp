#include "gemm/product.hpp"
#include "lode_kernels/family.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace LODE_NAMESPACE::kernels::gemm {
namespace {

double relu(double x) noexcept {
    return std::max(x, 0.0);
}
double silu(double x) noexcept {
    return x / (1 + std::exp(-x));
}

constexpr std::string_view relu_of_biased = "relu(x + operand[column])";
constexpr std::string_view silu_of_biased = "silu(x + operand[column])";

constexpr std::array<Product, product_count> all_products{
    Product{.family = "gemm", .in = float16, .out = float16},
    Product{.family = "gemm_bf16", .in = bfloat16, .out = bfloat16},
    Product{.family = "gemm_bf16_nn", .in = bfloat16, .out = bfloat16, .b_n_major = true},
    Product{.family = "gemm_bf16_relu",
            .in = bfloat16,
            .out = bfloat16,
            .epilogue = relu_of_biased,
            .activation = relu},
    Product{.family = "gemm_bf16_silu",
            .in = bfloat16,
            .out = bfloat16,
            .epilogue = silu_of_biased,
            .activation = silu},
    Product{.family = "gemm_bf16_tn",
            .in = bfloat16,
            .out = bfloat16,
            .a_m_major = true,
            .b_n_major = true},
    Product{.family = "gemm_bf16_tt", .in = bfloat16, .out = bfloat16, .a_m_major = true},
    Product{.family = "gemm_fp8", .in = float8, .out = bfloat16, .scale = 0.375F},
    Product{.family = "gemm_nn", .in = float16, .out = float16, .b_n_major = true},
    Product{
        .family = "gemm_tn", .in = float16, .out = float16, .a_m_major = true, .b_n_major = true},
    Product{.family = "gemm_tt", .in = float16, .out = float16, .a_m_major = true},
};

/// The steps of 128 bytes along k.
std::uint64_t steps_of(const Problem& problem, const Product& product) noexcept {
    return ceil_div(problem.z * product.in.bytes, 128);
}

/// Why rows of this many elements don't start at multiples of 16 bytes, for the extent that they
/// run along.
std::optional<std::string> refuses_pitch(const char* extent, std::uint64_t elements,
                                         unsigned element_bytes) {
    const unsigned multiple = 16 / element_bytes;
    if (elements % multiple == 0) return std::nullopt;
    return text_of(extent, " = ", elements, " isn't a multiple of ", multiple);
}

std::optional<std::string> refuses_input_pitch(const Product& product, const Problem& problem) {
    const unsigned bytes = product.in.bytes;
    auto why = product.a_m_major ? refuses_pitch("m", problem.x, bytes)
                                 : refuses_pitch("k", problem.z, bytes);
    if (why) return why;
    return product.b_n_major ? refuses_pitch("n", problem.y, bytes)
                             : refuses_pitch("k", problem.z, bytes);
}

std::optional<std::string> refuses_any_pitch(const Product& product, const Problem& problem) {
    if (auto why = refuses_input_pitch(product, problem)) return why;
    return refuses_pitch("n", problem.y, product.out.bytes);
}

LaunchShape in_tiles(const Problem& problem, std::uint32_t tile_m, std::uint32_t tile_n,
                     std::uint32_t threads, std::uint32_t shared_bytes = 0) {
    return {.grid = {ceil_div(problem.x, tile_m) * ceil_div(problem.y, tile_n)},
            .block = {threads},
            .dynamic_shared_bytes = shared_bytes};
}

constexpr std::uint32_t tcgen05_shared_bytes = 4 * 32768 + 1024;      // As in gemm_sm100a.cu.
constexpr std::uint32_t mma_shared_bytes = 3 * (128 + 128) * 64 * 2;  // As in gemm_sm80.cu.
constexpr std::uint32_t mma_256x128_shared_bytes = 4 * (256 + 128) * 64 * 2;

LaunchShape tcgen05_shape(const Problem& problem, const VariantDeviceProperties&) {
    return in_tiles(problem, 128, 128, 128, tcgen05_shared_bytes);
}
LaunchShape mma_shape(const Problem& problem, const VariantDeviceProperties&) {
    return in_tiles(problem, 128, 128, 128, mma_shared_bytes);
}
LaunchShape mma_256x128_shape(const Problem& problem, const VariantDeviceProperties&) {
    return in_tiles(problem, 256, 128, 256, mma_256x128_shared_bytes);
}

/// About how many cycles a product takes if each multiprocessor multiplies one of the tiles at a
/// time, in the unit of WgmmaTile::estimate(). Fitted to measurements of an H200.
double mma_cycles(double tiles, const Problem& problem, const VariantDeviceProperties& properties,
                  double start, double rate) {
    const double turns = std::ceil(tiles / std::max(properties.multiprocessors, 1));
    return turns * (static_cast<double>(problem.z) + start) * rate;
}
double mma_estimate(const Problem& problem, const VariantDeviceProperties& properties) {
    return mma_cycles(ceil_div(problem.x, 128) * ceil_div(problem.y, 128) / 2.0, problem,
                      properties, 200, 27);
}
double mma_256x128_estimate(const Problem& problem, const VariantDeviceProperties& properties) {
    return mma_cycles(ceil_div(problem.x, 256) * ceil_div(problem.y, 128), problem, properties, 600,
                      22.7);
}
LaunchShape wmma_shape(const Problem& problem, const VariantDeviceProperties&) {
    return in_tiles(problem, 128, 128, 256);
}
LaunchShape tiled_shape(const Problem& problem, const VariantDeviceProperties&) {
    return in_tiles(problem, 64, 64, 256);
}

VariantRow wgmma_row(std::string_view name, const WgmmaTile& tile) {
    auto row = make_row(name, "gemm_sm90a.cu:gemm_wgmma", "sm_90a",
                        {.shared_bytes = tile.shared_bytes() + 16 * tile.stages,
                         .threads = static_cast<int>(tile.threads()),
                         .cluster = tile.cluster() > 1,
                         .tensor_maps = true},
                        nullptr, nullptr);
    row.definitions = tile.definitions();
    return row;
}

struct NamedTile {
    std::string_view name;
    WgmmaTile tile;
};
constexpr NamedTile tiles[] = {
#define LODE_VARIANT(...)
#define LODE_WGMMA(name, ...) {name, WgmmaTile{__VA_ARGS__}},
#include "gemm/variants.def"
#undef LODE_WGMMA
#undef LODE_VARIANT
};

/// The rows of the table, for any product.
std::vector<VariantRow> make_rows() {
    std::vector<VariantRow> rows;
#define LODE_VARIANT(...) rows.push_back(make_row(__VA_ARGS__));
#define LODE_WGMMA(name, ...) rows.push_back(wgmma_row(name, WgmmaTile{__VA_ARGS__}));
#include "gemm/variants.def"
#undef LODE_WGMMA
#undef LODE_VARIANT
    return rows;
}

/// Whether a row's source can be compiled for the product.
bool supports(const VariantRow& row, const Product& product) {
    const bool mn_major = product.a_m_major || product.b_n_major;
    const bool bytes = product.in.bytes == 1;
    if (row.name == "tcgen05") return !mn_major && !bytes;
    if (row.name.starts_with("mma")) return !bytes;
    if (row.name == "wmma") return !mn_major && &product.in == &float16;
    // Boxes of an MN-major matrix are 64 wide.
    const WgmmaTile* const tile = tile_of(row);
    return tile == nullptr || ((!product.a_m_major || tile->a_box_rows() % 64 == 0) &&
                               (!product.b_n_major || tile->b_box_rows() % 64 == 0));
}

}  // namespace

std::vector<Definition> Product::definitions() const {
    std::vector<Definition> list;
    if (&in == &bfloat16) list.push_back({"LODE_GEMM_BF16", "1"});
    if (&in == &float8) list.push_back({"LODE_GEMM_FP8", "1"});
    if (a_m_major) list.push_back({"LODE_GEMM_A_M_MAJOR", "1"});
    if (b_n_major) list.push_back({"LODE_GEMM_B_N_MAJOR", "1"});
    if (!epilogue.empty()) list.push_back({"LODE_GEMM_EPILOGUE", std::string(epilogue)});
    return list;
}

std::span<const Product> products() noexcept {
    return all_products;
}

const Product* find_product(std::string_view family) noexcept {
    const auto* const found = std::ranges::find(all_products, family, &Product::family);
    return found == all_products.end() ? nullptr : &*found;
}

std::uint32_t WgmmaTile::clusters(const Problem& problem) const noexcept {
    return ceil_div(problem.x, std::uint64_t{tile_m()} * cluster_m) *
           ceil_div(problem.y, std::uint64_t{columns} * cluster_n);
}

std::uint32_t WgmmaTile::parts(const Problem& problem, const VariantDeviceProperties& properties,
                               const Product& product) const {
    if (!split_k) return 1;
    const auto blocks = clusters(problem) * cluster();
    const auto resident = static_cast<std::uint32_t>(std::max(properties.multiprocessors, 1));
    const auto most = std::clamp<std::uint64_t>(steps_of(problem, product), 1,
                                                std::clamp(resident / blocks, 1U, most_parts));
    std::uint32_t best = 1;
    for (std::uint32_t parts = 2; parts <= most; ++parts) {
        if (cycles(problem, parts, product) < cycles(problem, best, product)) best = parts;
    }
    return best;
}

std::uint32_t WgmmaTile::resident_clusters(
    const VariantDeviceProperties& properties) const noexcept {
    const auto multiprocessors =
        static_cast<std::uint32_t>(std::max(properties.multiprocessors, 1));
    // 132 multiprocessors hold 30 clusters of four blocks at a time.
    const auto usable = cluster() > 2 ? multiprocessors * 91 / 100 : multiprocessors;
    return std::max(usable / cluster(), 1U);
}

LaunchShape WgmmaTile::shape(const Problem& problem, const VariantDeviceProperties& properties,
                             const Product& product) const {
    const auto parts_of_k = parts(problem, properties, product);
    // Blocks that share k have one tile.
    const auto used = split_k ? clusters(problem) * parts_of_k
                              : std::min(clusters(problem), resident_clusters(properties));
    return {.grid = {used * cluster()},
            .block = {threads()},
            .dynamic_shared_bytes = shared_bytes(),
            .programmatic_serialization = true,
            .cluster = {cluster()}};
}

std::uint64_t WgmmaTile::workspace_bytes(const LaunchShape& shape) const noexcept {
    if (!split_k) return 0;
    return (most_split_tiles + std::uint64_t{shape.grid.x} * tile_m() * columns) * 4;
}

TensorL2Fetch WgmmaTile::l2_fetch(const Problem& problem, const Product& product) const noexcept {
    constexpr std::uint64_t large = std::uint64_t{64} << 20;
    const auto& [m, n, k] = problem;
    const std::uint64_t bytes_of_c = m * n * product.out.bytes;
    const bool wide = columns == 256 && cluster() == 1 && bytes_of_c >= large &&
                      bytes_of_c > (m + n) * k * product.in.bytes;
    return wide ? TensorL2Fetch::bytes_256 : TensorL2Fetch::bytes_128;
}

double WgmmaTile::cycles(const Problem& problem, std::uint32_t parts,
                         const Product& product) const {
    // All constants are fitted to measurements of an H200.
    const auto& [m, n, k] = problem;
    const double area = tile_m() * static_cast<double>(columns);
    const double requested =
        static_cast<double>(tile_m()) / cluster_n + static_cast<double>(columns) / cluster_m;
    // A step's products take a cycle for 2048 pairs of halves, and longer if blocks wait for
    // others; a row's 128 bytes take two cycles to arrive. Blocks that share tiles have parts of k
    // of their own, and don't find them in the L2 cache.
    const double waiting = cluster() > 2 ? 1.1 : cluster() > 1 ? 1.05 : 1;
    const double arriving = split_k ? 2.3 * requested : 2.05 * (tile_m() + columns);
    double step = std::max(area / 32 * waiting, arriving);
    // Rows that don't start at multiples of 128 bytes are requested as two lines, which take two
    // cycles each.
    const auto pitches = (product.a_m_major ? m : k) | (product.b_n_major ? n : k);
    const double at_lines =
        static_cast<double>(std::gcd(pitches * product.in.bytes, std::uint64_t{128})) / 128;
    step = std::max(step, 2 * (2 - at_lines) * requested);
    const double steps = std::ceil(static_cast<double>(steps_of(problem, product)) / parts);
    // Each of the blocks that share a tile reads a share of all sums, of eight parts at a time.
    constexpr double together = 8;
    const double adding_up = 3400 + 0.4 * area * std::max(1.0, parts / together);
    return steps * step + (parts > 1 ? adding_up : 0);
}

double WgmmaTile::estimate(const Problem& problem, const VariantDeviceProperties& properties,
                           const Product& product) const {
    const auto parts_of_k = parts(problem, properties, product);
    const double turns =
        ceil_div(std::uint64_t{clusters(problem)} * parts_of_k, resident_clusters(properties));
    return turns * cycles(problem, parts_of_k, product) + (cluster() > 1 ? 1800 : 0);
}

std::vector<Definition> WgmmaTile::definitions() const {
    constexpr WgmmaTile defaults;
    std::vector<Definition> list;
    const auto add = [&](const char* name, std::uint32_t value, std::uint32_t usual) {
        if (value != usual) list.push_back({name, std::to_string(value)});
    };
    add("LODE_GEMM_COLUMNS", columns, defaults.columns);
    add("LODE_GEMM_ROWS", rows, defaults.rows);
    add("LODE_GEMM_CONSUMERS", consumers, defaults.consumers);
    add("LODE_GEMM_STAGES", stages, defaults.stages);
    add("LODE_GEMM_BOXES", boxes, defaults.boxes);
    add("LODE_GEMM_CLUSTER_M", cluster_m, defaults.cluster_m);
    add("LODE_GEMM_CLUSTER_N", cluster_n, defaults.cluster_n);
    add("LODE_GEMM_SPLIT_K", split_k ? 1 : 0, defaults.split_k ? 1 : 0);
    add("LODE_GEMM_GROUP", group, defaults.group);
    return list;
}

std::vector<VariantRow> rows_of(const Product& product) {
    auto rows = make_rows();
    std::erase_if(rows, [&](const VariantRow& row) { return !supports(row, product); });
    const auto definitions = product.definitions();
    for (auto& row : rows) {
        row.definitions.insert(row.definitions.end(), definitions.begin(), definitions.end());
        if (row.name == "wmma") {
            row.refuses = [&product](const Problem& problem) {
                return refuses_input_pitch(product, problem);
            };
        } else if (row.name != "tiled") {
            row.refuses = [&product](const Problem& problem) {
                return refuses_any_pitch(product, problem);
            };
        }
        if (row.name == "mma") row.estimate = mma_estimate;
        if (row.name == "mma_256x128") {
            row.estimate = mma_256x128_estimate;
            row.definitions.push_back({"LODE_GEMM_ROWS", "256"});
            row.definitions.push_back({"LODE_GEMM_STAGES", "4"});
        }
        const WgmmaTile* const tile = tile_of(row);
        if (tile == nullptr) continue;
        row.shape = [tile, &product](const Problem& problem,
                                     const VariantDeviceProperties& properties) {
            return tile->shape(problem, properties, product);
        };
        row.estimate = [tile, &product](const Problem& problem,
                                        const VariantDeviceProperties& properties) {
            return tile->estimate(problem, properties, product);
        };
        if (!tile->split_k) continue;
        row.refuses = [tile, &product](const Problem& problem) -> std::optional<std::string> {
            if (auto why = refuses_any_pitch(product, problem)) return why;
            const auto tiles = tile->clusters(problem) * tile->cluster();
            if (tiles <= WgmmaTile::most_split_tiles) return std::nullopt;
            return text_of("C has ", tiles, " tiles of ", tile->tile_m(), " x ", tile->columns,
                           ", more than ", std::uint32_t{WgmmaTile::most_split_tiles});
        };
    }
    return rows;
}

const WgmmaTile* tile_of(const VariantRow& row) noexcept {
    const auto* const found = std::ranges::find(tiles, row.name, &NamedTile::name);
    return found == std::end(tiles) ? nullptr : &found->tile;
}

}  // namespace LODE_NAMESPACE::kernels::gemm
