// Families of rows of the operation table, and the macros that define rows with their handlers.
#pragma once

#include "emulator/exec/lanes.hpp"
#include "emulator/isa/table.hpp"

namespace lode::emulator::exec {

/// The rows of each family. Each family has its own file, compiled with the flags for vector code.
std::span<const OpRow> integer_rows();
std::span<const OpRow> wide_integer_rows();
std::span<const OpRow> bit_rows();
std::span<const OpRow> carry_rows();
std::span<const OpRow> float_rows();
std::span<const OpRow> rounding_rows();
std::span<const OpRow> approx_rows();
std::span<const OpRow> half_rows();
std::span<const OpRow> compare_rows();
std::span<const OpRow> set_rows();
std::span<const OpRow> integer_convert_rows();
std::span<const OpRow> float_convert_rows();
std::span<const OpRow> narrow_convert_rows();
std::span<const OpRow> move_rows();

template <class T>
consteval char size_letter() {
    if constexpr (std::is_same_v<T, exec::Predicate>) {
        return 'p';
    } else {
        return letter_of_bytes(sizeof(T));
    }
}

}  // namespace lode::emulator::exec

// Rows with one result per lane: the expression uses a, b, e. D, A, B, E are types of one lane.
#define LODE_ROW1(keys, D, A, expression)                \
    OpRow{keys,                                          \
          &map1<D, A, [](A a) { return (expression); }>, \
          {size_letter<D>(), size_letter<A>()}},
#define LODE_ROW2(keys, D, A, B, expression)                     \
    OpRow{keys,                                                  \
          &map2<D, A, B, [](A a, B b) { return (expression); }>, \
          {size_letter<D>(), size_letter<A>(), size_letter<B>()}},
#define LODE_ROW3(keys, D, A, B, E, expression)                          \
    OpRow{keys,                                                          \
          &map3<D, A, B, E, [](A a, B b, E e) { return (expression); }>, \
          {size_letter<D>(), size_letter<A>(), size_letter<B>(), size_letter<E>()}},
// The same for active lanes only, with the op's flags.
#define LODE_EACH1(keys, D, A, expression)                                                       \
    OpRow{keys,                                                                                  \
          &each1<D, A,                                                                           \
                 []([[maybe_unused]] A a, [[maybe_unused]] u32 flags) { return (expression); }>, \
          {size_letter<D>(), size_letter<A>()}},
#define LODE_EACH2(keys, D, A, B, expression)                                                 \
    OpRow{keys,                                                                               \
          &each2<D, A, B, [](A a, B b, [[maybe_unused]] u32 flags) { return (expression); }>, \
          {size_letter<D>(), size_letter<A>(), size_letter<B>()}},
#define LODE_EACH3(keys, D, A, B, E, expression)                                          \
    OpRow{keys,                                                                           \
          &each3<D, A, B, E,                                                              \
                 [](A a, B b, E e, [[maybe_unused]] u32 flags) { return (expression); }>, \
          {size_letter<D>(), size_letter<A>(), size_letter<B>(), size_letter<E>()}},
