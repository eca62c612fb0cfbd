#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <sstream>

#include <fmt/format.h>

namespace lode::emulator::testing {

namespace {

constexpr Bits untouched = 0x5a5a'5a5a'5a5a'5a5a;

Bits kept_of(std::string_view type) {
    const unsigned bits = static_cast<unsigned>(
        std::stoul(std::string(type.substr(type.find_first_of("0123456789")))));
    return bits >= 64 ? ~Bits{0} : (Bits{1} << bits) - 1;
}

std::string register_type(std::string_view type) {
    const Bits kept = kept_of(type);
    if (type.ends_with("x2")) return ".b32";
    if (kept <= 0xffff) return ".b16";
    return kept <= 0xffff'ffff ? ".b32" : ".b64";
}
std::string memory_type(std::string_view type) {
    if (type.ends_with("x2")) return "b32";
    const Bits kept = kept_of(type);
    if (kept <= 0xff) return "u8";
    if (kept <= 0xffff) return "b16";
    return kept <= 0xffff'ffff ? "b32" : "b64";
}

/// A thread whose number is 1 modulo `skip` doesn't run the instruction.
std::string program(const Form& form, const std::vector<std::string>& types, unsigned skip) {
    std::string text =
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param "
        ".u64 out)\n{\n.reg .pred p, q, skipped;\n.reg .b32 i, m;\n.reg .b64 from, to, o;\n";
    const char names[] = {'d', 'a', 'b', 'c'};
    for (std::size_t k = 0; k < types.size(); ++k) {
        text += fmt::format(".reg {} {};\n", register_type(types[k]), names[k]);
    }
    text +=
        "ld.param.u64 from, [in];\nld.param.u64 to, [out];\nmov.u32 i, %ctaid.x;\n"
        "mov.u32 m, %ntid.x;\nmad.lo.u32 i, i, m, %tid.x;\nmul.wide.u32 o, i, 24;\n"
        "add.u64 from, from, o;\nmul.wide.u32 o, i, 8;\nadd.u64 to, to, o;\n";
    for (std::size_t k = 1; k < types.size(); ++k) {
        text += fmt::format("ld.global.{} {}, [from+{}];\n", memory_type(types[k]), names[k],
                            8 * (k - 1));
    }
    text += fmt::format("ld.global.{} d, [to];\n", memory_type(types[0]));
    text +=
        fmt::format("rem.u32 m, i, {};\nsetp.eq.u32 skipped, m, 1;\n@skipped bra DONE;\n", skip);
    text += form.text;
    text += fmt::format("\nDONE:\nst.global.{} [to], d;\nret;\n}}\n", memory_type(types[0]));
    return text;
}

}  // namespace

std::vector<Bits> edges(std::string_view type) {
    if (type == "f32") {
        return {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                0x7fc00000, 0x00000001, 0x807fffff, 0x7f7fffff, 0x00800000, 0x3f000000,
                0x40200000, 0xc0600000, 0x4f000000, 0xcf000000, 0x3dcccccd, 0x5f000000};
    }
    if (type == "f64") {
        return {0,
                0x8000000000000000,
                0x3ff0000000000000,
                0xbff8000000000000,
                0x7ff0000000000000,
                0xfff0000000000000,
                0x7ff8000000000000,
                1,
                0x7fefffffffffffff,
                0x4004000000000000,
                0x41e0000000000000,
                0xc3e0000000000000,
                0x3fb999999999999a,
                0x3e70000000000000};
    }
    if (type == "f16") {
        return {0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0x7e00,
                1, 0x83ff, 0x7bff, 0x3555, 0x4100, 0x6400};
    }
    if (type == "bf16") {
        return {0, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0x7fc0, 1, 0x7f7f, 0x3eaa, 0x4049, 0xc2c8};
    }
    std::vector<Bits> made{0,
                           1,
                           2,
                           3,
                           7,
                           31,
                           32,
                           33,
                           63,
                           64,
                           100,
                           0x7f,
                           0x80,
                           0xff,
                           0x7fff,
                           0x8000,
                           0xffff,
                           0x7fffffff,
                           0x80000000,
                           0xffffffff,
                           0xfffffffe,
                           0x12345678,
                           0x7fffffffffffffff,
                           0x8000000000000000,
                           ~Bits{0},
                           0xfedcba9876543210};
    for (Bits& bits : made)
        bits &= kept_of(type);
    return made;
}

void check_form(const Form& form) {
    std::vector<std::string> types;
    std::istringstream words(form.types);
    for (std::string word; words >> word;)
        types.push_back(word);
    const auto as = edges(types.size() > 1 ? types[1] : types[0]);
    const auto bs = types.size() > 2 ? edges(types[2]) : std::vector<Bits>{0};
    const auto cs = types.size() > 3 ? edges(types[3]) : std::vector<Bits>{0};
    std::vector<Bits> in;
    std::size_t turn = 0;
    for (const Bits a : as) {
        for (const Bits b : bs) {
            in.insert(in.end(), {a, b, cs[turn++ % cs.size()]});
        }
    }
    const std::size_t count = in.size() / 3;
    const std::size_t padded = (count + 63) / 64 * 64;
    in.resize(padded * 3);
    const Bits kept = types[0].ends_with("x2") ? 0xffff'ffff : kept_of(types[0]);
    for (const unsigned skip : {1u << 30, 3u}) {
        Rig rig;
        const auto module = rig.load(program(form, types, skip));
        REQUIRE(module);
        INFO(form.text);
        if (const Refusal* const refusal = module->refusal("k")) FAIL(refusal->message);
        const auto from = rig.put(in);
        const auto to = rig.put(std::vector<Bits>(padded, untouched & kept));
        const auto outcome =
            rig.run(*module, "k", {static_cast<std::uint32_t>(padded / 64)}, {64}, from, to);
        REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
        const auto got = rig.get<Bits>(to, padded);
        for (std::size_t k = 0; k < count; ++k) {
            const bool ran = k % skip != 1;
            const Bits want = ran ? form.reference(in[3 * k], in[3 * k + 1], in[3 * k + 2]) & kept
                                  : untouched & kept;
            if ((got[k] & kept) == want) continue;
            FAIL_CHECK(fmt::format("{} of 0x{:x}, 0x{:x}, 0x{:x} is 0x{:x} and should be 0x{:x}",
                                   form.text, in[3 * k], in[3 * k + 1], in[3 * k + 2],
                                   got[k] & kept, want));
            return;
        }
    }
}

}  // namespace lode::emulator::testing
