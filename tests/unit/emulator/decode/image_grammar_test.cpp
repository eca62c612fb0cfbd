// Texture and surface instructions: which ones load.
#include "tests/unit/emulator/exec/support.hpp"

namespace lode::emulator::exec::testing {

namespace {

struct ImageProgram {
    std::string instruction;
    int version = 900;
};

/// Why a module with this single instruction isn't loaded; empty if it is.
std::string image_refusal(const ImageProgram& program) {
    Memory memory;
    const std::string text =
        ".version " + std::to_string(program.version / 100) + "." +
        std::to_string(program.version % 100) +
        "\n.target sm_75\n.address_size 64\n.global .texref names;\n.global .b8 bytes[64];\n"
        ".visible .entry k()\n{\n.reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<8>;\n"
        ".reg .s32 %s<8>;\n.reg .u32 %u<8>;\n.reg .f32 %f<8>;\n.reg .f16x2 %x<8>;\n"
        ".reg .b64 %rd<8>;\n.reg .u64 %t;\n" +
        program.instruction + ";\nret;\n}\n";
    const LoadOutcome outcome = Module::load(memory, text, 7, 5);
    if (outcome.status == LoadStatus::ok) return {};
    CHECK(outcome.status == LoadStatus::invalid_ptx);
    return outcome.log.empty() ? "no message" : outcome.log;
}

void loads(const std::string& instruction) {
    INFO(instruction);
    CHECK(image_refusal({instruction}) == "");
}

void refuses(const std::string& instruction, std::string_view part) {
    const std::string why = image_refusal({instruction});
    INFO(instruction << ": " << why);
    CHECK(why.find(part) != std::string::npos);
}

constexpr std::string_view wrong_kind = "has the wrong kind or type";
const std::string texels = " {%f0, %f1, %f2, %f3}";

}  // namespace

TEST_CASE("image grammar: vectors of texels take registers of bits and integers") {
    loads("tex.2d.v4.f32.f32" + texels + ", [%t, {%f4, %f5}]");
    loads("tex.2d.v4.f32.f32 {%u0, %r1, %s2, _}, [%t, {%f4, %f5}]");
    loads("tex.2d.v4.u32.f32 {%r0, %f1, %f2, %f3}, [%t, {%f4, %f5}]");
    loads("tex.2d.v2.f16x2.f32 {%r0, %x1}, [%t, {%f4, %f5}]");
    refuses("tex.2d.v4.u32.f32" + texels + ", [%t, {%f4, %f5}]", wrong_kind);
    refuses("tex.2d.v4.f32.f32 {%f0, %s1, %f2, %f3}, [%t, {%f4, %f5}]", wrong_kind);
    refuses("tex.2d.v4.f32.f32 {%f0, %h1, %f2, %f3}, [%t, {%f4, %f5}]", wrong_kind);
    refuses("tex.2d.v4.f32.f32 {_, _, _, _}, [%t, {%f4, %f5}]", wrong_kind);
    refuses("tex.2d.v2.f32.f32 {%f0, %f1}, [%t, {%f4, %f5}]", wrong_kind);
    refuses("tex.2d.v2.f16x2.f32 {%f0, %f1}, [%t, {%f4, %f5}]", wrong_kind);
}

TEST_CASE("image grammar: coordinates fit the geometry") {
    loads("tex.1d.v4.f32.s32" + texels + ", [%t, {%s4}]");
    loads("tex.1d.v4.f32.f32" + texels + ", [%t, %f4]");
    loads("tex.2d.v4.f32.f32" + texels + ", [%t, {%f4, %f5, %f6, %f7}]");
    loads("tex.a1d.v4.f32.f32" + texels + ", [%t, {%u4, %f5}]");
    loads("tex.acube.v4.f32.f32" + texels + ", [%t, {%u4, %f5, %f6, %f7}]");
    loads("tex.2d.v4.f32.f32" + texels + ", [names, {%f4, %f5}]");
    refuses("tex.2d.v4.f32.f32" + texels + ", [%t, {%f4}]", wrong_kind);
    refuses("tex.3d.v4.f32.f32" + texels + ", [%t, {%f4, %f5, %f6}]", wrong_kind);
    refuses("tex.2d.v4.f32.s32" + texels + ", [%t, {%f4, %f5}]", wrong_kind);
    refuses("tex.2d.v4.f32.f32" + texels + ", [%t, {%s4, %f5}]", wrong_kind);
    refuses("tex.a1d.v4.f32.f32" + texels + ", [%t, {%f4, %f5}]", wrong_kind);
    refuses("tex.cube.v4.f32.s32" + texels + ", [%t, {%s4, %s5, %s6, %s7}]", "can't");
    refuses("tex.2d.v4.f32.f32" + texels + ", [bytes, {%f4, %f5}]", wrong_kind);
    refuses("tex.2d.v4.f32.f32" + texels + ", [%r4, {%f4, %f5}]", wrong_kind);
    refuses("tex.v4.f32.f32" + texels + ", [%t, {%f4, %f5}]", "lacks a modifier");
}

TEST_CASE("image grammar: a level, slopes, offsets and comparisons follow the coordinates") {
    const std::string at = texels + ", [%t, {%f4, %f5}]";
    loads("tex.level.2d.v4.f32.f32" + at + ", %f6");
    loads("tex.level.2d.v4.f32.f32" + at + ", %f6, {%s0, %s1}, %f7");
    loads("tex.grad.2d.v4.f32.f32" + at + ", {%f6, %f7}, {%f6, %f7}");
    loads("tex.2d.v4.f32.f32" + at + ", {%s0, %s1}");
    loads("tex.2d.v4.f32.f32" + at + ", %f6");
    loads("tex.2d.v4.f32.f32" + at + ", %s6, %f6");
    loads("tld4.r.2d.v4.f32.f32" + at);
    refuses("tex.level.2d.v4.f32.f32" + at, "too few operands");
    refuses("tex.level.2d.v4.f32.f32" + at + ", %s6", wrong_kind);
    refuses("tex.2d.level.v4.f32.f32" + at + ", %f6", "can't have the modifier '.level'");
    refuses("tex.grad.2d.v4.f32.f32" + at + ", {%f6}, {%f7}", wrong_kind);
    refuses("tex.2d.v4.f32.f32" + at + ", {%s0, %s1}, %f6, %f7", "too many operands");
    refuses("tld4.2d.v4.f32.f32" + at, "lacks a modifier");
    refuses("tld4.r.1d.v4.f32.f32" + texels + ", [%t, {%f4}]", "can't have the modifier '.1d'");
}

TEST_CASE("image grammar: the predicate of a fetch needs .version 7.1") {
    const std::string fetch = "tex.2d.v4.f32.f32" + texels + "|%p1, [%t, {%f4, %f5}]";
    CHECK(image_refusal({fetch, 701}) == "");
    CHECK(image_refusal({fetch, 700}).find("doesn't support") != std::string::npos);
    refuses("tex.2d.v4.f32.f32" + texels + "|%r1, [%t, {%f4, %f5}]", wrong_kind);
}

TEST_CASE("image grammar: surfaces take registers that are at least as wide as their elements") {
    loads("suld.b.2d.b32.trap {%r0}, [%t, {%s0, %s1}]");
    loads("suld.b.2d.b32.trap %rd0, [%t, {%s0, %s1}]");
    loads("suld.b.3d.v4.b8.clamp {%h0, %h1, %h2, %h3}, [%t, {%s0, %s1, %s2, %s3}]");
    loads("sust.b.a1d.cg.b32.zero [%t, {%s0, %s1}], {%f0}");
    loads("sust.b.1d.b64.zero [%t, {%s0}], 0.5");
    loads("sust.p.2d.b32.trap [%t, {%s0, %s1}], {%r0}");
    refuses("suld.b.2d.b64.trap %r0, [%t, {%s0, %s1}]", wrong_kind);
    refuses("suld.b.2d.v2.b32.trap %r0, [%t, {%s0, %s1}]", wrong_kind);
    refuses("suld.b.2d.b32.trap {%r0}, [%t, {%f0, %f1}]", wrong_kind);
    refuses("suld.b.1d.v4.b64.trap {%rd0, %rd1, %rd2, %rd3}, [%t, {%s0}]", "can't");
    refuses("suld.b.2d.b32 {%r0}, [%t, {%s0, %s1}]", "lacks a modifier");
    refuses("suld.2d.b.b32.trap {%r0}, [%t, {%s0, %s1}]", "isn't a PTX instruction");
    refuses("suld.b.2d.wb.b32.trap {%r0}, [%t, {%s0, %s1}]", "can't have the modifier '.wb'");
    refuses("sust.b.cube.b32.trap [%t, {%s0, %s1, %s2, %s3}], {%r0}", "can't");
    refuses("sust.b.1d.b64.zero [%t, {%s0}], 0f00000000", wrong_kind);
    refuses("sust.b.1d.v2.b32.zero [%t, {%s0}], {%r0, _}", wrong_kind);
}

}  // namespace lode::emulator::exec::testing
