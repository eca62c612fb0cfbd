// One instruction against a scalar function, over edge values, for full and for partial warps.
#pragma once

#include "tests/unit/emulator/exec/support.hpp"

#include <bit>
#include <functional>
#include <limits>
#include <string>
#include <utility>

namespace lode::emulator::testing {

using Bits = std::uint64_t;
using Reference = std::function<Bits(Bits, Bits, Bits)>;

/// `text` uses d for the result and a, b, c for the sources; `types` names theirs in that order.
struct Form {
    std::string text;
    std::string types;
    Reference reference;
};

template <class T>
T value_of(Bits bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T>
Bits bits_of_value(T value) {
    Bits bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

/// Wraps a function over typed values.
template <class A, class F>
Reference on(F f) {
    return [f](Bits a, Bits b, Bits c) {
        if constexpr (std::is_invocable_v<F, A, A, A>) {
            return bits_of_value(f(value_of<A>(a), value_of<A>(b), value_of<A>(c)));
        } else if constexpr (std::is_invocable_v<F, A, A>) {
            return bits_of_value(f(value_of<A>(a), value_of<A>(b)));
        } else {
            return bits_of_value(f(value_of<A>(a)));
        }
    };
}

/// The edge values of a type such as "s32" or "f16", as bits.
std::vector<Bits> edges(std::string_view type);

/// Runs the form on every pair of edge values and compares every lane.
void check_form(const Form& form);

}  // namespace lode::emulator::testing
