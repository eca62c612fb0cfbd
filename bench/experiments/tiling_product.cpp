// C = A·B with A of TILE_DIM columns: no shared memory, a tile of A in it, tiles of A and B (Best
// Practices Guide, "Shared Memory in Matrix Multiplication (C=AB)", table 2).
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE_DIM + y, column = blockIdx.x * TILE_DIM + x;
    float sum = 0;
#if TILES >= 1
    __shared__ float tile_a[TILE_DIM][TILE_DIM];
    tile_a[y][x] = a[row * TILE_DIM + x];
#endif
#if TILES >= 2
    __shared__ float tile_b[TILE_DIM][TILE_DIM];
    tile_b[y][x] = b[y * n + column];
#endif
#if TILES >= 1
    __syncthreads();  // A tile's row is one warp's only if TILE_DIM is 32.
#endif
    for (int k = 0; k < TILE_DIM; ++k) {
#if TILES == 0
        sum += a[row * TILE_DIM + k] * b[k * n + column];
#elif TILES == 1
        sum += tile_a[y][k] * b[k * n + column];
#else
        sum += tile_a[y][k] * tile_b[k][x];
#endif
    }
    c[row * n + column] = sum;
})";

void product(experiment::Bench& bench) {
    using namespace experiment;
    const std::size_t n = bench.size<std::size_t>(8192, 64);
    auto c = unwrap(bench.device.alloc<float>(n * n));
    for (const std::size_t tile : {16, 32}) {
        const auto a = [&](std::size_t i) { return static_cast<float>(i * 7 % 8); };
        const auto b = [&](std::size_t i) { return static_cast<float>(i * 5 % 16); };
        const auto device_a =
            bench.fill<float>(n * tile, [&](std::size_t i) { return a(i % 1021); });
        const auto device_b =
            bench.fill<float>(n * tile, [&](std::size_t i) { return b(i % 509); });
        const auto side = static_cast<std::uint32_t>(tile);
        const auto blocks = static_cast<std::uint32_t>(n / tile);
        const lode::LaunchShape shape{.grid = {blocks, blocks}, .block = {side, side}};
        Figure none;
        for (const int tiles : {0, 1, 2}) {
            const auto kernel = bench.load<void(const float*, const float*, float*, int)>(
                text, "product",
                {define("TILE_DIM", static_cast<long long>(tile)), define("TILES", tiles)});
            unwrap(c.zero());
            const auto time = bench.ms([&] {
                return kernel.launch(bench.stream, shape, device_a, device_b, c,
                                     static_cast<int>(n));
            });
            bench.expect(c, "every element is the inner product", [&](std::size_t i) {
                float sum = 0;  // Exact: the summands are small integers.
                for (std::size_t k = 0; k < tile; ++k)
                    sum += a((i / n * tile + k) % 1021) * b((k * n + i % n) % 509);
                return sum;
            });
            const double elements = static_cast<double>(n) * (2.0 * static_cast<double>(tile)) +
                                    static_cast<double>(n) * static_cast<double>(n);
            const auto bandwidth = Bench::gb_per_s(sizeof(float) * elements, time);
            const std::string name = "TILE_DIM " + std::to_string(tile) +
                                     (tiles == 0   ? ", no shared memory"
                                      : tiles == 1 ? ", A shared"
                                                   : ", A and B shared");
            bench.row(name, bandwidth, "GB/s",
                      reported(tiles == 0   ? "K20X: 6.6"
                               : tiles == 1 ? "K20X: 7.8"
                                            : "K20X: 14.9"));
            if (tiles == 0) none = bandwidth;
            if (tiles == 1)
                bench.row(name + ", gain", bandwidth / none, "x", at_least(1, "K20X: 1.18"));
            if (tiles == 2)
                bench.row(name + ", gain", bandwidth / none, "x", at_least(1.2, "K20X: 2.26"));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Tiles in shared memory make C = AB faster: 6.6, 7.8 and 14.9 GB/s on "
                           "a K20X. Newer caches narrow the gap.",
                           product);
}
