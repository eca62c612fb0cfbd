// cvt between integers, from integers to reals and from reals to integers, with registers as wide
// as the type and wider.
#include "tests/unit/emulator/exec/reference_real.hpp"

#include <algorithm>

namespace lode::emulator::exec::testing {

namespace {

struct IntegerType {
    int width;
    bool is_signed;

    [[nodiscard]] std::string name() const {
        return (is_signed ? "s" : "u") + std::to_string(width);
    }
    [[nodiscard]] i128 lowest() const { return is_signed ? -(i128{1} << (width - 1)) : 0; }
    [[nodiscard]] i128 highest() const { return (i128{1} << (is_signed ? width - 1 : width)) - 1; }
    /// The value in the low bits of a register, which may be wider.
    [[nodiscard]] i128 read(Bits bits) const {
        const i128 low = static_cast<i128>(bits) & ((i128{1} << width) - 1);
        return low > highest() ? low - (i128{1} << width) : low;
    }
    /// The register's bits for a value, sign- or zero-extended if the register is wider.
    [[nodiscard]] Bits write(i128 value) const {
        return static_cast<Bits>(read(static_cast<Bits>(value)));
    }
    /// The types of registers that can hold it: the smallest and the widest. Together with bf16,
    /// ptxas only accepts registers of exactly its size.
    [[nodiscard]] std::vector<std::string> registers() const {
        if (width == 64) return {"b64"};
        return {"b" + std::to_string(std::max(width, 16)), "b64"};
    }
};
constexpr IntegerType integer_types[] = {{8, false},  {8, true},  {16, false}, {16, true},
                                         {32, false}, {32, true}, {64, false}, {64, true}};

void add_integers(Comparisons& all, const IntegerType& to, const IntegerType& from) {
    for (const std::string& d : to.registers()) {
        for (const std::string& a : from.registers()) {
            for (const bool sat : {false, true}) {
                // .sat is valid only where a value may not fit.
                if (sat && from.lowest() >= to.lowest() && from.highest() <= to.highest()) continue;
                std::string opcode = sat ? "cvt.sat." : "cvt.";
                opcode += to.name() + "." + from.name();
                all.push_back(compared(Form{
                    opcode, d + " " + a, [=](Bits x, Bits, Bits) {
                        const i128 value = from.read(x);
                        return to.write(sat ? std::clamp(value, to.lowest(), to.highest()) : value);
                    }}));
            }
        }
    }
}

void add_to_real(Comparisons& all, const std::string& to, const IntegerType& from) {
    const RealFormat& format = format_named(to);
    for (const auto& [text, way] : rounding_ways) {
        for (const bool sat : {false, true}) {
            if (sat && to == "bf16") continue;
            for (const std::string& a : from.registers()) {
                if (to == "bf16" && a != from.registers().front()) continue;
                std::string opcode = std::string("cvt") + text;
                opcode += (sat ? ".sat." : ".") + to + "." + from.name();
                all.push_back(compared(
                    Form{opcode, to + " " + a,
                         [=, &format, way = way](Bits x, Bits, Bits) {
                             const Bits result = real_of_integer(format, way, from.read(x));
                             return sat ? saturate(format, result) : result;
                         },
                         to == "bf16" && from.width == 8
                             ? "{ .reg .b8 c; cvt.u8.u16 c, a; " + opcode + " d, c; }"
                             : ""}));
            }
        }
    }
}

void add_from_real(Comparisons& all, const IntegerType& to, const std::string& from) {
    const RealFormat& format = format_named(from);
    for (const auto& [text, way] : whole_ways) {
        for (const bool ftz : {false, true}) {
            if (ftz && from != "f32") continue;
            // These conversions clamp with and without .sat.
            for (const bool sat : {false, true}) {
                if (sat && from == "bf16") continue;
                for (const std::string& d : to.registers()) {
                    if (from == "bf16" && d != to.registers().front()) continue;
                    std::string opcode = std::string("cvt") + text;
                    opcode += std::string(ftz ? ".ftz" : "") + (sat ? ".sat." : ".");
                    opcode += to.name() + "." + from;
                    const std::string wide = to.is_signed ? "s16" : "u16";
                    all.push_back(
                        compared(Form{opcode, d + " " + from,
                                      [=, &format, way = way](Bits a, Bits, Bits) {
                                          if (ftz) a = flush(format, a);
                                          return to.write(static_cast<i128>(integer_of_real(
                                              format, way, a, to.width, to.is_signed)));
                                      },
                                      from == "bf16" && to.width == 8
                                          ? "{ .reg .b8 c; " + opcode + " c, a; cvt." + wide + "." +
                                                to.name() + " d, c; }"
                                          : ""}));
                }
            }
        }
    }
}

}  // namespace

static Comparisons convert_integer_family() {
    Comparisons all;
    for (const IntegerType& one : integer_types) {
        for (const IntegerType& other : integer_types)
            add_integers(all, one, other);
        for (const std::string real : {"f32", "f64", "f16", "bf16"}) {
            add_to_real(all, real, one);
            add_from_real(all, one, real);
        }
    }
    return all;
}

LODE_OPCODE_FAMILY("opcode: conversions from and to integers extend, truncate, clamp and round",
                   convert_integer_family)

}  // namespace lode::emulator::exec::testing
