// Arithmetic: integers exactly, functions within a few units in the last place.
#include <bit>
#include <cmath>

#include <tests/corpus/corpus.hpp>

namespace lode::corpus {

namespace {

std::vector<unsigned> words(std::size_t count, std::uint64_t seed) {
    Random random(seed);
    auto made = Random::fill<unsigned>(count, [&] { return random.bits(); });
    const unsigned edges[] = {0, 1, ~0u, 0x80000000u, 0x7fffffffu, 31, 32, 33};
    for (std::size_t k = 0; k < std::size(edges); ++k)
        made[k * 3] = edges[k];
    return made;
}

void divisions(Device& device, Check& check) {
    const std::size_t n = 200;
    Random random(50);
    auto a = Random::fill<int>(n, [&] { return random.bits(); });
    auto b = Random::fill<int>(
        n, [&] { return random.integer(1, 5000) * (random.bits() % 2 ? 1 : -1); });
    a[0] = 0;
    a[1] = INT32_MAX;
    b[1] = 1;
    const auto out = device.zeros<long long>(n * 8);
    device.launch("divisions", {2}, {128},
                  Arguments::of(device.put(a), device.put(b), out, static_cast<int>(n)));
    std::vector<long long> want;
    for (std::size_t k = 0; k < n; ++k) {
        const long long x = a[k];
        const long long y = b[k];
        const auto ux = static_cast<unsigned>(a[k]);
        const auto uy = static_cast<unsigned>(b[k]);
        const long long wide = x * 1000003;
        want.insert(want.end(), {x / y, x % y, ux / uy, ux % uy, wide / y, wide % y,
                                 static_cast<long long>(static_cast<unsigned long long>(wide) /
                                                        static_cast<unsigned long long>(y | 1)),
                                 x / 10 + x % 7});
    }
    check.equal("out", device.get<long long>(out, want.size()), want);
}

__extension__ using Wide = unsigned __int128;

void wide_arithmetic(Device& device, Check& check) {
    const std::size_t n = 100;
    Random random(51);
    const auto a =
        Random::fill<unsigned long long>(n, [&] { return random.bits() >> (random.bits() % 60); });
    const auto out = device.zeros<unsigned long long>(4 * n);
    device.launch("wide_arithmetic", {2}, {64},
                  Arguments::of(device.put(a), out, static_cast<int>(n)));
    std::vector<unsigned long long> want;
    for (std::size_t i = 0; i < n; ++i) {
        const Wide x = Wide{a[i]} * a[(i + 1) % n] + a[(i + 2) % n];
        const Wide q = x / (a[(i + 3) % n] | 1);
        const Wide d = x - q;
        const auto low = [](Wide v) { return static_cast<unsigned long long>(v); };
        want.insert(want.end(), {low(x), low(x >> 64), low(q), low(d >> 64) ^ low(d)});
    }
    check.equal("out", device.get<unsigned long long>(out, 4 * n), want);
}

unsigned permuted(unsigned x, unsigned y, unsigned selector) {
    const std::uint64_t bytes = (std::uint64_t{y} << 32) | x;
    unsigned result = 0;
    for (unsigned k = 0; k < 4; ++k) {
        const unsigned pick = (selector >> (4 * k)) & 7;
        result |= static_cast<unsigned>((bytes >> (8 * pick)) & 255) << (8 * k);
    }
    return result;
}

void bits(Device& device, Check& check) {
    const std::size_t n = 150;
    const auto a = words(n, 52);
    const auto out = device.zeros<unsigned>(12 * n);
    device.launch("bits", {3}, {64}, Arguments::of(device.put(a), out, static_cast<int>(n)));
    std::vector<unsigned> want;
    for (std::size_t i = 0; i < n; ++i) {
        const unsigned x = a[i];
        const unsigned y = a[(i + 1) % n];
        unsigned reversed = 0;
        for (unsigned k = 0; k < 32; ++k)
            reversed |= ((x >> k) & 1) << (31 - k);
        const std::uint64_t pair = (std::uint64_t{y} << 32) | x;
        const std::uint64_t high_x = (std::uint64_t{x} << 32) | y;
        const auto shifted = static_cast<unsigned long long>(y) << 7;
        want.insert(
            want.end(),
            {static_cast<unsigned>(std::popcount(x)), static_cast<unsigned>(std::countl_zero(x)),
             x == 0 ? 0 : static_cast<unsigned>(std::countr_zero(x)) + 1, reversed,
             permuted(x, y, 0x2746), static_cast<unsigned>((pair << (x & 31)) >> 32),
             static_cast<unsigned>(pair >> (y & 31)),
             static_cast<unsigned>((std::uint64_t{x} * y) >> 32), (x > y ? x - y : y - x) + 5,
             static_cast<unsigned>(std::popcount(high_x) + std::countl_zero(shifted)),
             (x << (y & 31)) ^ (x >> (y & 31)) ^
                 static_cast<unsigned>(static_cast<int>(x) >> (y & 31)),
             (x & y) ^ (~x | y) ^ (x ^ y)});
    }
    check.equal("out", device.get<unsigned>(out, want.size()), want);
}

template <class T>
int part(unsigned word, unsigned at) {
    return static_cast<T>(word >> at);
}

void dots(Device& device, Check& check) {
    const std::size_t n = 90;
    const auto a = words(n, 53);
    const auto out = device.zeros<int>(4 * n);
    device.launch("dots", {1}, {96}, Arguments::of(device.put(a), out, static_cast<int>(n)));
    std::vector<int> want;
    for (std::size_t i = 0; i < n; ++i) {
        const unsigned x = a[i];
        const unsigned y = a[(i + 1) % n];
        int s4 = 7;
        int u4 = 7;
        int sad = 0;
        unsigned difference = 0;
        for (unsigned at = 0; at < 32; at += 8) {
            s4 += part<signed char>(x, at) * part<signed char>(y, at);
            u4 += part<unsigned char>(x, at) * part<unsigned char>(y, at);
            const int d = std::abs(part<unsigned char>(x, at) - part<unsigned char>(y, at));
            sad += d;
            difference |= static_cast<unsigned>(d) << at;
        }
        const int two = 14 + part<short>(x, 0) * part<signed char>(y, 0) +
                        part<short>(x, 16) * part<signed char>(y, 8) +
                        part<short>(x, 0) * part<signed char>(y, 16) +
                        part<short>(x, 16) * part<signed char>(y, 24);
        want.insert(want.end(),
                    {s4, u4, two, static_cast<int>(difference + static_cast<unsigned>(sad))});
    }
    check.equal("out", device.get<int>(out, want.size()), want);
}

void crc32(Device& device, Check& check) {
    const std::size_t threads = 64;
    const int length = 20;
    Random random(54);
    const auto in = Random::fill<unsigned char>(threads * length, [&] { return random.bits(); });
    const auto out = device.zeros<unsigned>(threads);
    device.launch("crc32", {2}, {32}, Arguments::of(device.put(in), out, length));
    std::vector<unsigned> want;
    for (std::size_t t = 0; t < threads; ++t) {
        unsigned crc = ~0u;
        for (std::size_t k = 0; k < length; ++k) {
            crc ^= in[t * length + k];
            for (int b = 0; b < 8; ++b)
                crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
        }
        want.push_back(~crc);
    }
    check.equal("out", device.get<unsigned>(out, threads), want);
}

void double_functions(Device& device, Check& check) {
    const std::size_t n = 150;
    Random random(55);
    const auto x = Random::fill<double>(n, [&] { return random.real(-100, 100); });
    const auto out = device.zeros<double>(12 * n);
    device.launch("double_functions", {2}, {96},
                  Arguments::of(device.put(x), out, static_cast<int>(n)));
    std::vector<double> want;
    for (const double v : x) {
        want.insert(want.end(),
                    {std::sin(v), std::cos(v), std::exp(v * 0.01), std::log(std::fabs(v) + 1),
                     std::pow(std::fabs(v) + 0.5, 1.7), std::cbrt(v), std::atan2(v, 3.0),
                     std::sqrt(std::fabs(v)), std::tanh(v * 0.1), std::erf(v * 0.05), v / 3.7,
                     std::fmod(v, 2.5)});
    }
    check.close("out", device.get<double>(out, want.size()), want, 1e-15 * 4);
}

void float_functions(Device& device, Check& check) {
    const std::size_t n = 150;
    Random random(56);
    const auto x = Random::fill<float>(n, [&] { return random.real(-100, 100); });
    const auto out = device.zeros<float>(12 * n);
    device.launch("float_functions", {2}, {96},
                  Arguments::of(device.put(x), out, static_cast<int>(n)));
    std::vector<float> want;
    const auto add = [&](double v) { want.push_back(static_cast<float>(v)); };
    for (const float f : x) {
        const double v = f;
        add(std::sin(v));
        add(std::cos(v));
        add(std::exp(double{f * 0.01f}));
        add(std::log(double{std::fabs(f) + 1}));
        add(std::pow(double{std::fabs(f) + 0.5f}, double{1.7f}));
        add(std::cbrt(v));
        add(std::atan2(v, 3.0));
        add(std::sqrt(double{std::fabs(f)}));
        add(std::tanh(double{f * 0.1f}));
        add(std::rint(v) + std::floor(v) * 2 + std::ceil(v) * 4 + std::trunc(v) * 8);
        want.push_back(f / 3.7f);
        want.push_back(std::fmod(f, 2.5f));
    }
    check.close("out", device.get<float>(out, want.size()), want, 1e-6, 1e-7);
}

float directed(double exact, int way) {
    // In double, sums and products of two floats are exact enough for another rounding.
    const auto near = static_cast<float>(exact);
    if (double{near} == exact) return near;
    const bool lower = way < 0 || (way == 0 && exact > 0);
    if (lower) return double{near} > exact ? std::nextafter(near, -INFINITY) : near;
    return double{near} < exact ? std::nextafter(near, INFINITY) : near;
}

void roundings(Device& device, Check& check) {
    const std::size_t n = 120;
    Random random(57);
    auto x = Random::fill<float>(n, [&] { return random.integer(-100000, 100000) * 0.0009765625; });
    x[0] = 0;
    const auto out = device.zeros<float>(8 * n);
    device.launch("roundings", {1}, {128}, Arguments::of(device.put(x), out, static_cast<int>(n)));
    std::vector<float> want;
    for (std::size_t i = 0; i < n; ++i) {
        const double v = x[i];
        const double w = x[n - 1 - i];
        const double by = w == 0 ? 1 : w;
        float quotient = static_cast<float>(v / by);
        // quotient * by compared exactly with v shows in which direction the quotient was rounded.
        const double residue = std::fma(double{quotient}, by, -v);
        const bool below = (residue < 0) != (by < 0);
        if (residue != 0 && below) quotient = std::nextafter(quotient, INFINITY);
        float root = std::sqrt(std::fabs(x[i]));
        if (double{root} * root > std::fabs(v)) root = std::nextafter(root, 0.0f);
        const float sum = directed(v + w, 0);
        want.insert(want.end(), {sum, directed(v + w, 1), directed(v + w, -1), directed(v * w, 0),
                                 quotient, root, directed(v * w + v, 0), directed(v * 1.1, 1)});
    }
    check.equal("out", device.get<float>(out, want.size()), want);
}

}  // namespace

void add_maths_cases(std::vector<Case>& cases) {
    cases.push_back({"divisions", "integers.cu", divisions});
    cases.push_back({"wide_arithmetic", "integers.cu", wide_arithmetic});
    cases.push_back({"bits", "integers.cu", bits});
    cases.push_back({"dots", "integers.cu", dots});
    cases.push_back({"crc32", "integers.cu", crc32});
    cases.push_back({"double_functions", "maths.cu", double_functions});
    cases.push_back({"float_functions", "maths.cu", float_functions});
    cases.push_back({"roundings", "maths.cu", roundings});
}

}  // namespace lode::corpus
