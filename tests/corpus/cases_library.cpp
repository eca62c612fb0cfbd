// Cases that use the toolkit's libraries: CUB, cuRAND, narrow types, pipelines.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <tests/corpus/corpus.hpp>

namespace lode::corpus {

namespace {

void cub_reduce(Device& device, Check& check) {
    const auto in = integers(1024, 60, -99, 99);
    const auto out = device.zeros<int>(2);
    device.launch("cub_reduce", {2}, {128}, Arguments::of(device.put(in), out));
    check.equal("out", device.get<int>(out, 2),
                {std::accumulate(in.begin(), in.begin() + 512, 0),
                 std::accumulate(in.begin() + 512, in.end(), 0)});
}

void cub_scan(Device& device, Check& check) {
    const auto in = integers(256, 61, -99, 99);
    const auto out = device.zeros<int>(256);
    device.launch("cub_scan", {2}, {128}, Arguments::of(device.put(in), out));
    std::vector<int> want(256);
    std::exclusive_scan(in.begin(), in.begin() + 128, want.begin(), 0);
    std::exclusive_scan(in.begin() + 128, in.end(), want.begin() + 128, 0);
    check.equal("out", device.get<int>(out, 256), want);
}

void cub_sort(Device& device, Check& check) {
    Random random(62);
    auto data = Random::fill<unsigned>(1024, [&] { return random.bits(); });
    const auto at = device.put(data);
    device.launch("cub_sort", {2}, {128}, Arguments::of(at));
    std::sort(data.begin(), data.begin() + 512);
    std::sort(data.begin() + 512, data.end());
    check.equal("data", device.get<unsigned>(at, 1024), data);
}

void cub_radix_match(Device& device, Check& check) {
    Random random(64);
    auto data = Random::fill<unsigned>(1024, [&] { return random.bits(); });
    const auto at = device.put(data);
    device.launch("cub_radix_match", {2}, {128}, Arguments::of(at));
    std::sort(data.begin(), data.begin() + 512);
    std::sort(data.begin() + 512, data.end());
    check.equal("data", device.get<unsigned>(at, 1024), data);
}

void cub_warp(Device& device, Check& check) {
    const auto whole = integers(256, 63, -99, 99);
    const std::vector<float> in(whole.begin(), whole.end());
    const auto out = device.zeros<float>(8);
    device.launch("cub_warp", {2}, {128}, Arguments::of(device.put(in), out));
    std::vector<float> want;
    for (auto at = in.begin(); at != in.end(); at += 32) {
        want.push_back(std::accumulate(at, at + 32, 0.0f));
    }
    check.equal("out", device.get<float>(out, 8), want);
}

std::array<unsigned, 4> philox4(std::array<unsigned, 4> counter, std::array<unsigned, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {static_cast<unsigned>(b >> 32) ^ counter[1] ^ key[0], static_cast<unsigned>(b),
                   static_cast<unsigned>(a >> 32) ^ counter[3] ^ key[1], static_cast<unsigned>(a)};
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return counter;
}

void philox(Device& device, Check& check) {
    const unsigned n = 64;
    const unsigned long long seed = 0x123456789abcdefull;
    const auto out = device.zeros<unsigned>(4 * n);
    const auto uniform = device.zeros<float>(n);
    device.launch("philox", {2}, {32}, Arguments::of(out, uniform, seed));
    const std::array<unsigned, 2> key{static_cast<unsigned>(seed),
                                      static_cast<unsigned>(seed >> 32)};
    std::vector<unsigned> want;
    std::vector<float> want_uniform;
    for (unsigned i = 0; i < n; ++i) {
        const auto r = philox4({0, 0, i, 0}, key);
        want.insert(want.end(), r.begin(), r.end());
        const auto next = philox4({1, 0, i, 0}, key)[0];
        want_uniform.push_back(
            std::fma(static_cast<float>(next), 2.3283064e-10f, 2.3283064e-10f / 2.0f));
    }
    check.equal("out", device.get<unsigned>(out, 4 * n), want);
    check.close("uniform", device.get<float>(uniform, n), want_uniform, 1e-7);
}

/// The value of a code in a small float format without infinities.
float small_value(unsigned code, int exponent_bits, int fraction_bits) {
    const unsigned fraction = code & ((1u << fraction_bits) - 1);
    const int exponent = static_cast<int>((code >> fraction_bits) & ((1u << exponent_bits) - 1));
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const float whole = static_cast<float>(fraction) * std::ldexp(1.0f, -fraction_bits);
    const float size =
        exponent == 0 ? std::ldexp(whole, 1 - bias) : std::ldexp(1.0f + whole, exponent - bias);
    return (code >> (exponent_bits + fraction_bits)) != 0 ? -size : size;
}

/// The nearest code, found by search over all finite ones, ties to even: slow but obviously
/// correct.
unsigned nearest_code(double value, int exponent_bits, int fraction_bits, unsigned largest) {
    const unsigned sign = std::signbit(value) ? 1u << (exponent_bits + fraction_bits) : 0;
    const double size = std::fabs(value);
    unsigned low = 0;
    unsigned high = largest;
    while (low < high) {  // Finds the last code at or below the value.
        const unsigned mid = (low + high + 1) / 2;
        if (double{small_value(mid, exponent_bits, fraction_bits)} <= size) {
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    if (low < largest) {
        const double below = size - double{small_value(low, exponent_bits, fraction_bits)};
        const double above = double{small_value(low + 1, exponent_bits, fraction_bits)} - size;
        if (above < below || (above == below && low % 2 == 1)) ++low;
    }
    return sign | low;
}
unsigned short half(double value) {
    return static_cast<unsigned short>(nearest_code(value, 5, 10, 0x7bff));
}
double half_value(unsigned short code) {
    return small_value(code, 5, 10);
}
unsigned short bfloat(double value) {
    return static_cast<unsigned short>(nearest_code(value, 8, 7, 0x7f7f));
}
double bfloat_value(unsigned short code) {
    return small_value(code, 8, 7);
}

void half_arithmetic(Device& device, Check& check) {
    const std::size_t n = 100;
    Random random(64);
    const auto x = Random::fill<float>(n, [&] { return random.real(-20, 20); });
    const auto out = device.zeros<unsigned short>(8 * n);
    device.launch("half_arithmetic", {1}, {128},
                  Arguments::of(device.put(x), out, static_cast<int>(n)));
    std::vector<unsigned short> want;
    for (std::size_t i = 0; i < n; ++i) {
        const double a = half_value(half(x[i]));
        const double b = half_value(half(x[(i + 1) % n]));
        const double c = half_value(half(x[(i + 2) % n]));
        want.insert(want.end(),
                    {half(a + b), half(a * b), half(a * b + c), half(std::max(a, b)),
                     half(double{x[i]} * 1.0009765625), static_cast<unsigned short>(a < b),
                     half(a * b + c), half(b * c + a)});
    }
    check.equal("out", device.get<unsigned short>(out, want.size()), want);
}

void bfloat_arithmetic(Device& device, Check& check) {
    const std::size_t n = 100;
    Random random(65);
    const auto x = Random::fill<float>(n, [&] { return random.real(-20, 20); });
    const auto out = device.zeros<unsigned short>(4 * n);
    device.launch("bfloat_arithmetic", {1}, {128},
                  Arguments::of(device.put(x), out, static_cast<int>(n)));
    std::vector<unsigned short> want;
    for (std::size_t i = 0; i < n; ++i) {
        const double a = bfloat_value(bfloat(x[i]));
        const double b = bfloat_value(bfloat(x[(i + 1) % n]));
        want.insert(want.end(), {bfloat(a + b), bfloat(a * b), bfloat(std::min(a, b)), bfloat(a)});
    }
    check.equal("out", device.get<unsigned short>(out, want.size()), want);
}

void eights(Device& device, Check& check) {
    const std::size_t n = 120;
    Random random(66);
    auto x = Random::fill<float>(n, [&] { return random.real(-20, 20); });
    x[0] = 1e9f;
    x[1] = -1e-9f;
    x[2] = 0.001953125f;
    const auto codes = device.zeros<unsigned char>(2 * n);
    const auto back = device.zeros<float>(2 * n);
    device.launch("eights", {1}, {128},
                  Arguments::of(device.put(x), codes, back, static_cast<int>(n)));
    std::vector<unsigned char> want;
    std::vector<float> want_back;
    for (const float v : x) {
        want.push_back(static_cast<unsigned char>(nearest_code(v, 4, 3, 0x7e)));
        want.push_back(static_cast<unsigned char>(nearest_code(v, 5, 2, 0x7b)));
        want_back.push_back(small_value(want[want.size() - 2], 4, 3));
        want_back.push_back(small_value(want.back(), 5, 2));
    }
    check.equal("codes", device.get<unsigned char>(codes, 2 * n), want);
    check.equal("back", device.get<float>(back, 2 * n), want_back);
}

void staged_copy(Device& device, Check& check) {
    const int stages = 5;
    const auto in = integers(128 * stages, 67, -1000, 1000);
    const auto out = device.zeros<int>(128);
    device.launch("staged_copy", {1}, {128}, Arguments::of(device.put(in), out, stages));
    std::vector<int> want(128);
    for (std::size_t s = 0; s < stages; ++s) {
        for (std::size_t t = 0; t < 128; ++t)
            want[t] += in[s * 128 + 127 - t];
    }
    check.equal("out", device.get<int>(out, 128), want);
}

void nbody(Device& device, Check& check) {
    const std::size_t n = 256;
    Random random(68);
    const auto body = Random::fill<float>(4 * n, [&] { return random.real(0.1, 2); });
    const auto force = device.zeros<float>(4 * n);
    device.launch("nbody", {2}, {128}, Arguments::of(device.put(body), force, static_cast<int>(n)));
    std::vector<float> want(4 * n);
    for (std::size_t i = 0; i < n; ++i) {
        double f[3] = {};
        for (std::size_t j = 0; j < n; ++j) {
            double d[3];
            double d2 = 0.01;
            for (std::size_t k = 0; k < 3; ++k) {
                d[k] = double{body[4 * j + k]} - body[4 * i + k];
                d2 += d[k] * d[k];
            }
            for (std::size_t k = 0; k < 3; ++k)
                f[k] += d[k] * body[4 * j + 3] / (d2 * std::sqrt(d2));
        }
        for (std::size_t k = 0; k < 3; ++k)
            want[4 * i + k] = static_cast<float>(f[k]);
    }
    check.close("force", device.get<float>(force, 4 * n), want, 1e-4, 1e-2);
}

double normal_cdf(double d) {
    return 0.5 * std::erfc(-d / std::sqrt(2.0));
}

void black_scholes(Device& device, Check& check) {
    const std::size_t n = 200;
    Random random(69);
    const auto spot = Random::fill<float>(n, [&] { return random.real(5, 30); });
    const auto strike = Random::fill<float>(n, [&] { return random.real(5, 30); });
    const auto years = Random::fill<float>(n, [&] { return random.real(0.25, 10); });
    const auto call = device.zeros<float>(n);
    const auto put = device.zeros<float>(n);
    device.launch("black_scholes", {2}, {128},
                  Arguments::of(device.put(spot), device.put(strike), device.put(years), call, put,
                                0.02f, 0.3f, static_cast<int>(n)));
    std::vector<float> want_call;
    std::vector<float> want_put;
    for (std::size_t i = 0; i < n; ++i) {
        const double s = spot[i];
        const double k = strike[i];
        const double t = years[i];
        const double d1 = (std::log(s / k) + (0.02 + 0.045) * t) / (0.3 * std::sqrt(t));
        const double d2 = d1 - 0.3 * std::sqrt(t);
        const double discounted = k * std::exp(-0.02 * t);
        want_call.push_back(static_cast<float>(s * normal_cdf(d1) - discounted * normal_cdf(d2)));
        want_put.push_back(static_cast<float>(discounted * normal_cdf(-d2) - s * normal_cdf(-d1)));
    }
    check.close("call", device.get<float>(call, n), want_call, 1e-4, 1e-5);
    check.close("put", device.get<float>(put, n), want_put, 1e-4, 1e-5);
}

void black_scholes_double(Device& device, Check& check) {
    const std::size_t n = 100;
    Random random(70);
    const auto spot = Random::fill<double>(n, [&] { return random.real(5, 30); });
    const auto call = device.zeros<double>(n);
    device.launch("black_scholes_double", {1}, {128},
                  Arguments::of(device.put(spot), call, 15.0, 2.0, 0.02, 0.3, static_cast<int>(n)));
    std::vector<double> want;
    for (const double s : spot) {
        const double d1 = (std::log(s / 15.0) + (0.02 + 0.045) * 2.0) / (0.3 * std::sqrt(2.0));
        const double d2 = d1 - 0.3 * std::sqrt(2.0);
        want.push_back(s * normal_cdf(d1) - 15.0 * std::exp(-0.04) * normal_cdf(d2));
    }
    check.close("call", device.get<double>(call, n), want, 1e-13, 1e-14);
}

}  // namespace

void add_library_cases(std::vector<Case>& cases) {
    cases.push_back({"cub_reduce", "cub.cu", cub_reduce});
    cases.push_back({"cub_scan", "cub.cu", cub_scan});
    cases.push_back({"cub_sort", "cub.cu", cub_sort});
    cases.push_back({"cub_radix_match", "cub_radix.cu", cub_radix_match});
    cases.push_back({"cub_warp", "cub.cu", cub_warp});
    cases.push_back({"philox", "philox.cu", philox});
    cases.push_back({"half_arithmetic", "halves.cu", half_arithmetic});
    cases.push_back({"bfloat_arithmetic", "halves.cu", bfloat_arithmetic});
    cases.push_back({"eights", "halves.cu", eights});
    cases.push_back({"staged_copy", "pipeline.cu", staged_copy});
    cases.push_back({"nbody", "physics.cu", nbody});
    cases.push_back({"black_scholes", "physics.cu", black_scholes});
    cases.push_back({"black_scholes_double", "physics.cu", black_scholes_double});
}

}  // namespace lode::corpus
