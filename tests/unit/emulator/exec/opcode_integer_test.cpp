// Integer arithmetic of 16, 32 and 64 bits, extended precision, and dot products.
#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <algorithm>

namespace lode::emulator::exec::testing {

namespace {

/// A reference that computes in 128 bits; the result is truncated to the type's width.
template <class T, class F>
Reference wide(F f) {
    return [f](Bits a, Bits b, Bits c) {
        const i128 x = value_of<T>(a);
        const i128 y = value_of<T>(b);
        const i128 z = value_of<T>(c);
        if constexpr (std::is_invocable_v<F, i128, i128, i128>) {
            return static_cast<Bits>(f(x, y, z));
        } else if constexpr (std::is_invocable_v<F, i128, i128>) {
            return static_cast<Bits>(f(x, y));
        } else {
            return static_cast<Bits>(f(x));
        }
    };
}

u128 product(i128 a, i128 b) {
    return static_cast<u128>(a) * static_cast<u128>(b);
}
/// The upper half of the product of two values of type T.
template <class T>
i128 upper(i128 a, i128 b) {
    const u128 whole = product(a, b);
    if constexpr (std::is_signed_v<T>) {
        return static_cast<i128>(whole) >> (8 * sizeof(T));
    } else {
        return static_cast<i128>(whole >> (8 * sizeof(T)));
    }
}
i128 clamp32(i128 a) {
    return std::clamp<i128>(a, INT32_MIN, INT32_MAX);
}

template <class T>
void add_arithmetic(Comparisons& all) {
    const std::string t = type_name<T>();
    const std::string twice = (std::is_signed_v<T> ? "s" : "u") + std::to_string(16 * sizeof(T));
    const std::string one = t + " " + t;
    const std::string two = one + " " + t;
    const std::string three = two + " " + t;
    const auto form = [&](const std::string& name, const std::string& types, Reference f) {
        all.push_back(compared(Form{name + "." + t, types, std::move(f)}));
    };
    form("add", two, wide<T>([](i128 a, i128 b) { return a + b; }));
    form("sub", two, wide<T>([](i128 a, i128 b) { return a - b; }));
    form("mul.lo", two, wide<T>([](i128 a, i128 b) { return product(a, b); }));
    form("mul.hi", two, wide<T>([](i128 a, i128 b) { return upper<T>(a, b); }));
    form("mad.lo", three,
         wide<T>([](i128 a, i128 b, i128 c) { return product(a, b) + static_cast<u128>(c); }));
    form("mad.hi", three, wide<T>([](i128 a, i128 b, i128 c) { return upper<T>(a, b) + c; }));
    form("sad", three, wide<T>([](i128 a, i128 b, i128 c) { return (a < b ? b - a : a - b) + c; }));
    // PTX leaves division by zero undefined; with ptxas the result is all ones.
    form("div", two, wide<T>([](i128 a, i128 b) { return b == 0 ? -1 : a / b; }));
    form("rem", two, wide<T>([](i128 a, i128 b) { return b == 0 ? -1 : a % b; }));
    form("min", two, wide<T>([](i128 a, i128 b) { return b < a ? b : a; }));
    form("max", two, wide<T>([](i128 a, i128 b) { return b < a ? a : b; }));
    if constexpr (std::is_signed_v<T>) {
        form("neg", one, wide<T>([](i128 a) { return -a; }));
        form("abs", one, wide<T>([](i128 a) { return a < 0 ? -a : a; }));
    }
    if constexpr (sizeof(T) < 8) {
        form("mul.wide", twice + " " + one, wide<T>([](i128 a, i128 b) { return a * b; }));
        form("mad.wide", twice + " " + one + " " + twice, [](Bits a, Bits b, Bits c) {
            return static_cast<Bits>(i128{value_of<T>(a)} * value_of<T>(b) + i128{c});
        });
    }
}

template <class T>
i128 low24(i128 a) {
    const auto bits = static_cast<u32>(a) << 8;
    return static_cast<T>(bits) >> 8;
}

template <class T>
void add_24(Comparisons& all) {
    const std::string t = type_name<T>();
    const std::string two = t + " " + t + " " + t;
    const auto times = [](i128 a, i128 b) { return low24<T>(a) * low24<T>(b); };
    all.push_back(compared(Form{"mul24.lo." + t, two, wide<T>(times)}));
    all.push_back(compared(Form{"mul24.hi." + t, two,
                                wide<T>([times](i128 a, i128 b) { return times(a, b) >> 16; })}));
    all.push_back(
        compared(Form{"mad24.lo." + t, two + " " + t,
                      wide<T>([times](i128 a, i128 b, i128 c) { return times(a, b) + c; })}));
    all.push_back(compared(
        Form{"mad24.hi." + t, two + " " + t,
             wide<T>([times](i128 a, i128 b, i128 c) { return (times(a, b) >> 16) + c; })}));
}

/// mad24.hi.sat.s32 saturates the sum only.
Comparison saturated_24() {
    return compared(
        Form{"mad24.hi.sat.s32", "s32 s32 s32 s32", wide<i32>([](i128 a, i128 b, i128 c) {
                 return clamp32(((low24<i32>(a) * low24<i32>(b)) >> 16) + c);
             })});
}

}  // namespace

static Comparisons integer_family() {
    Comparisons all;
    all.push_back(saturated_24());
    add_arithmetic<i16>(all);
    add_arithmetic<u16>(all);
    add_arithmetic<i32>(all);
    add_arithmetic<u32>(all);
    add_arithmetic<i64>(all);
    add_arithmetic<u64>(all);
    add_24<i32>(all);
    add_24<u32>(all);
    const std::string two = "s32 s32 s32";
    const auto form = [&](const std::string& name, const std::string& types, Reference f) {
        all.push_back(compared(Form{name, types, std::move(f)}));
    };
    form("add.sat.s32", two, wide<i32>([](i128 a, i128 b) { return clamp32(a + b); }));
    form("sub.sat.s32", two, wide<i32>([](i128 a, i128 b) { return clamp32(a - b); }));
    form("mad.hi.sat.s32", two + " s32",
         wide<i32>([](i128 a, i128 b, i128 c) { return clamp32((a * b >> 32) + c); }));
    form("min.relu.s32", two,
         wide<i32>([](i128 a, i128 b) { return std::max<i128>(0, std::min(a, b)); }));
    form("max.relu.s32", two,
         wide<i32>([](i128 a, i128 b) { return std::max<i128>(0, std::max(a, b)); }));
    return all;
}

namespace {

/// CC.CF is first set from the lowest bit of a 32-bit register.
template <class T>
void add_carries(Comparisons& all) {
    using U = std::make_unsigned_t<T>;
    const std::string t = type_name<T>();
    const std::string two = t + " " + t + " " + t;
    const std::string flag = two + " u32";
    const std::string take_c = "and.b32 m, c, 1; add.cc.u32 m, m, 0xffffffff; ";
    const std::string borrow_c = "and.b32 m, c, 1; sub.cc.u32 m, 0, m; ";
    const std::string out = " addc." + t + " d, 0, 0;";
    const std::string out_borrow = " subc." + t + " d, 0, 0;";
    const auto over = [](u128 sum) { return static_cast<Bits>(sum >> (8 * sizeof(T))) & 1; };
    const auto form = [&](const std::string& name, const std::string& types,
                          const std::string& before, const std::string& after, Reference f) {
        const std::string opcode = name + "." + t;
        const std::string operands = name.starts_with("mad") ? " d, a, b, c;" : " d, a, b;";
        std::string text = before;
        text += opcode;
        text += operands;
        text += after;
        all.push_back(compared(Form{opcode, types, std::move(f), std::move(text)}));
    };
    const auto plus = [](Bits a, Bits b, Bits c) { return u128{a} + b + c; };
    form("add.cc", two, "", "", [=](Bits a, Bits b, Bits) { return a + b; });
    form("add.cc", two, "", out, [=](Bits a, Bits b, Bits) { return over(plus(a, b, 0)); });
    form("addc", flag, take_c, "", [=](Bits a, Bits b, Bits c) { return a + b + (c & 1); });
    form("addc.cc", flag, take_c, "", [=](Bits a, Bits b, Bits c) { return a + b + (c & 1); });
    form("addc.cc", flag, take_c, out,
         [=](Bits a, Bits b, Bits c) { return over(plus(a, b, c & 1)); });
    form("sub.cc", two, "", "", [=](Bits a, Bits b, Bits) { return a - b; });
    form("sub.cc", two, "", out_borrow, [=](Bits a, Bits b, Bits) { return a < b ? ~Bits{0} : 0; });
    // After a subtraction, an addition reads the carry as "no borrow".
    form("sub.cc", two, "", out, [=](Bits a, Bits b, Bits) { return Bits{a >= b}; });
    form("subc", flag, borrow_c, "", [=](Bits a, Bits b, Bits c) { return a - b - (c & 1); });
    form("subc.cc", flag, borrow_c, "", [=](Bits a, Bits b, Bits c) { return a - b - (c & 1); });
    form("subc.cc", flag, borrow_c, out_borrow,
         [=](Bits a, Bits b, Bits c) { return u128{a} < u128{b} + (c & 1) ? ~Bits{0} : 0; });
    // In a chain of multiplications the carry comes from a's lowest bit.
    const std::string narrow = sizeof(T) == 8 ? "cvt.u32.u64 m, a; " : "mov.b32 m, a; ";
    const std::string take_a = narrow + "and.b32 m, m, 1; add.cc.u32 m, m, 0xffffffff; ";
    const std::string three = two + " " + t;
    const auto part = [](bool high, Bits a, Bits b) {
        const i128 x = value_of<T>(a);
        const i128 y = value_of<T>(b);
        return u128{static_cast<U>(high ? upper<T>(x, y) : static_cast<i128>(product(x, y)))};
    };
    for (const bool high : {false, true}) {
        const std::string which = high ? "hi" : "lo";
        form("mad." + which + ".cc", three, "", "",
             [=](Bits a, Bits b, Bits c) { return static_cast<Bits>(part(high, a, b) + c); });
        form("mad." + which + ".cc", three, "", out,
             [=](Bits a, Bits b, Bits c) { return over(part(high, a, b) + c); });
        for (const char* const suffix : {"", ".cc"}) {
            form("madc." + which + suffix, three, take_a, "", [=](Bits a, Bits b, Bits c) {
                return static_cast<Bits>(part(high, a, b) + c + (a & 1));
            });
        }
        form("madc." + which + ".cc", three, take_a, out,
             [=](Bits a, Bits b, Bits c) { return over(part(high, a, b) + c + (a & 1)); });
    }
}

}  // namespace

static Comparisons carry_family() {
    Comparisons all;
    add_carries<u32>(all);
    add_carries<i32>(all);
    add_carries<u64>(all);
    add_carries<i64>(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: integer arithmetic equals its scalar reference at the edges",
                   integer_family)

LODE_OPCODE_FAMILY("opcode: additions, subtractions and products pass their carry on", carry_family)

}  // namespace lode::emulator::exec::testing
