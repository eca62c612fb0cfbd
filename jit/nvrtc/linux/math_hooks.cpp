#include "jit/nvrtc/linux/math_hooks.hpp"

#include "jit/nvrtc/linux/hooks.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace LODE_NAMESPACE {
namespace {

void note(std::uint8_t function, double x, double y, double result) noexcept {
    FileAccesses* const accesses = accesses_in_force();
    if (accesses == nullptr) return;
    guarded(0, [&] {
        accesses->note_calculation(
            {function, std::bit_cast<std::uint64_t>(x), std::bit_cast<std::uint64_t>(y)},
            std::bit_cast<std::uint64_t>(result));
        return 0;
    });
}

enum CalledFunction : std::uint8_t {
#define LODE_UNARY(name) name##_function,
#define LODE_UNARY_FLOAT(name) name##_function,
#define LODE_BINARY(name) name##_function,
#include "jit/files/calculations.def"
};

template <std::size_t library, CalledFunction function, class Value, Value (*original)(Value)>
struct Unary {
    static inline constinit Next<Value(Value)> next{original};
    static Value call(Value x) noexcept {
        const Value result = next(x);
        note(function, x, 0, result);
        return result;
    }
};
template <std::size_t library, CalledFunction function, double (*original)(double, double)>
struct Binary {
    static inline constinit Next<double(double, double)> next{original};
    static double call(double x, double y) noexcept {
        const double result = next(x, y);
        note(function, x, y, result);
        return result;
    }
};

template <class Hook>
ImportedFunction hook(const char* name) noexcept {
    return {name, reinterpret_cast<void*>(&Hook::call), Hook::next.slot()};
}

template <std::size_t library>
std::span<const ImportedFunction> calculation_table() noexcept {
    static const ImportedFunction functions[] = {
#define LODE_UNARY(name) hook<Unary<library, name##_function, double, &::name>>(#name),
#define LODE_UNARY_FLOAT(name) hook<Unary<library, name##_function, float, &::name>>(#name),
#define LODE_BINARY(name) hook<Binary<library, name##_function, &::name>>(#name),
#include "jit/files/calculations.def"
    };
    return functions;
}

template <std::size_t... libraries>
std::span<const ImportedFunction> table_of(std::size_t library,
                                           std::index_sequence<libraries...> /*all*/) noexcept {
    constexpr std::span<const ImportedFunction> (*tables[])() noexcept = {
        &calculation_table<libraries>...};
    return tables[library]();
}

}  // namespace

std::span<const ImportedFunction> math_hooks(std::size_t library) noexcept {
    return table_of(library, std::make_index_sequence<max_watched_libraries>());
}

}  // namespace LODE_NAMESPACE
