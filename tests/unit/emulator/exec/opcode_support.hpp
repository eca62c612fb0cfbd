// Opcodes against scalar references that know nothing of the executor.
//
// A Form is one instruction over values: it runs on edge values, in full and in partial warps. A
// Scene is a small kernel over rows of memory: loads, stores, atomics, barriers, control. Both
// become Comparisons; a family of opcodes is a list of them, and opcode_coverage_test.cpp asks that
// the families together name every opcode that NVRTC was seen to emit.
#pragma once

#include "tests/unit/emulator/exec/opcode_bench.hpp"

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>
#include <tests/corpus/corpus.hpp>

namespace lode::emulator::exec::testing {

using i8 = std::int8_t;
using u8 = std::uint8_t;
using i16 = std::int16_t;
using u16 = std::uint16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

using Bits = u64;
using Reference = std::function<Bits(Bits, Bits, Bits)>;
/// Whether what the machine got is right where the reference says `want`.
using Accepts = std::function<bool(Bits got, Bits want)>;

/// What an opcode does on the machine against what it should do.
struct Comparison {
    std::string opcode;
    std::string text;  ///< PTX that uses it.
    /// Runs it; the first difference, or nothing.
    std::function<std::string(Bench&)> difference;
};
using Comparisons = std::vector<Comparison>;

/// One instruction. `types` names those of d and of the sources a, b and c: s32, f16x2, pred, …;
/// their registers are as wide as the type. An empty `text` is "opcode d, a, b, c;".
struct Form {
    std::string opcode;
    std::string types;
    Reference reference;
    std::string text = {};
    Accepts accepts = {};    ///< Equality of the type's bits when empty.
    Accepts on_device = {};  ///< What PTX promises, where the executor promises more.
};
Comparison compared(Form form);

/// Eight words of each thread's own.
using Row = std::array<u64, 8>;
using Rows = std::vector<Row>;

/// A kernel of one block. %in and %out hold the addresses of the thread's row of either table, %i
/// its number; given[64] is a parameter with the first row of `in`; %p, %h, %r, %d (1 to 15) are
/// registers of a predicate and of 16, 32 and 64 bits. `out` starts as 0x5a everywhere.
struct Scene {
    std::string opcode;
    std::string body;
    /// Makes of both tables what they should be afterwards.
    std::function<void(Rows& in, Rows& out)> reference;
    std::string before = {};  ///< Declarations outside of the kernel.
    u32 threads = 64;
    Fault fault = Fault::none;
    bool odd = false;  ///< Launch a last warp that isn't full: 20 threads more.
    /// The words of `in`; random ones when empty.
    std::function<u64(std::size_t thread, std::size_t word)> fill = {};
};
Comparison compared(Scene scene);

/// Bytes of a row.
template <class T>
T get(const Row& row, std::size_t byte = 0) {
    T value;
    std::memcpy(&value, reinterpret_cast<const char*>(row.data()) + byte, sizeof value);
    return value;
}
template <class T>
void set(Row& row, std::size_t byte, T value) {
    std::memcpy(reinterpret_cast<char*>(row.data()) + byte, &value, sizeof value);
}

/// Runs every comparison of a family.
void check_all(const Comparisons& comparisons);

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

/// The edge values of a type such as "s32" or "f16", as bits, then random ones up to `count`.
std::vector<Bits> values(std::string_view type, std::size_t count);

/// "u16" and the like.
template <class T>
std::string type_name() {
    return (std::is_signed_v<T> ? "s" : "u") + std::to_string(8 * sizeof(T));
}

/// What the test cases of LODE_OPCODE_FAMILY compare.
using Family = Comparisons (*)();
std::vector<Family>& families();

}  // namespace lode::emulator::exec::testing

/// A test case that runs a family, and its entry in the list that the coverage is counted from.
#define LODE_OPCODE_FAMILY(name, family)                                                       \
    [[maybe_unused]] static const bool listed_##family = (families().push_back(family), true); \
    TEST_CASE(name) {                                                                          \
        check_all(family());                                                                   \
    }
