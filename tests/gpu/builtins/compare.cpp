#include "tests/gpu/builtins/compare.hpp"

#include <lode/base/digest.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lode::test {
namespace {

constexpr std::size_t kept_values = 64;  // Kept of a function with a tolerance.

/// The value of bits, and of a unit in its last place.
struct Real {
    double value = 0;
    double ulp = 0;
};
Real real_of(std::uint64_t bits, const ScalarType& type) {
    const auto of = [&](int exponent_bits, int mantissa_bits) {
        const int bias = (1 << (exponent_bits - 1)) - 1;
        const auto exponent =
            static_cast<int>(bits >> mantissa_bits & ((1ULL << exponent_bits) - 1));
        const std::uint64_t mantissa = bits & ((1ULL << mantissa_bits) - 1);
        const bool is_negative = (bits >> (exponent_bits + mantissa_bits) & 1) != 0;
        const double ulp = std::ldexp(1.0, std::max(exponent, 1) - bias - mantissa_bits);
        double value = static_cast<double>(mantissa) * ulp;
        if (exponent != 0) value += std::ldexp(1.0, exponent - bias);
        if (exponent == 2 * bias + 1) value = mantissa != 0 ? NAN : INFINITY;
        return Real{is_negative ? -value : value, ulp};
    };
    switch (type.kind) {
        case ScalarType::Kind::half:
            return of(5, 10);
        case ScalarType::Kind::bfloat16:
            return of(8, 7);
        case ScalarType::Kind::f32:
            return of(8, 23);
        default:
            return of(11, 52);
    }
}

std::vector<Real> reals_of(const std::string& results, const ScalarType& type) {
    std::vector<Real> reals;
    const std::size_t digits = type.bytes * 2;
    for (std::size_t at = 0; at + digits <= results.size(); at += digits + 1)
        reals.push_back(real_of(std::stoull(results.substr(at, digits), nullptr, 16), type));
    return reals;
}

/// Results with one NaN: PTX leaves the sign and the payload of a computed one open.
std::string with_one_nan(const Function& function, std::string results) {
    if (function.result == 0 || function.moves_bits) return results;
    const ScalarType type = scalar_type(function.result);
    if (type.kind == ScalarType::Kind::integer) return results;
    std::size_t at = 0;
    for (const Real& real : reals_of(results, type)) {
        if (std::isnan(real.value)) results.replace(at, type.bytes * 2, type.bytes * 2, 'f');
        at += type.bytes * 2 + 1;
    }
    return results;
}

std::string digest_of(const std::string& results) {
    return "#" + sha256(results).to_hex().substr(0, 12);
}

}  // namespace

std::string condensed(const Function& function, const std::string& results) {
    if (results[0] == '#') return results;
    if (function.result == 0)
        return results.size() < 300 ? results : results.substr(0, 60) + "… " + digest_of(results);
    if (!function.tolerance) return digest_of(with_one_nan(function, results));
    std::size_t end = 0;
    for (std::size_t k = 0; k < kept_values && end != std::string::npos; ++k)
        end = results.find(' ', end + 1);
    return results.substr(0, end);
}

bool agree(const Function& function, const std::string& expected, const std::string& got) {
    if (expected == got || expected == condensed(function, got)) return true;
    if (function.result == 0 || expected[0] == '#') return false;
    if (!function.tolerance) return with_one_nan(function, expected) == with_one_nan(function, got);
    const ScalarType type = scalar_type(function.result);
    const auto a = reals_of(expected, type);
    const auto b = reals_of(got, type);
    if (a.size() > b.size()) return false;
    for (std::size_t k = 0; k < a.size(); ++k) {
        const auto [x, y] = std::pair(a[k].value, b[k].value);
        if ((std::isnan(x) && std::isnan(y)) || x == y) continue;
        const Tolerance& tolerance = *function.tolerance;
        const double most =
            std::max({tolerance.ulp * std::max(a[k].ulp, b[k].ulp), tolerance.absolute,
                      tolerance.relative * std::min(std::abs(x), std::abs(y))});
        if (!(std::abs(x - y) <= most)) return false;
    }
    return true;
}

void print_differences(const Function& function, const std::string& expected,
                       const std::string& got) {
    if (function.result == 0 || expected[0] == '#') {
        fmt::print("    {}\n    {} is expected\n",
                   function.result == 0 ? got : condensed(function, got), expected);
        return;
    }
    std::vector<std::vector<std::byte>> arguments;
    for (std::size_t k = 0; k < function.arguments.size(); ++k)
        arguments.push_back(values_of(function, k));
    std::istringstream all(expected);
    std::istringstream ours(got);
    std::string a;
    std::string b;
    int printed = 0;
    for (std::size_t i = 0; all >> a && ours >> b; ++i) {
        if (a == b || agree(function, a, b)) continue;
        if (printed++ == 8) continue;
        fmt::print("   ");
        for (std::size_t k = 0; k < arguments.size(); ++k) {
            const ScalarType type = scalar_type(function.arguments[k]);
            for (std::size_t c = 0; c < type.count; ++c) {
                std::uint64_t value = 0;
                std::memcpy(&value, arguments[k].data() + (i * type.count + c) * type.bytes,
                            type.bytes);
                fmt::print("{}{:0{}x}", c == 0 ? " " : ",", value, type.bytes * 2);
            }
        }
        fmt::print(": {}, {} is expected\n", b, a);
    }
    fmt::print("    {} of {} values differ\n", printed, values_count);
}

}  // namespace lode::test
