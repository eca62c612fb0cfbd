// cvt between reals: whole numbers, wider and narrower formats, packed formats of 8 bits or fewer.
#include "tests/unit/emulator/exec/reference_real.hpp"

namespace lode::emulator::exec::testing {

namespace {

struct ConvertModifiers {
    bool ftz = false, sat = false, relu = false, finite = false;

    [[nodiscard]] std::string text() const {
        return std::string(ftz ? ".ftz" : "") + (sat ? ".sat" : "") + (relu ? ".relu" : "") +
               (finite ? ".satfinite" : "");
    }
};

/// The part of a double's NaN that fits. An H200 keeps it; PTX leaves it open.
Bits narrowed_nan(const RealFormat& to, Bits a) {
    const Bits quiet = Bits{1} << (to.fraction_bits - 1);
    const Bits payload = a >> (52 - to.fraction_bits) & (2 * quiet - 1);
    return (a >> 63 != 0 ? to.sign() : 0) | to.infinity() | quiet | payload;
}

/// .ftz applies to the f32 side; ptxas ignores it where the other side is f16.
Bits converted(const RealFormat& to, Way way, const RealFormat& from, ConvertModifiers m, Bits a) {
    const auto is_single = [](const RealFormat& f) { return f.bits() == 32; };
    if (is_single(to) && &from == &bf16_format) return a << 16;  // NaNs too.
    if (is_nan(from, a) && &from == &f64_format && &to != &from)
        return m.sat ? 0 : narrowed_nan(to, a);
    if (m.ftz && is_single(from) && &to != &f16_format) a = flush(from, a);
    Bits result = real_convert(to, way, from, a, m.finite);
    if (m.ftz && is_single(to)) result = flush(to, result);
    if (m.sat) result = saturate(to, result);
    if (m.relu && !is_nan(to, result) && (result & to.sign()) != 0) result = 0;
    return result;
}

/// Accepts any NaN, and either zero: the sign of zero is unspecified for .relu.
Accepts loosely(const RealFormat& format) {
    return [&format](Bits got, Bits want) {
        return got == want || (is_nan(format, got) && is_nan(format, want)) ||
               (want == 0 && got == format.sign());
    };
}
Accepts each_part(const RealFormat& format, u32 width) {
    return [accepts = loosely(format), width](Bits got, Bits want) {
        const Bits part = (Bits{1} << width) - 1;
        return accepts(got & part, want & part) && accepts(got >> width, want >> width);
    };
}

void add(Comparisons& all, const std::string& to, const std::string& rounding, Way way,
         const std::string& from, ConvertModifiers m) {
    const RealFormat& target = format_named(to);
    const RealFormat& source = format_named(from);
    std::string opcode = "cvt" + rounding;
    opcode += m.text() + "." + to + "." + from;
    // For f64, and for copies within a format, any NaN is allowed; otherwise there is only one NaN.
    const bool free = to == "f64" || to == from;
    const Accepts accepts = m.relu ? loosely(target) : (free ? any_nan(target) : Accepts{});
    const Accepts on_device = from == "f64" ? any_nan(target) : Accepts{};
    all.push_back(compared(Form{
        opcode,
        to + " " + from,
        [=, &target, &source](Bits a, Bits, Bits) { return converted(target, way, source, m, a); },
        {},
        accepts,
        on_device}));
}

void add_same(Comparisons& all) {
    for (const std::string type : {"f32", "f64", "f16", "bf16"}) {
        const RealFormat& format = format_named(type);
        const std::string types = type + " " + type;
        for (const bool sat : {false, true}) {
            if (sat && type == "bf16") continue;
            for (const bool ftz : {false, true}) {
                if (ftz && type != "f32") continue;
                const std::string tail =
                    std::string(ftz ? ".ftz" : "") + (sat ? ".sat." : ".") + type + "." + type;
                if (type != "bf16") add(all, type, "", Way::rn, type, {ftz, sat, false, false});
                for (const auto& [text, way] : whole_ways) {
                    all.push_back(compared(Form{std::string("cvt") + text + tail,
                                                types,
                                                [=, &format, way = way](Bits a, Bits, Bits) {
                                                    if (ftz) a = flush(format, a);
                                                    const Bits b = real_whole(format, way, a);
                                                    return sat ? saturate(format, b) : b;
                                                },
                                                {},
                                                any_nan(format)}));
                }
            }
        }
    }
}

void add_pairs_of_formats(Comparisons& all) {
    for (const bool sat : {false, true}) {
        for (const bool ftz : {false, true}) {
            const ConvertModifiers m{ftz, sat, false, false};
            for (const auto& [text, way] : rounding_ways) {
                add(all, "f32", text, way, "f64", m);
                add(all, "f16", text, way, "f32", m);
                if (!ftz) add(all, "f16", text, way, "f64", m);
            }
            add(all, "f64", "", Way::rn, "f32", m);
            add(all, "f32", "", Way::rn, "f16", m);
            if (!ftz) add(all, "f64", "", Way::rn, "f16", m);
        }
    }
    add(all, "f32", "", Way::rn, "bf16", {});
    add(all, "f64", "", Way::rn, "bf16", {});
    for (const auto& [text, way] : rounding_ways) {
        add(all, "bf16", text, way, "f16", {});
        add(all, "bf16", text, way, "f64", {});
        add(all, "f16", text, way, "bf16", {});
        if (way == Way::rm || way == Way::rp) continue;
        for (const bool relu : {false, true}) {
            for (const bool finite : {false, true}) {
                const ConvertModifiers m{false, false, relu, finite};
                add(all, "f16", text, way, "f32", m);
                add(all, "bf16", text, way, "f32", m);
            }
        }
    }
}

/// Two values in one register; the first source goes to the upper half.
void add_packed16(Comparisons& all) {
    for (const std::string type : {"f16", "bf16"}) {
        const RealFormat& format = format_named(type);
        for (const auto& [text, way] : {rounding_ways[0], rounding_ways[1]}) {
            for (const bool relu : {false, true}) {
                for (const bool finite : {false, true}) {
                    const ConvertModifiers m{false, false, relu, finite};
                    std::string opcode = std::string("cvt") + text;
                    opcode += m.text() + "." + type + "x2.f32";
                    all.push_back(compared(Form{opcode,
                                                "b32 f32 f32",
                                                [=, &format, way = way](Bits a, Bits b, Bits) {
                                                    return (converted(format, way, f32_format, m, a)
                                                            << 16) |
                                                           converted(format, way, f32_format, m, b);
                                                },
                                                {},
                                                each_part(format, 16)}));
                }
            }
        }
    }
}

/// NaNs, which PTX leaves open: the one NaN of tf32, or, where ptxas rounds the bits (rna), the
/// source without its low bits, minus one unit with .satfinite.
Bits to_tf32(Way way, ConvertModifiers m, Bits a) {
    if (way != Way::rna || !is_nan(f32_format, a))
        return converted(tf32_format, way, f32_format, m, a) << 13;
    const Bits cut = a & ~Bits{0x1fff};
    return m.finite ? cut - 0x2000 : cut;
}

void add_tf32(Comparisons& all) {
    constexpr std::pair<const char*, Way> roundings[] = {
        {".rna", Way::rna}, {".rn", Way::rn}, {".rz", Way::rz}};
    for (const auto& [text, way] : roundings) {
        for (const bool relu : {false, true}) {
            for (const bool finite : {false, true}) {
                if (relu && way == Way::rna) continue;
                const ConvertModifiers m{false, false, relu, finite};
                all.push_back(compared(
                    Form{std::string("cvt") + text + m.text() + ".tf32.f32",
                         "b32 f32",
                         [=, way = way](Bits a, Bits, Bits) { return to_tf32(way, m, a); },
                         {},
                         [](Bits got, Bits want) { return want == 0 && got == 0x80000000; }}));
            }
        }
    }
}

void add_narrow(Comparisons& all, const std::string& name, const RealFormat& format) {
    for (const bool relu : {false, true}) {
        const ConvertModifiers m{false, false, relu, true};
        const auto narrow = [=, &format](const RealFormat& from, Bits a) {
            return converted(format, Way::rn, from, m, a);
        };
        const auto down = std::string("cvt.rn.satfinite") + (relu ? ".relu." : ".") + name + "x2";
        // Two 4-bit values fill a byte, which is accessed through a wider register.
        const u32 width = format.bits() == 4 ? 4 : 8;
        const std::string from_singles = down + ".f32";
        const std::string from_halves = down + ".f16x2";
        const auto text = [&](const std::string& opcode, const std::string& operands) {
            if (width == 8) return opcode + " d" + operands + ";";
            return "{ .reg .b8 t; " + opcode + " t" + operands + "; cvt.u16.u8 d, t; }";
        };
        all.push_back(compared(Form{from_singles, "b16 f32 f32",
                                    [=](Bits a, Bits b, Bits) {
                                        return (narrow(f32_format, a) << width) |
                                               narrow(f32_format, b);
                                    },
                                    text(from_singles, ", a, b"), each_part(format, width)}));
        const auto up = std::string("cvt.rn") + (relu ? ".relu" : "") + ".f16x2." + name + "x2";
        const auto widen = [=, &format](Bits a) {
            return converted(f16_format, Way::rn, format, {false, false, relu, false},
                             a & ((Bits{1} << format.bits()) - 1));
        };
        all.push_back(compared(
            Form{up, "b32 e5m2x2",
                 [=](Bits a, Bits, Bits) {
                     const Bits high = a >> width;
                     return widen(a) | (widen(high) << 16);
                 },
                 width == 8 ? up + " d, a;" : "{ .reg .b8 t; cvt.u8.u16 t, a; " + up + " d, t; }",
                 each_part(f16_format, 16)}));
        if (name != "e4m3" && name != "e5m2") continue;
        all.push_back(compared(Form{from_halves, "b16 f16x2",
                                    [=](Bits a, Bits, Bits) {
                                        return (narrow(f16_format, a >> 16) << 8) |
                                               narrow(f16_format, a & 0xffff);
                                    },
                                    text(from_halves, ", a"), each_part(format, width)}));
    }
}

}  // namespace

static Comparisons convert_real_family() {
    Comparisons all;
    add_same(all);
    add_pairs_of_formats(all);
    add_packed16(all);
    add_tf32(all);
    add_narrow(all, "e4m3", e4m3_format);
    add_narrow(all, "e5m2", e5m2_format);
    add_narrow(all, "e2m3", e2m3_format);
    add_narrow(all, "e3m2", e3m2_format);
    add_narrow(all, "e2m1", e2m1_format);
    return all;
}

LODE_OPCODE_FAMILY("opcode: conversions between reals round once, flush, saturate and narrow",
                   convert_real_family)

}  // namespace lode::emulator::exec::testing
