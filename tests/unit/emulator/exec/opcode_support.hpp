// Compares opcodes with scalar references that share no code with the executor.
//
// A Form is one instruction over values: it runs on edge values, in full and in partial warps. A
// Scene is a small kernel over rows of memory: loads, stores, atomics, barriers, control. Both are
// turned into Comparisons; a family of opcodes is a list of them. opcode_coverage_test.cpp checks
// that the families together cover every opcode that NVRTC was seen to emit.
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
/// Whether the result `got` is acceptable where the reference gives `want`.
using Accepts = std::function<bool(Bits got, Bits want)>;

/// An opcode to run and compare with its reference.
struct Comparison {
    std::string opcode;
    std::string text;  ///< PTX that uses the opcode.
    /// Runs the opcode and describes the first difference; empty if there is none.
    std::function<std::string(Bench&)> difference;
};
using Comparisons = std::vector<Comparison>;

/// One instruction. `types` lists the types of d and of the sources a, b and c: s32, f16x2, pred,
/// …; their registers are as wide as the type. An empty `text` means "opcode d, a, b, c;".
struct Form {
    std::string opcode;
    std::string types;
    Reference reference;
    std::string text = {};
    Accepts accepts = {};    ///< If empty, the bits must be equal.
    Accepts on_device = {};  ///< What PTX promises, if that is less.
};
Comparison compared(Form form);

/// The eight words of one thread.
using Row = std::array<u64, 8>;
using Rows = std::vector<Row>;

/// A kernel of one block. %in and %out hold the addresses of the thread's row in either table, %i
/// the thread's number. The parameter given[64] holds the first row of `in`. %p, %h, %r and %d (1
/// to 15) are registers for predicates and for 16, 32 and 64 bits. All bytes of `out` start as
/// 0x5a.
struct Scene {
    std::string opcode;
    std::string body;
    /// Updates both tables to the expected contents.
    std::function<void(Rows& in, Rows& out)> reference;
    std::string before = {};  ///< Declarations outside the kernel.
    u32 threads = 64;
    Fault fault = Fault::none;
    bool odd = false;  ///< Adds 20 threads, so that the last warp is partial.
    /// The words of `in`; random if empty.
    std::function<u64(std::size_t thread, std::size_t word)> fill = {};
};
Comparison compared(Scene scene);

/// Reads a value at a byte offset of a row.
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

/// Makes a Reference of a function over values of type A.
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

/// The PTX name of an integer type, such as "u16".
template <class T>
std::string type_name() {
    return (std::is_signed_v<T> ? "s" : "u") + std::to_string(8 * sizeof(T));
}

/// Returns the comparisons of one family; see LODE_OPCODE_FAMILY.
using Family = Comparisons (*)();
std::vector<Family>& families();

}  // namespace lode::emulator::exec::testing

/// Defines a test case that runs a family, and registers the family for the coverage test.
#define LODE_OPCODE_FAMILY(name, family)                                                       \
    [[maybe_unused]] static const bool listed_##family = (families().push_back(family), true); \
    TEST_CASE(name) {                                                                          \
        check_all(family());                                                                   \
    }
