// The product of square matrices, by elements and by tiles in shared memory: A and B are read
// n / BLOCK_SIZE times instead of n times (Programming Guide, "Shared Memory"). Matrices are
// structures passed by value.
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
struct Matrix {
    int width;
    float* elements;
};
extern "C" __global__ void multiply(Matrix a, Matrix b, Matrix c) {
    const int x = threadIdx.x, y = threadIdx.y, n = a.width;
    const int row = blockIdx.y * BLOCK_SIZE + y, column = blockIdx.x * BLOCK_SIZE + x;
    float sum = 0;
#if TILED
    __shared__ float tile_a[BLOCK_SIZE][BLOCK_SIZE], tile_b[BLOCK_SIZE][BLOCK_SIZE];
    for (int first = 0; first < n; first += BLOCK_SIZE) {
        tile_a[y][x] = a.elements[row * n + first + x];
        tile_b[y][x] = b.elements[(first + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK_SIZE; ++k) sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();
    }
#else
    for (int k = 0; k < n; ++k) sum += a.elements[row * n + k] * b.elements[k * n + column];
#endif
    c.elements[row * n + column] = sum;
})";

struct Matrix {
    int width;
    float* elements;
};

void multiply(experiment::Bench& bench) {
    using namespace experiment;
    const int n = bench.size(2048, 64);
    const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const auto a = [](std::size_t i) { return static_cast<float>(i * 7919 % 13); };
    const auto b = [](std::size_t i) { return static_cast<float>(i * 6133 % 11); };
    const auto device_a = bench.fill<float>(count, a);
    const auto device_b = bench.fill<float>(count, b);
    auto c = unwrap(bench.device.alloc<float>(count));
    Figure simple;
    for (const int block : {16, 32}) {
        for (const int tiled : {0, 1}) {
            const auto kernel = bench.load<void(Matrix, Matrix, Matrix)>(
                text, "multiply", {define("BLOCK_SIZE", block), define("TILED", tiled)});
            const auto side = static_cast<std::uint32_t>(block);
            const auto blocks = static_cast<std::uint32_t>(n / block);
            unwrap(c.zero());
            const auto time = bench.ms([&] {
                return kernel.launch(
                    bench.stream, {.grid = {blocks, blocks}, .block = {side, side}},
                    Matrix{n, device_a.data()}, Matrix{n, device_b.data()}, Matrix{n, c.data()});
            });
            const auto found = unwrap(c.to_vector());
            for (std::size_t i = 0; i < count; i += bench.size<std::size_t>(4099, 1)) {
                float sum = 0;  // Exact: the summands are small integers.
                for (int k = 0; k < n; ++k)
                    sum += a(i / n * n + k) * b(static_cast<std::size_t>(k) * n + i % n);
                check(found[i] == sum, "every element is the inner product");
            }
            const auto speed = Bench::gb_per_s(2.0 * static_cast<double>(count) * n / 1e3, time);
            const std::string name =
                "BLOCK_SIZE " + std::to_string(block) + (tiled ? ", tiles" : ", elements");
            bench.row(name, speed, "Tflop/s", reported());
            if (!tiled)
                simple = speed;
            else
                bench.row("  gain", speed / simple, "x",
                          at_least(1.1, "1/BLOCK_SIZE of the reads"));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(
        argc, argv,
        "Tiles in shared memory divide the reads of global memory by BLOCK_SIZE. "
        "The L1 cache does part of that by itself today.",
        multiply);
}
