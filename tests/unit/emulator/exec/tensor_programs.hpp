// Programs with one operation on matrices each, and what a product is by definition: a scalar loop
// over matrices. The layouts are written from the PTX ISA, apart from those of the emulator.
#pragma once

#include "tests/unit/emulator/exec/opcode_bench.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator::exec::testing {

using Words = std::vector<std::uint32_t>;
inline constexpr unsigned warp_lanes = 32;

/// A kernel k(in, out, unused) of one block.
struct TensorProgram {
    std::vector<std::string> opcodes;  ///< The operations that it compares.
    std::string ptx;
    std::uint32_t threads = 32;
    Words in;
    std::size_t out_words = 0;
    /// How `out` is wrong, as a sentence; empty if it is right.
    std::function<std::string(const Words& out)> wrong;
};

/// mma and mma.sp in every shape and type that sm_90 has.
std::vector<TensorProgram> register_programs();
/// mma with fp8, fp6 and fp4 and with block scales, for sm_120a.
std::vector<TensorProgram> small_float_programs();
/// ldmatrix, stmatrix, movmatrix, wmma and wgmma.
std::vector<TensorProgram> memory_programs();

/// Runs a program; the result, or nothing with the reason in `why`.
Words run_program(Bench& bench, const TensorProgram& program, std::string& why);

// What both files use
// ------------------------------------------------------------------------------

/// A type of elements, by its PTX name.
struct ElementType {
    explicit ElementType(std::string_view named);
    [[nodiscard]] bool is_real() const { return exponent_bits != 0; }
    /// The value of the low bits.
    [[nodiscard]] double value(std::uint64_t raw) const;

    std::string name;
    unsigned bits = 0;
    int exponent_bits = 0, fraction_bits = 0;  ///< 0 for integers.
    bool is_signed = false;
};

/// Dense matrices with the exact values of their elements.
struct Operands {
    unsigned m = 0, n = 0, k = 0;
    std::vector<double> a, b, c;
};

/// Random words whose elements have values of about the same size.
Words random_words(const ElementType& type, std::size_t count, std::uint64_t seed);

/// Compares the raw element of d with the sum by definition. Products are exact; `kept` bits of
/// fraction below the largest term are kept of each, and the result has `result` bits of fraction.
struct Judge {
    ElementType type;
    int kept = 25, result = 23;
    bool saturates = false;
    bool exact = false;  ///< Doubles, one fused multiply-add after the other.
};
std::string judged(const Judge& judge, const Operands& of, unsigned row, unsigned column,
                   std::uint64_t raw);

/// Adds the number of common or different bits (".xor.popc") to c, and sets a to zero.
void count_bits(Operands& of, std::string_view how);

/// The beginning of a kernel: %in and %out hold the addresses of the thread's word in either table.
std::string kernel_head(std::string_view target = "sm_90a", std::string_view before = {});
/// "{%r3, %r4}"
std::string register_list(char letter, unsigned first, unsigned count);

}  // namespace lode::emulator::exec::testing
