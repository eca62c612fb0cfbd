#include "jit/files/calculation.hpp"

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

struct Function {
    std::string_view name;
    double (*call)(double, double);
};

constexpr Function functions[] = {
#define LODE_UNARY(name) {#name, [](double x, double /*y*/) { return ::name(x); }},
#define LODE_UNARY_FLOAT(name) \
    {#name, [](double x, double /*y*/) -> double { return ::name(static_cast<float>(x)); }},
#define LODE_BINARY(name) {#name, [](double x, double y) { return ::name(x, y); }},
#include "jit/files/calculations.def"
};

/// Calculates as a new thread of a new process does, then as before.
class DefaultArithmetic {
public:
    DefaultArithmetic() noexcept {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultArithmetic() { std::fesetenv(&before_); }
    DefaultArithmetic(const DefaultArithmetic&) = delete;
    DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;

private:
    std::fenv_t before_{};
};

}  // namespace

std::uint64_t calculate(const Calculation& calculation) noexcept {
    if (calculation.function >= std::size(functions)) return 0;
    const DefaultArithmetic arithmetic;
    return std::bit_cast<std::uint64_t>(functions[calculation.function].call(
        std::bit_cast<double>(calculation.x), std::bit_cast<double>(calculation.y)));
}

std::string to_string(const Calculation& calculation) {
    const bool is_known = calculation.function < std::size(functions);
    return fmt::format("{}({:x}, {:x})",
                       is_known ? functions[calculation.function].name : "unknown", calculation.x,
                       calculation.y);
}

}  // namespace LODE_NAMESPACE
