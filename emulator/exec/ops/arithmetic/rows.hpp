// The handlers of the rows of the operation table, by family, and the macros that make them of
// isa/rows/*.def.
#pragma once

#include "emulator/exec/lanes.hpp"

#include <span>

namespace lode::emulator::exec {

/// Each family has its own file, compiled with the flags for vector code.
std::span<const Handler> integer_handlers();
std::span<const Handler> wide_integer_handlers();
std::span<const Handler> bits_handlers();
std::span<const Handler> carry_handlers();
std::span<const Handler> float_handlers();
std::span<const Handler> rounding_handlers();
std::span<const Handler> approx_handlers();
std::span<const Handler> half_handlers();
std::span<const Handler> compare_handlers();
std::span<const Handler> set_handlers();
std::span<const Handler> convert_handlers();
std::span<const Handler> narrow_handlers();
std::span<const Handler> moves_handlers();

}  // namespace lode::emulator::exec

#define LODE_AS(...)
#define LODE_OP(keys, letters, ...) __VA_ARGS__,
#define LODE_UNPACK LODE_OP
// Rows with one result per lane: the expression uses a, b, e. D, A, B, E are types of one lane.
#define LODE_ROW1(keys, D, A, expression) &map1<D, A, [](A a) { return (expression); }>,
#define LODE_ROW2(keys, D, A, B, expression) &map2<D, A, B, [](A a, B b) { return (expression); }>,
#define LODE_ROW3(keys, D, A, B, E, expression) \
    &map3<D, A, B, E, [](A a, B b, E e) { return (expression); }>,
// The same for active lanes only, with the op's RealFlags.
#define LODE_EACH1(keys, D, A, expression) \
    &each1<D, A,                           \
           []([[maybe_unused]] A a, [[maybe_unused]] RealFlags flags) { return (expression); }>,
#define LODE_EACH2(keys, D, A, B, expression) \
    &each2<D, A, B, [](A a, B b, [[maybe_unused]] RealFlags flags) { return (expression); }>,
#define LODE_EACH3(keys, D, A, B, E, expression) \
    &each3<D, A, B, E,                           \
           [](A a, B b, E e, [[maybe_unused]] RealFlags flags) { return (expression); }>,
