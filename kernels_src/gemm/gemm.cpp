#include "gemm/gemm.hpp"

#include <lode/kernels/gemm.hpp>

#include <algorithm>
#include <array>
#include <limits>

#include <lode_embedded/gemm.hpp>

namespace LODE_NAMESPACE::kernels {
namespace gemm {
namespace {

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

}  // namespace

KernelFamily family(const Product& product) {
    return {std::string(product.family), rows_of(product), lode_embedded::gemm()};
}

std::uint64_t workspace_bytes(const LoadedVariant& variant, const Problem& problem) {
    const WgmmaTile* const tile = tile_of(variant.row);
    return tile == nullptr ? 0 : tile->workspace_bytes(variant.shape(problem));
}

Result<Maps> encode_maps(const Device& device, const LoadedVariant& variant, const Problem& problem,
                         const Product& product, const Arguments& arguments) {
    if (!variant.row.needs.tensor_maps) return Maps{};
    constexpr std::uint32_t tcgen05_rows = 128;  // Rows of its boxes.
    const WgmmaTile* const tile = tile_of(variant.row);
    const auto& [m, n, k] = problem;
    const auto l2_fetch =
        tile != nullptr ? tile->l2_fetch(problem, product) : TensorL2Fetch::bytes_128;
    const auto input = [&, k = k](NativeDevicePointer matrix, bool mn_major, std::uint64_t rows,
                                  std::uint32_t box_rows) {
        return encode_tensor_map(
            device, mn_major ? matrix_for_tma(product.in, matrix, k, rows, 64, l2_fetch)
                             : matrix_for_tma(product.in, matrix, rows, k, box_rows, l2_fetch));
    };
    const auto a = input(arguments.a, product.a_m_major, m,
                         tile != nullptr ? tile->a_box_rows() : tcgen05_rows);
    if (!a) return tl::unexpected(a.error());
    const auto b = input(arguments.b, product.b_n_major, n,
                         tile != nullptr ? tile->b_box_rows() : tcgen05_rows);
    if (!b) return tl::unexpected(b.error());
    if (tile == nullptr) return Maps{*a, *b, {}};
    const auto c = encode_tensor_map(
        device, matrix_for_tma(product.out, arguments.c, m, n, WgmmaTile::c_box_rows));
    if (!c) return tl::unexpected(c.error());
    return Maps{*a, *b, *c};
}

Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const Maps& maps, const Arguments& arguments) {
    const auto m = static_cast<unsigned>(problem.x);
    const auto n = static_cast<unsigned>(problem.y);
    const auto k = static_cast<unsigned>(problem.z);
    const auto& [a, b, c, scale, operand, workspace] = arguments;
    if (!variant.row.needs.tensor_maps)
        return launch_with(variant, stream, problem, a, b, c, m, n, k, scale, operand);
    if (tile_of(variant.row) == nullptr)
        return launch_with(variant, stream, problem, maps.a, maps.b, c, m, n, k, scale, operand);
    return launch_with(variant, stream, problem, maps.a, maps.b, maps.c, m, n, k, scale, operand,
                       workspace);
}

}  // namespace gemm

namespace detail {
namespace {

const gemm::Product* product_of(GemmType type, const GemmOptions& options) {
    const std::array formats{&float16, &bfloat16, &float8};
    const auto* const in = formats.at(static_cast<std::size_t>(type));
    const auto found = std::ranges::find_if(gemm::products(), [&](const gemm::Product& product) {
        return &product.in == in && product.epilogue.empty() &&
               product.a_m_major == options.a_m_major && product.b_n_major == options.b_n_major;
    });
    return found == gemm::products().end() ? nullptr : &*found;
}

WorkspaceNeed need_of_gemm(const LoadedVariant& variant, const Problem& problem,
                           const NumberType&) {
    const auto bytes = gemm::workspace_bytes(variant, problem);
    constexpr std::uint64_t counters = gemm::WgmmaTile::most_split_tiles * 4;
    return {.bytes = bytes, .cleared = std::min(bytes, counters)};
}

}  // namespace

Result<LoadedGemm> load_gemm(const VariantLoader& loader, GemmType type,
                             const GemmOptions& options) {
    const auto* const product = product_of(type, options);
    if (product == nullptr) {
        return fail(Errc::not_supported,
                    "Products of e4m3 have no other layout than rows of k, for A and for B.");
    }
    auto compile = options.compile;
    if (!options.epilogue.empty())
        compile.definitions.push_back({"LODE_GEMM_EPILOGUE", options.epilogue});
    return Operation::load(loader, gemm::family(*product), std::move(compile), NumberType{},
                           &need_of_gemm, {1024, 1024, 1024})
        .map([&](OperationPointer operation) {
            return LoadedGemm{std::move(operation), product};
        });
}

Status run_gemm(const LoadedGemm& loaded, StreamRef stream, Elements a, Elements b, Elements c,
                const GemmSize& size, const GemmScaling& scaling, Workspace* workspace) {
    constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
    const auto& [m, n, k] = size;
    if (std::max({m, n, k}) > most) {
        return fail(Errc::invalid_argument, text_of("The product's extents are ", m, " x ", n,
                                                    " x ", k, ", but at most ", most, " each."));
    }
    auto valid = check_count("A of a product", a.count, m * k);
    if (valid) valid = check_count("B of a product", b.count, n * k);
    if (valid) valid = check_count("C of a product", c.count, m * n);
    if (valid) valid = check_aligned("A of a product", a);
    if (valid) valid = check_aligned("B of a product", b);
    if (valid) valid = check_aligned("C of a product", c);
    if (valid) valid = check_apart("C of a product", a, c);
    if (valid) valid = check_apart("C of a product", b, c);
    if (!valid || c.count == 0) return valid;
    if (k == 0)
        return fail(Errc::invalid_argument, "The products' k is 0: there is nothing to add up.");
    const Problem problem{m, n, k};
    return loaded.operation->run(
        stream, problem, {a, b, c, scaling.operand}, workspace,
        [&](const LoadedVariant& variant, void* work) -> Status {
            const gemm::Arguments arguments{.a = a.memory.address,
                                            .b = b.memory.address,
                                            .c = c.memory.address,
                                            .scale = scaling.scale,
                                            .operand = scaling.operand.data(),
                                            .workspace = work};
            const auto maps = gemm::encode_maps(loaded.operation->device(), variant, problem,
                                                *loaded.product, arguments);
            if (!maps) return tl::unexpected(maps.error());
            return gemm::launch(variant, stream, problem, *maps, arguments);
        });
}

}  // namespace detail
}  // namespace LODE_NAMESPACE::kernels
