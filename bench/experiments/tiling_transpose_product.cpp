// C = A·Aᵀ: without shared memory the columns of A are read with a stride; with a tile, its columns
// lie in one bank; a padded tile has no conflicts (Best Practices Guide, "Shared Memory in Matrix
// Multiplication (C=AAT)", table 3).
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void product(const float* a, float* c, int n) {
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE_DIM + y, column = blockIdx.x * TILE_DIM + x;
    float sum = 0;
#if SHARED
    __shared__ float tile[TILE_DIM][TILE_DIM];
    __shared__ float transposed[TILE_DIM][TILE_DIM + PADDING];
    tile[y][x] = a[row * TILE_DIM + x];
    transposed[x][y] = a[(blockIdx.x * TILE_DIM + y) * TILE_DIM + x];
    __syncthreads();
    for (int k = 0; k < TILE_DIM; ++k) sum += tile[y][k] * transposed[k][x];
#else
    for (int k = 0; k < TILE_DIM; ++k) sum += a[row * TILE_DIM + k] * a[column * TILE_DIM + k];
#endif
    c[row * n + column] = sum;
})";

struct Variant {
    const char* name;
    int shared;
    int padding;
    const char* guide;
    double gain;
};

void product(experiment::Bench& bench) {
    using namespace experiment;
    constexpr std::size_t tile = 32;
    const std::size_t n = bench.size<std::size_t>(8192, 64);
    const auto a = [](std::size_t i) { return static_cast<float>(i * 7 % 1021 % 16); };
    const auto device_a = bench.fill<float>(n * tile, a);
    auto c = unwrap(bench.device.alloc<float>(n * n));
    const auto blocks = static_cast<std::uint32_t>(n / tile);
    const lode::LaunchShape shape{.grid = {blocks, blocks}, .block = {tile, tile}};
    Figure none;
    for (const Variant& variant : {Variant{"no shared memory", 0, 0, "M2090: 3.64", 1},
                                   Variant{"shared, 32-way conflicts", 1, 0, "M2090: 27.5", 1.5},
                                   Variant{"shared, padded by 1", 1, 1, "M2090: 39.2", 2}}) {
        const auto kernel = bench.load<void(const float*, float*, int)>(
            text, "product",
            {define("TILE_DIM", tile), define("SHARED", variant.shared),
             define("PADDING", variant.padding)});
        unwrap(c.zero());
        const auto time = bench.ms(
            [&] { return kernel.launch(bench.stream, shape, device_a, c, static_cast<int>(n)); });
        bench.expect(c, "every element is the inner product", [&](std::size_t i) {
            float sum = 0;  // Exact: the summands are small integers.
            for (std::size_t k = 0; k < tile; ++k)
                sum += a(i / n * tile + k) * a(i % n * tile + k);
            return sum;
        });
        const double elements = static_cast<double>(n) * static_cast<double>(tile + n);
        const auto bandwidth = Bench::gb_per_s(sizeof(float) * elements, time);
        bench.row(variant.name, bandwidth, "GB/s", reported(variant.guide));
        if (variant.shared == 0)
            none = bandwidth;
        else
            bench.row(std::string(variant.name) + ", gain", bandwidth / none, "x",
                      at_least(variant.gain, variant.padding ? "M2090: 10.8" : "M2090: 7.6"));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Shared memory removes strided reads and padding removes bank "
                           "conflicts: 3.64, 27.5 and 39.2 GB/s on a M2090.",
                           product);
}
