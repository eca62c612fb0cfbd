// Cases with one thread per element.
#include <algorithm>
#include <cmath>

#include <tests/corpus/corpus.hpp>

namespace lode::corpus {

namespace {

unsigned cover(std::size_t count, unsigned block) {
    return static_cast<unsigned>((count + block - 1) / block);
}

void saxpy(Device& device, Check& check) {
    const int n = 1000;
    const auto x = floats(n, 1);
    const auto y = floats(n, 2);
    const auto dx = device.put(x);
    const auto dy = device.put(y);
    device.launch("saxpy", {cover(n, 128)}, {128}, Arguments::of(2.5f, dx, dy, n));
    std::vector<float> want(n);
    for (std::size_t k = 0; k < n; ++k)
        want[k] = std::fma(2.5f, x[k], y[k]);
    check.equal("y", device.get<float>(dy, n), want);
}

void daxpy(Device& device, Check& check) {
    const int n = 777;
    Random random(3);
    const auto x = Random::fill<double>(n, [&] { return random.real(-9, 9); });
    const auto dx = device.put(x);
    const auto dy = device.put(x);
    device.launch("daxpy", {3}, {96}, Arguments::of(0.3, dx, dy, n));
    std::vector<double> want(n);
    for (std::size_t k = 0; k < n; ++k)
        want[k] = std::fma(0.3, x[k], x[k]);
    check.equal("y", device.get<double>(dy, n), want);
}

void invert_bytes(Device& device, Check& check) {
    const int n = 999;
    Random random(4);
    const auto in = Random::fill<unsigned char>(n, [&] { return random.integer(0, 255); });
    const auto from = device.put(in);
    const auto to = device.zeros<unsigned char>(n);
    device.launch("invert_bytes", {cover(n, 256)}, {256}, Arguments::of(from, to, n));
    auto want = in;
    for (auto& byte : want)
        byte = static_cast<unsigned char>(255 - byte);
    check.equal("out", device.get<unsigned char>(to, n), want);
}

void scale4(Device& device, Check& check) {
    const int n = 300;
    const auto in = floats(4 * n, 5);
    const auto from = device.put(in);
    const auto to = device.zeros<float>(4 * n);
    device.launch("scale4", {cover(n, 64)}, {64}, Arguments::of(from, to, 1.5f, n));
    auto want = in;
    for (float& value : want)
        value *= 1.5f;
    check.equal("out", device.get<float>(to, 4 * n), want);
}

struct Affine {
    short shift;
    double factor;
    int table[5];
};

void by_struct(Device& device, Check& check) {
    const int n = 200;
    Random random(6);
    const auto in = Random::fill<short>(n, [&] { return random.integer(-30000, 30000); });
    const auto from = device.put(in);
    const auto to = device.zeros<long long>(n);
    const Affine p{-7, 1.25, {10, 20, 30, 40, 50}};
    device.launch("by_struct", {cover(n, 32)}, {32}, Arguments::of(p, from, to, n));
    std::vector<long long> want(n);
    for (std::size_t k = 0; k < n; ++k) {
        want[k] = static_cast<long long>(in[k] * p.factor) + p.shift + p.table[k % 5];
    }
    check.equal("out", device.get<long long>(to, n), want);
}

void spmv(Device& device, Check& check) {
    const int rows = 200;
    Random random(7);
    std::vector<int> row{0};
    std::vector<int> column;
    std::vector<float> value;
    const auto x = floats(rows, 8);
    std::vector<float> want;
    for (int r = 0; r < rows; ++r) {
        float sum = 0;
        for (int k = random.integer(0, 9); k > 0; --k) {
            column.push_back(random.integer(0, rows - 1));
            value.push_back(static_cast<float>(random.real(-1, 1)));
            sum = std::fma(value.back(), x[static_cast<std::size_t>(column.back())], sum);
        }
        row.push_back(static_cast<int>(column.size()));
        want.push_back(sum);
    }
    const auto y = device.zeros<float>(rows);
    device.launch("spmv", {cover(rows, 64)}, {64},
                  Arguments::of(device.put(row), device.put(column), device.put(value),
                                device.put(x), y, rows));
    check.equal("y", device.get<float>(y, rows), want);
}

void lower_bounds(Device& device, Check& check) {
    Random random(9);
    auto sorted = Random::fill<int>(500, [&] { return random.integer(0, 1000); });
    std::ranges::sort(sorted);
    const auto keys = Random::fill<int>(333, [&] { return random.integer(-5, 1005); });
    const auto at = device.zeros<int>(keys.size());
    device.launch("lower_bounds", {cover(keys.size(), 128)}, {128},
                  Arguments::of(device.put(sorted), static_cast<int>(sorted.size()),
                                device.put(keys), at, static_cast<int>(keys.size())));
    std::vector<int> want;
    for (const int key : keys) {
        want.push_back(static_cast<int>(std::ranges::lower_bound(sorted, key) - sorted.begin()));
    }
    check.equal("at", device.get<int>(at, keys.size()), want);
}

void polynomial(Device& device, Check& check) {
    const int n = 130;
    const auto weights = floats(16, 10);
    device.upload(device.global("weights"), std::as_bytes(std::span(weights)));
    const auto x = floats(n, 11);
    const auto y = device.zeros<float>(n);
    device.launch("polynomial", {cover(n, 64)}, {64}, Arguments::of(device.put(x), y, n));
    std::vector<float> want;
    for (const float v : x) {
        float sum = 0;
        for (std::size_t k = 16; k-- > 0;)
            sum = std::fma(sum, v, weights[k]);
        want.push_back(sum);
    }
    check.equal("y", device.get<float>(y, n), want);
    check.equal("launches", device.get<int>(device.global("launches"), 1), {1});
}

void mandelbrot(Device& device, Check& check) {
    const int width = 70;
    const int height = 50;
    const int limit = 100;
    const auto out = device.zeros<int>(width * height);
    device.launch("mandelbrot", {cover(width, 16), cover(height, 8)}, {16, 8},
                  Arguments::of(out, width, height, limit));
    // The compiler may contract operations, so escape times on the border may differ by a step.
    const auto got = device.get<int>(out, width * height);
    std::vector<int> inside;
    for (std::size_t k = 0; k < got.size(); ++k) {
        const bool valid = got[k] >= 0 && got[k] <= limit;
        inside.push_back(valid ? 1 : 0);
    }
    check.equal("escape times in range", inside, std::vector<int>(got.size(), 1));
    // The origin never escapes; a far corner escapes at once.
    check.equal("origin", {got[static_cast<std::size_t>(25 * width + 47)]},
                std::vector<int>{limit});
    check.equal("corner", {got[0]}, std::vector<int>{1});
}

void collatz(Device& device, Check& check) {
    const int n = 500;
    Random random(12);
    const auto start = Random::fill<unsigned>(n, [&] { return random.integer(1, 1000000); });
    const auto steps = device.zeros<unsigned>(n);
    device.launch("collatz", {cover(n, 128)}, {128}, Arguments::of(device.put(start), steps, n));
    std::vector<unsigned> want;
    for (const unsigned first : start) {
        unsigned count = 0;
        for (unsigned long long v = first; v != 1; ++count)
            v = v % 2 == 0 ? v / 2 : 3 * v + 1;
        want.push_back(count);
    }
    check.equal("steps", device.get<unsigned>(steps, n), want);
}

void early_exits(Device& device, Check& check) {
    const int n = 300;
    Random random(13);
    const auto in = Random::fill<int>(n, [&] { return random.integer(0, 1023); });
    const auto out = device.put(std::vector<int>(n, -1));
    device.launch("early_exits", {cover(n, 96)}, {96}, Arguments::of(device.put(in), out, n));
    std::vector<int> want;
    for (int v : in) {
        int r = 0;
        bool gone = false;
        for (int k = 0; k < 40 && !gone; ++k) {
            if (v % 7 == 3) break;
            if (v % 5 == 1) {
                v += 3;
                continue;
            }
            switch (v & 3) {
                case 0:
                    r += v;
                    break;
                case 1:
                    r ^= v;
                    break;
                case 2:
                    gone = true;
                    break;
                default:
                    v = v / 2 + 1;
                    break;
            }
            v = (v * 13 + 7) & 1023;
        }
        want.push_back(gone ? -1 : r);
    }
    check.equal("out", device.get<int>(out, n), want);
}

}  // namespace

void add_map_cases(std::vector<Case>& cases) {
    cases.push_back({"saxpy", "map.cu", saxpy});
    cases.push_back({"daxpy", "map.cu", daxpy});
    cases.push_back({"invert_bytes", "map.cu", invert_bytes});
    cases.push_back({"scale4", "map.cu", scale4});
    cases.push_back({"by_struct", "map.cu", by_struct});
    cases.push_back({"spmv", "sparse.cu", spmv});
    cases.push_back({"lower_bounds", "sparse.cu", lower_bounds});
    cases.push_back({"polynomial", "sparse.cu", polynomial});
    cases.push_back({"mandelbrot", "loops.cu", mandelbrot});
    cases.push_back({"collatz", "loops.cu", collatz});
    cases.push_back({"early_exits", "loops.cu", early_exits});
}

}  // namespace lode::corpus
