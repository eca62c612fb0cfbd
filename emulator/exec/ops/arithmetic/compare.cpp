// setp: 18 comparisons of integers and reals, with an optional combination.
#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/exec/ops/control/branch.hpp"
#include "emulator/isa/half.hpp"
#include "emulator/isa/real.hpp"

namespace lode::emulator::exec {

namespace {

/// setp and the branch that follows it: to the target if r[0] = f(a, b); flags: if not.
template <class A, auto f>
const Op* compare_and_branch(WarpContext& c, const Op* op) {
    const u32 bits = compare_lanes<A, A, f>(source<A>(c, op->r[1]), source<A>(c, op->r[2]));
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, bits, c.mask);
    return branch_on(c, op, (op->flags != 0 ? ~bits : bits) & c.mask);
}

// One row for plain setp.<cmp>.<type>, one with a branch after it, and one, ".x", for forms with
// more operands.
#define LODE_COMPARE(name, T, letter, expression)                                              \
    {"setp." name, &compare<T, [](T a, T b) { return (expression); }>, {'p', letter, letter}}, \
        {"setp.bra." name,                                                                     \
         &compare_and_branch<T, [](T a, T b) { return (expression); }>,                        \
         {'p', letter, letter}},                                                               \
        {"setp.x." name,                                                                       \
         &compare_combined<T, [](T a, T b) { return (expression); }>,                          \
         {'p', letter, letter, 'p', 'p'}},

#define LODE_INTEGER_COMPARES(U, S, bits, letter) \
    LODE_COMPARE("eq." bits, U, letter, a == b)   \
    LODE_COMPARE("ne." bits, U, letter, a != b)   \
    LODE_COMPARE("lt.u" bits, U, letter, a < b)   \
    LODE_COMPARE("le.u" bits, U, letter, a <= b)  \
    LODE_COMPARE("gt.u" bits, U, letter, a > b)   \
    LODE_COMPARE("ge.u" bits, U, letter, a >= b)  \
    LODE_COMPARE("lt.s" bits, S, letter, a < b)   \
    LODE_COMPARE("le.s" bits, S, letter, a <= b)  \
    LODE_COMPARE("gt.s" bits, S, letter, a > b)   \
    LODE_COMPARE("ge.s" bits, S, letter, a >= b)

// `X` reads an operand: as it is, flushed, or widened.
#define LODE_REAL_COMPARES(T, name, letter, X)                          \
    LODE_COMPARE("eq." name, T, letter, X(a) == X(b))                   \
    LODE_COMPARE("ne." name, T, letter, X(a) < X(b) || X(a) > X(b))     \
    LODE_COMPARE("lt." name, T, letter, X(a) < X(b))                    \
    LODE_COMPARE("le." name, T, letter, X(a) <= X(b))                   \
    LODE_COMPARE("gt." name, T, letter, X(a) > X(b))                    \
    LODE_COMPARE("ge." name, T, letter, X(a) >= X(b))                   \
    LODE_COMPARE("equ." name, T, letter, !(X(a) < X(b) || X(a) > X(b))) \
    LODE_COMPARE("neu." name, T, letter, !(X(a) == X(b)))               \
    LODE_COMPARE("ltu." name, T, letter, !(X(a) >= X(b)))               \
    LODE_COMPARE("leu." name, T, letter, !(X(a) > X(b)))                \
    LODE_COMPARE("gtu." name, T, letter, !(X(a) <= X(b)))               \
    LODE_COMPARE("geu." name, T, letter, !(X(a) < X(b)))                \
    LODE_COMPARE("num." name, T, letter, X(a) == X(a) && X(b) == X(b))  \
    LODE_COMPARE("nan." name, T, letter, X(a) != X(a) || X(b) != X(b))

#define LODE_PLAIN(v) (v)
#define LODE_FLUSHED_HALF(v) half_to_real(flushed_half(v))

constexpr OpRow compare_table[] = {
    LODE_INTEGER_COMPARES(u16, i16, "16", 'h') LODE_INTEGER_COMPARES(u32, i32, "32", 'w')
        LODE_INTEGER_COMPARES(u64, i64, "64", 'd') LODE_REAL_COMPARES(f32, "f32", 'w', LODE_PLAIN)
            LODE_REAL_COMPARES(f32, "ftz.f32", 'w', flushed) LODE_REAL_COMPARES(
                f64, "f64", 'd', LODE_PLAIN) LODE_REAL_COMPARES(u16, "f16", 'h', half_to_real)
                LODE_REAL_COMPARES(u16, "ftz.f16", 'h', LODE_FLUSHED_HALF)
                    LODE_REAL_COMPARES(u16, "bf16", 'h', bfloat_to_real)};

}  // namespace

std::span<const OpRow> compare_rows() {
    return compare_table;
}

}  // namespace lode::emulator::exec
