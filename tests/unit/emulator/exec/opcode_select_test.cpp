// Moves, packing, selections and predicates.
#include "tests/unit/emulator/exec/opcode_support.hpp"

namespace lode::emulator::exec::testing {

namespace {

void add(Comparisons& all, const std::string& opcode, const std::string& types, Reference f,
         const std::string& text = {}) {
    all.push_back(compared(Form{opcode, types, std::move(f), text}));
}

void add_moves(Comparisons& all) {
    for (const std::string t :
         {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
        const std::string width = "b" + t.substr(1);
        add(all, "mov." + t, width + " " + width, [](Bits a, Bits, Bits) { return a; });
    }
    add(all, "mov.pred", "pred pred", [](Bits a, Bits, Bits) { return a; });
    add(
        all, "mov.b32", "b32 b16 b16", [](Bits a, Bits b, Bits) { return (b << 16) | a; },
        "mov.b32 d, {a, b};");
    add(
        all, "mov.b64", "b64 b32 b32", [](Bits a, Bits b, Bits) { return (b << 32) | a; },
        "mov.b64 d, {a, b};");
    add(
        all, "mov.b64", "b64 b16 b16 b16",
        [](Bits a, Bits b, Bits c) { return (c << 48) | (a << 32) | (b << 16) | a; },
        "mov.b64 d, {a, b, a, c};");
    add(
        all, "mov.b32", "b16 b16 b16 b32", [](Bits, Bits, Bits c) { return c >> 16; },
        "mov.b32 {a, d}, c;");
    add(
        all, "mov.b32", "b16 b16 b16 b32", [](Bits, Bits, Bits c) { return c & 0xffff; },
        "mov.b32 {d, b}, c;");
    add(
        all, "mov.b64", "b32 b32 b32 b64", [](Bits, Bits, Bits c) { return c & 0xffff'ffff; },
        "mov.b64 {d, _}, c;");
    add(
        all, "mov.b64", "b32 b32 b32 b64", [](Bits, Bits, Bits c) { return c >> 32; },
        "mov.b64 {_, d}, c;");
    add(
        all, "mov.b64", "b16 b16 b16 b64", [](Bits, Bits, Bits c) { return (c >> 32) & 0xffff; },
        "mov.b64 {a, b, d, _}, c;");
    // Immediate values, and a register packed into itself.
    add(
        all, "mov.b64", "b64", [](Bits, Bits, Bits) { return Bits{0xfedc'ba98'7654'3210}; },
        "mov.b64 d, 0xfedcba9876543210;");
    add(
        all, "mov.s32", "b32", [](Bits, Bits, Bits) { return ~Bits{4}; }, "mov.s32 d, -5;");
    add(
        all, "mov.f32", "b32", [](Bits, Bits, Bits) { return Bits{0x3fc00000}; },
        "mov.f32 d, 0f3FC00000;");
    add(
        all, "mov.f64", "b64", [](Bits, Bits, Bits) { return Bits{0x3ff8000000000000}; },
        "mov.f64 d, 0d3FF8000000000000;");
    add(
        all, "mov.b64", "b64 b64", [](Bits a, Bits, Bits) { return (a << 32) | (a >> 32); },
        "mov.b64 {m, n}, a; mov.b64 d, {n, m};");
}

void add_special(Comparisons& all) {
    struct Special {
        const char* name;
        u64 (*value)(u32 thread, u32 threads);
    };
    static constexpr Special specials[] = {
        {"%tid.x", [](u32 i, u32) { return u64{i}; }},
        {"%tid.y", [](u32, u32) { return u64{0}; }},
        {"%ntid.x", [](u32, u32 n) { return u64{n}; }},
        {"%ntid.z", [](u32, u32) { return u64{1}; }},
        {"%ctaid.x", [](u32, u32) { return u64{0}; }},
        {"%nctaid.x", [](u32, u32) { return u64{1}; }},
        {"%laneid", [](u32 i, u32) { return u64{i % 32}; }},
        {"%lanemask_eq", [](u32 i, u32) { return u64{1} << (i % 32); }},
        {"%lanemask_lt", [](u32 i, u32) { return (u64{1} << (i % 32)) - 1; }},
        {"%lanemask_le", [](u32 i, u32) { return (u64{2} << (i % 32)) - 1; }},
        {"%lanemask_gt", [](u32 i, u32) { return 0xffff'ffff & ~((u64{2} << (i % 32)) - 1); }},
        {"%lanemask_ge", [](u32 i, u32) { return 0xffff'ffff & ~((u64{1} << (i % 32)) - 1); }},
        {"%cluster_ctaid.x", [](u32, u32) { return u64{0}; }},
        {"%cluster_nctaid.x", [](u32, u32) { return u64{1}; }},
        {"%dynamic_smem_size", [](u32, u32) { return u64{0}; }},
    };
    for (const Special& one : specials) {
        all.push_back(
            compared(Scene{"mov.u32",
                           std::string("mov.u32 %r1, ") + one.name + "; st.global.u32 [%out], %r1;",
                           [&one](Rows& in, Rows& out) {
                               const auto n = static_cast<u32>(in.size());
                               for (u32 i = 0; i < n; ++i) {
                                   set(out[i], 0, static_cast<u32>(one.value(i, n)));
                               }
                           },
                           {},
                           64,
                           exec::Fault::none,
                           true}));
    }
    for (const char* const clock : {"%clock64", "%globaltimer"}) {
        all.push_back(compared(Scene{
            "mov.u64",
            std::string("mov.u64 %d2, ") + clock + "; mov.u64 %d3, " + clock +
                "; setp.ge.u64 %p1, %d3, %d2; selp.u64 %d4, 1, 0, %p1; st.global.u64 [%out], %d4;",
            [](Rows&, Rows& out) {
                for (Row& row : out)
                    row[0] = 1;
            }}));
    }
}

void add_selections(Comparisons& all) {
    for (const u32 width : {16u, 32u, 64u}) {
        const std::string size = std::to_string(width);
        const std::string two = "b" + size + " b" + size + " b" + size;
        for (const std::string kind : {"b", "u", "s", "f"}) {
            if (kind == "f" && width == 16) continue;
            add(all, "selp." + kind + size, two + " pred",
                [](Bits a, Bits b, Bits c) { return c != 0 ? a : b; });
            add(all, "slct." + kind + size + ".s32", two + " s32",
                [](Bits a, Bits b, Bits c) { return (c >> 31) == 0 ? a : b; });
            for (const bool ftz : {false, true}) {
                add(all, "slct" + std::string(ftz ? ".ftz." : ".") + kind + size + ".f32",
                    two + " f32", [=](Bits a, Bits b, Bits c) {
                        const bool nan = (c & 0x7fff'ffff) > 0x7f80'0000;
                        const bool zero = ftz ? (c & 0x7f80'0000) == 0 : (c & 0x7fff'ffff) == 0;
                        return !nan && ((c >> 31) == 0 || zero) ? a : b;
                    });
            }
        }
    }
    // An immediate operand.
    add(
        all, "selp.s64", "b64 pred", [](Bits a, Bits, Bits) { return a != 0 ? ~Bits{0} : 0; },
        "selp.s64 d, -1, 0, a;");
}

void add_predicates(Comparisons& all) {
    add(all, "and.pred", "pred pred pred", [](Bits a, Bits b, Bits) { return a & b; });
    add(all, "or.pred", "pred pred pred", [](Bits a, Bits b, Bits) { return a | b; });
    add(all, "xor.pred", "pred pred pred", [](Bits a, Bits b, Bits) { return a ^ b; });
    add(all, "not.pred", "pred pred", [](Bits a, Bits, Bits) { return a ^ 1; });
}

}  // namespace

static Comparisons select_family() {
    Comparisons all;
    add_moves(all);
    add_special(all);
    add_selections(all);
    add_predicates(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: moves, selections and predicates equal their reference", select_family)

}  // namespace lode::emulator::exec::testing
