// Matrix products by lode::kernels, on the software device: integers so small that no sum rounds.
#include "gemm/elements.hpp"
#include "tests/unit/kernels/operations_host.hpp"

#include <lode/kernels/gemm.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using lode::unwrap;
using lode::kernels::Gemm;
using lode::kernels::GemmOptions;
using lode::kernels::GemmSize;
using lode::kernels::GemmType;
using lode::test::check_refused;
using lode::test::Host;

namespace {

/// The bits of -1, 0 and 1.
constexpr std::array<std::array<unsigned, 3>, 3> bits{
    {{0xbc00, 0, 0x3c00}, {0xbf80, 0, 0x3f80}, {0xb8, 0, 0x38}}};

/// Multiplies random matrices, adds a bias to each column of twice the product, and takes what is
/// positive, if the options have an epilogue.
template <GemmType type>
void check_product(Host& host, const GemmOptions& options, const GemmSize& size) {
    using Input = typename Gemm<type>::Input;
    const auto& [m, n, k] = size;
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const auto gemm = unwrap(Gemm<type>::load(*host.machine.loader, options));
    std::mt19937 random(static_cast<unsigned>(m + n + k));
    const auto make = [&](std::size_t count) {
        std::vector<int> values(count);
        for (auto& value : values)
            value = static_cast<int>(random() % 3) - 1;
        return values;
    };
    const auto upload = [&](const std::vector<int>& values) {
        std::vector<Input> elements;
        for (const int value : values)
            elements.push_back(static_cast<Input>(bits[static_cast<int>(type)][value + 1]));
        return unwrap(host.device.upload(elements));
    };
    const auto a = make(m * k);
    const auto b = make(n * k);
    std::vector<float> bias(n);
    for (auto& x : bias)
        x = static_cast<float>(random() % 9) - 4;
    const auto on_device = unwrap(host.device.upload(bias));
    auto c = unwrap(host.device.upload(std::vector<std::uint16_t>(m * n, 0x7fff)));
    const bool is_plain = options.epilogue.empty();
    unwrap(gemm.run(host.stream, upload(a), upload(b), c, size,
                    {.scale = is_plain ? 1.0F : 2.0F, .operand = on_device}, host.workspace));
    const auto got = host.read(c);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < m * n; ++i) {
        const std::size_t row = i / n;
        const std::size_t column = i % n;
        int sum = 0;
        for (std::size_t l = 0; l < k; ++l)
            sum += a[options.a_m_major ? l * m + row : row * k + l] *
                   b[options.b_n_major ? l * n + column : column * k + l];
        const auto wanted = is_plain ? static_cast<float>(sum)
                                     : std::max(static_cast<float>(2 * sum) + bias[column], 0.0F);
        const float value = type == GemmType::f16 ? lode::kernels::half_to_float(got[i])
                                                  : lode::kernels::bfloat16_to_float(got[i]);
        if (value != wanted) ++wrong;
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("operations: Gemm multiplies every type and layout, with an epilogue of the host's") {
    Host host;
    if (!host.machine.compiles) return;
    check_product<GemmType::f16>(host, {}, {64, 64, 64});
    check_product<GemmType::f16>(host, {.b_n_major = true}, {17, 40, 33});
    const GemmOptions biased{.epilogue = "fmaxf(x + operand[column], 0)"};
    check_product<GemmType::bf16>(host, biased, {136, 56, 112});
    check_product<GemmType::bf16>(host, {.a_m_major = true, .b_n_major = true}, {64, 64, 80});
    check_product<GemmType::e4m3>(host, {}, {64, 64, 96});
}

TEST_CASE("operations: blocks of a product that share a tile use the workspace") {
    ::setenv("LODE_FORCE_VARIANT", "gemm_bf16:wgmma_128x128_split", 1);
    {
        Host host;
        if (!host.machine.compiles) return;
        check_product<GemmType::bf16>(host, {}, {24, 40, 784});
        check_product<GemmType::bf16>(host, {}, {136, 264, 328});
        const auto gemm = unwrap(Gemm<GemmType::bf16>::load(*host.machine.loader));
        CHECK(unwrap(gemm.workspace_bytes({24, 40, 784})) != 0);
    }
    ::unsetenv("LODE_FORCE_VARIANT");
}

TEST_CASE("operations: errors of products name the values and the limits") {
    Host host;
    if (!host.machine.compiles) return;
    const auto gemm = unwrap(Gemm<GemmType::f16>::load(*host.machine.loader));
    auto a = unwrap(host.device.alloc<std::uint16_t>(64));
    auto c = unwrap(host.device.alloc<std::uint16_t>(64));
    check_refused(gemm.run(host.stream, a, a, c, {8, 8, 9}),
                  "A of a product has 64 elements instead of 72.");
    check_refused(gemm.run(host.stream, a, a, a, {8, 8, 8}),
                  "C of a product overlaps its input by 128 bytes.");
    check_refused(gemm.run(host.stream, {}, {}, c, {8, 8, 0}), "k is 0");
    const auto wrong = Gemm<GemmType::e4m3>::load(*host.machine.loader, {.a_m_major = true});
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == lode::Errc::not_supported);
}
