// Reads through textures, the read-only cache (__ldg) and plain loads: a 3 x 3 stencil, where the
// texture's layout suits neighbours in both directions, and scattered look-ups (Best Practices
// Guide, "Texture Memory").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
#if HOW == 2
__device__ float at(cudaTextureObject_t image, const float*, int x, int y) { return tex2D<float>(image, x + 0.5f, y + 0.5f); }
#else
__device__ float at(cudaTextureObject_t, const float* image, int x, int y) {
    x = min(max(x, 0), SIDE - 1), y = min(max(y, 0), SIDE - 1);
    return HOW == 1 ? __ldg(image + y * SIDE + x) : ((volatile const float*)image)[y * SIDE + x];
}
#endif
extern "C" __global__ void read(cudaTextureObject_t texture, const float* image, float* out) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
#if STENCIL
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) sum += at(texture, image, x + dx, y + dy);
#else
    const unsigned where = (y * SIDE + x) * 2654435761u;
    sum = at(texture, image, where / 7 % SIDE, where / 65536 % SIDE);
#endif
    out[y * SIDE + x] = sum;
})";

void look_ups(experiment::Bench& bench) {
    using namespace experiment;
    const int side = bench.size(8192, 64);
    const auto n = static_cast<std::size_t>(side) * side;
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i)
        values[i] = static_cast<float>(i * 7919 % 1021);
    const auto image = unwrap(bench.device.upload(values));
    const auto array = unwrap(lode::Array<float>::create(
        bench.device, {static_cast<std::size_t>(side), static_cast<std::size_t>(side)}));
    unwrap(array.copy_from(values));
    const auto texture = unwrap(lode::Texture::create(array));
    auto out = unwrap(bench.device.alloc<float>(n));
    const auto blocks = static_cast<std::uint32_t>(side / 16);
    for (const int stencil : {1, 0}) {
        Figure plain;
        for (const int how : {0, 1, 2}) {
            const auto read = bench.load<void(unsigned long long, const float*, float*)>(
                text, "read",
                {define("HOW", how), define("STENCIL", stencil), define("SIDE", side)});
            unwrap(out.zero());
            const auto time = bench.ms([&] {
                return read.launch(bench.stream, {.grid = {blocks, blocks}, .block = {16, 16}},
                                   texture, image, out);
            });
            const auto pixel = [&](int x, int y) {
                return values[static_cast<std::size_t>(std::clamp(y, 0, side - 1)) * side +
                              std::clamp(x, 0, side - 1)];
            };
            bench.expect(out, "every element is right", [&](std::size_t i) {
                const auto where = static_cast<unsigned>(i) * 2654435761U;
                if (!stencil)
                    return pixel(static_cast<int>(where / 7 % side),
                                 static_cast<int>(where / 65536 % side));
                const int x = static_cast<int>(i % side);
                const int y = static_cast<int>(i / side);
                float sum = 0;  // Exact: the summands are small integers.
                for (int k = 0; k < 9; ++k)
                    sum += pixel(x + k % 3 - 1, y + k / 3 - 1);
                return sum;
            });
            constexpr const char* names[] = {", plain loads", ", __ldg", ", texture"};
            bench.row(std::string(stencil ? "3 x 3 stencil" : "scattered") + names[how], time, "ms",
                      reported());
            if (how == 0)
                plain = time;
            else
                bench.row("  gain", plain / time, "x", stencil ? at_least(1) : reported());
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Reads through the texture and read-only caches are faster than loads "
                           "for neighbours in two dimensions. Since 7.0 all share the L1 cache.",
                           look_ups);
}
