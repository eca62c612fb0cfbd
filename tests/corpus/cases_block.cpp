// Cases whose threads cooperate within a block.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <tests/corpus/corpus.hpp>

namespace lode::corpus {

namespace {

void reduce_tree(Device& device, Check& check) {
    const int n = 5000;
    const auto in = floats(n, 20);
    const auto out = device.zeros<float>(4);
    device.launch("reduce_tree", {4}, {256}, Arguments::of(device.put(in), out, n));
    const auto parts = device.get<float>(out, 4);
    const double sum = std::accumulate(in.begin(), in.end(), 0.0);
    const double got = std::accumulate(parts.begin(), parts.end(), 0.0);
    check.close("sum", std::vector<double>{got}, {sum}, 1e-5, 1e-3);
}

void reduce_shuffle(Device& device, Check& check) {
    const int n = 5000;
    const auto in = integers(n, 21, -1000, 1000);
    const auto out = device.zeros<int>(1);
    device.launch("reduce_shuffle", {5}, {192}, Arguments::of(device.put(in), out, n));
    check.equal("sum", device.get<int>(out, 1), {std::accumulate(in.begin(), in.end(), 0)});
}

void extremes(Device& device, Check& check) {
    const int n = 700;
    const auto in = integers(n, 22, -100000, 100000);
    const auto low = device.put(std::vector<int>{1 << 30});
    const auto high = device.put(std::vector<int>{-(1 << 30)});
    const auto bits = device.zeros<unsigned>(1);
    device.launch("extremes", {6}, {128}, Arguments::of(device.put(in), low, high, bits, n));
    check.equal("low", device.get<int>(low, 1), {*std::ranges::min_element(in)});
    check.equal("high", device.get<int>(high, 1), {*std::ranges::max_element(in)});
    unsigned want = 0;
    for (const int v : in)
        want |= 1u << (v & 31);
    check.equal("bits", device.get<unsigned>(bits, 1), {want});
}

void scan(Device& device, Check& check, std::string_view kernel, unsigned block) {
    const auto in = integers(2 * block, 23, -50, 50);
    const auto out = device.zeros<int>(in.size());
    device.launch(kernel, {2}, {block}, Arguments::of(device.put(in), out));
    std::vector<int> want(in.size());
    for (std::size_t b = 0; b < 2; ++b) {
        const auto first = in.begin() + static_cast<std::ptrdiff_t>(b * block);
        std::partial_sum(first, first + block,
                         want.begin() + static_cast<std::ptrdiff_t>(b * block));
    }
    check.equal("out", device.get<int>(out, in.size()), want);
}

void compact(Device& device, Check& check) {
    const int n = 1000;
    const auto in = integers(n, 24, 0, 5000);
    const auto out = device.zeros<int>(n);
    const auto count = device.zeros<int>(1);
    device.launch("compact", {8}, {128}, Arguments::of(device.put(in), out, count, n));
    std::vector<int> want;
    for (const int v : in) {
        if (v % 3 == 0) want.push_back(v);
    }
    check.equal("count", device.get<int>(count, 1), {static_cast<int>(want.size())});
    auto got = device.get<int>(out, want.size());
    std::ranges::sort(got);
    std::ranges::sort(want);
    check.equal("kept", got, want);
}

void histogram_shared(Device& device, Check& check) {
    const int n = 6000;
    Random random(25);
    const auto in = Random::fill<unsigned char>(n, [&] { return random.integer(0, 255); });
    const auto bins = device.zeros<unsigned>(256);
    device.launch("histogram_shared", {3}, {128}, Arguments::of(device.put(in), bins, n));
    std::vector<unsigned> want(256);
    for (const auto v : in)
        ++want[v];
    check.equal("bins", device.get<unsigned>(bins, 256), want);
}

void histogram_global(Device& device, Check& check) {
    const int n = 2000;
    Random random(26);
    const auto in = Random::fill<unsigned char>(n, [&] { return random.integer(0, 255); });
    const auto bins = device.zeros<unsigned long long>(16);
    device.launch("histogram_global", {16}, {128}, Arguments::of(device.put(in), bins, n));
    std::vector<unsigned long long> want(16);
    for (const auto v : in)
        ++want[v & 15];
    check.equal("bins", device.get<unsigned long long>(bins, 16), want);
}

void transpose(Device& device, Check& check, std::string_view kernel, Shape block) {
    const int width = 70;
    const int height = 45;
    const auto in = floats(width * height, 27);
    const auto out = device.zeros<float>(in.size());
    device.launch(kernel, {3, 2 * 32 / (kernel == "transpose_naive" ? block.y : 32)}, block,
                  Arguments::of(device.put(in), out, width, height));
    std::vector<float> want(in.size());
    for (std::size_t y = 0; y < height; ++y) {
        for (std::size_t x = 0; x < width; ++x)
            want[x * height + y] = in[y * width + x];
    }
    check.equal("out", device.get<float>(out, in.size()), want);
}

template <class T>
void matmul(Device& device, Check& check, std::string_view kernel, unsigned tile) {
    const std::size_t n = 64;
    Random random(28);
    const auto a = Random::fill<T>(n * n, [&] { return random.real(-1, 1); });
    const auto b = Random::fill<T>(n * n, [&] { return random.real(-1, 1); });
    const auto c = device.zeros<T>(n * n);
    const auto blocks = static_cast<unsigned>(n / tile);
    device.launch(kernel, {blocks, blocks}, {tile, tile},
                  Arguments::of(device.put(a), device.put(b), c, static_cast<int>(n)));
    std::vector<T> want(n * n);
    for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t col = 0; col < n; ++col) {
            T sum = 0;
            for (std::size_t k = 0; k < n; ++k)
                sum = std::fma(a[row * n + k], b[k * n + col], sum);
            want[row * n + col] = sum;
        }
    }
    check.equal("c", device.get<T>(c, n * n), want);
}

void stencil5(Device& device, Check& check) {
    const int width = 50;
    const int height = 40;
    const auto in = floats(width * height, 29);
    const auto out = device.zeros<float>(in.size());
    device.launch("stencil5", {4, 5}, {16, 8}, Arguments::of(device.put(in), out, width, height));
    std::vector<float> want(in.size());
    for (std::size_t y = 1; y + 1 < height; ++y) {
        for (std::size_t x = 1; x + 1 < width; ++x) {
            const std::size_t i = y * width + x;
            want[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
        }
    }
    check.close("out", device.get<float>(out, in.size()), want, 1e-6, 1e-6);
}

void stencil_shared(Device& device, Check& check) {
    const int n = 500;
    const auto in = floats(n, 30);
    const auto out = device.zeros<float>(n);
    device.launch("stencil_shared", {4}, {128}, Arguments::of(device.put(in), out, n),
                  130 * sizeof(float));
    std::vector<float> want(n);
    for (std::size_t i = 0; i < n; ++i) {
        const float left = i > 0 ? in[i - 1] : 0;
        const float right = i + 1 < n ? in[i + 1] : 0;
        want[i] = 0.25f * left + 0.5f * in[i] + 0.25f * right;
    }
    check.close("out", device.get<float>(out, n), want, 1e-6, 1e-7);
}

void life(Device& device, Check& check) {
    const int width = 33;
    const int height = 20;
    Random random(31);
    const auto in =
        Random::fill<unsigned char>(width * height, [&] { return random.integer(0, 1); });
    const auto out = device.zeros<unsigned char>(in.size());
    device.launch("life", {5, 3}, {8, 8}, Arguments::of(device.put(in), out, width, height));
    std::vector<unsigned char> want(in.size());
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            int sum = 0;
            for (int k = 0; k < 9; ++k) {
                const int nx = (x + k % 3 - 1 + width) % width;
                const int ny = (y + k / 3 - 1 + height) % height;
                if (k != 4) sum += in[static_cast<std::size_t>(ny * width + nx)];
            }
            const auto at = static_cast<std::size_t>(y * width + x);
            want[at] = sum == 3 || (sum == 2 && in[at] != 0) ? 1 : 0;
        }
    }
    check.equal("out", device.get<unsigned char>(out, in.size()), want);
}

void bitonic(Device& device, Check& check) {
    auto data = integers(1024, 32, -100000, 100000);
    const auto at = device.put(data);
    device.launch("bitonic", {2}, {256}, Arguments::of(at));
    std::sort(data.begin(), data.begin() + 512);
    std::sort(data.begin() + 512, data.end());
    check.equal("data", device.get<int>(at, data.size()), data);
}

void softmax(Device& device, Check& check) {
    const int width = 300;
    const auto in = floats(3 * width, 33, -5, 5);
    const auto out = device.zeros<float>(in.size());
    device.launch("softmax", {3}, {128}, Arguments::of(device.put(in), out, width));
    std::vector<float> want(in.size());
    for (std::size_t r = 0; r < 3; ++r) {
        double sum = 0;
        for (std::size_t k = 0; k < width; ++k)
            sum += std::exp(double{in[r * width + k]});
        for (std::size_t k = 0; k < width; ++k) {
            want[r * width + k] = static_cast<float>(std::exp(double{in[r * width + k]}) / sum);
        }
    }
    check.close("out", device.get<float>(out, in.size()), want, 2e-5);
}

}  // namespace

void add_block_cases(std::vector<Case>& cases) {
    cases.push_back({"reduce_tree", "reduce.cu", reduce_tree});
    cases.push_back({"reduce_shuffle", "reduce.cu", reduce_shuffle});
    cases.push_back({"extremes", "reduce.cu", extremes});
    cases.push_back(
        {"scan_shared", "scan.cu", [](Device& d, Check& c) { scan(d, c, "scan_shared", 512); }});
    cases.push_back(
        {"scan_warps", "scan.cu", [](Device& d, Check& c) { scan(d, c, "scan_warps", 352); }});
    cases.push_back({"compact", "scan.cu", compact});
    cases.push_back({"histogram_shared", "histogram.cu", histogram_shared});
    cases.push_back({"histogram_global", "histogram.cu", histogram_global});
    cases.push_back({"transpose_naive", "transpose.cu", [](Device& d, Check& c) {
                         transpose(d, c, "transpose_naive", {32, 4});
                     }});
    cases.push_back({"transpose_tiled", "transpose.cu", [](Device& d, Check& c) {
                         transpose(d, c, "transpose_tiled", {32, 8});
                     }});
    cases.push_back({"matmul_naive", "matmul.cu",
                     [](Device& d, Check& c) { matmul<float>(d, c, "matmul_naive", 8); }});
    cases.push_back({"matmul_tiled16", "matmul.cu",
                     [](Device& d, Check& c) { matmul<float>(d, c, "matmul_tiled16", 16); }});
    cases.push_back({"matmul_tiled32", "matmul.cu",
                     [](Device& d, Check& c) { matmul<float>(d, c, "matmul_tiled32", 32); }});
    cases.push_back({"matmul_double", "matmul.cu",
                     [](Device& d, Check& c) { matmul<double>(d, c, "matmul_double", 16); }});
    cases.push_back({"stencil5", "stencil.cu", stencil5});
    cases.push_back({"stencil_shared", "stencil.cu", stencil_shared});
    cases.push_back({"life", "stencil.cu", life});
    cases.push_back({"bitonic", "sort.cu", bitonic});
    cases.push_back({"softmax", "softmax.cu", softmax});
}

}  // namespace lode::corpus
