// Every typed opcode that NVRTC 13.0 was seen to emit runs and is compared with a reference.
#include "tests/unit/emulator/exec/opcode_support.hpp"
#include "tests/unit/emulator/exec/support.hpp"

#include <set>

namespace lode::emulator::exec {

using testing::Rig;

namespace {

struct Row {
    std::string_view opcode, statement;
};

constexpr Row runs[] = {
#define LODE_RUNS(opcode, statement) {opcode, statement},
#define LODE_SAMPLES(opcode, statement)
#include "tests/unit/emulator/exec/nvrtc_opcodes_common.def"
#include "tests/unit/emulator/exec/nvrtc_opcodes_rare.def"
#undef LODE_RUNS
#undef LODE_SAMPLES
};
/// Textures and surfaces, which need a driver's handles: tests/unit/emulator/driver runs them.
constexpr Row samples[] = {
#define LODE_RUNS(opcode, statement)
#define LODE_SAMPLES(opcode, statement) {opcode, statement},
#include "tests/unit/emulator/exec/nvrtc_opcodes_common.def"
#include "tests/unit/emulator/exec/nvrtc_opcodes_rare.def"
#undef LODE_RUNS
#undef LODE_SAMPLES
};

/// A module around the statement. %rd20, %r21 and %rd22 are 16-byte aligned addresses of the lane's
/// own global, shared and local memory; %r23 is 32; other registers hold the lane number or a
/// nearby real.
std::string program(std::string_view statement) {
    std::string text =
        ".version 8.7\n.target sm_90\n.address_size 64\n"
        ".const .align 16 .b8 table[16];\n.shared .align 16 .b8 buffer[512];\n"
        ".shared .align 8 .b64 bar;\n"
        ".func (.param .b32 result) twice(.param .b32 x)\n{ .reg .b32 %r<2>; ld.param.b32 %r1, "
        "[x]; add.u32 %r1, %r1, %r1; st.param.b32 [result], %r1; ret; }\n"
        ".func (.param .b32 result) first(.param .align 16 .b8 x[16])\n{ .reg .b32 %r<2>; "
        "ld.param.b32 %r1, [x]; st.param.b32 [result], %r1; ret; }\n";
    for (const auto& [type, bits] :
         {std::pair{"f32", "b32"}, {"b32", "b32"}, {"f64", "f64"}, {"b64", "b64"}}) {
        text += std::string(".func (.param .") + type + " result) same_" + type + "(.param ." +
                type + " x)\n{ .reg ." + bits + " %v; ld.param." + type + " %v, [x]; st.param." +
                type + " [result], %v; ret; }\n";
    }
    text +=
        ".visible .entry k(.param .u64 out, .param .align 16 .b8 given[32])\n{\n"
        ".local .align 16 .b8 __local_depot0[64];\n.reg .pred %p<16>;\n.reg .b16 %rs<16>;\n"
        ".reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n.reg .f32 %f<16>;\n.reg .f64 %fd<16>;\n"
        "mov.u32 %r30, %tid.x; mul.lo.u32 %r31, %r30, 16; mov.u32 %r21, buffer;"
        "add.u32 %r21, %r21, %r31; cvt.u64.u32 %rd30, %r31; ld.param.u64 %rd20, [out];"
        "add.u64 %rd20, %rd20, %rd30; mov.u64 %rd22, __local_depot0; mov.u32 %r23, 32;"
        "st.local.v4.u32 [%rd22], {%r30, %r30, %r30, %r30};\n";
    for (const char k : std::string_view("12345678")) {
        const std::string n(1, k);
        text += "setp.gt.u32 %p" + n + ", %r30, " + n + "; mov.u32 %r" + n +
                ", %r30; cvt.u16.u32 %rs" + n + ", %r30; cvt.u64.u32 %rd" + n +
                ", %r30; cvt.rn.f32.u32 %f" + n + ", %r30; cvt.rn.f64.u32 %fd" + n + ", %r30;\n";
    }
    text += statement;
    return text + "\nDONE:\nst.global.u32 [%rd20], %r30;\nret;\n}\n";
}

/// Whether the statement ends the lanes that run it, so that they don't reach the last store.
bool ends(std::string_view opcode) {
    return opcode == "ret" || opcode == "trap" || opcode == "brkpt";
}

}  // namespace

TEST_CASE("opcodes: every form that NVRTC was seen to emit is in one of the lists") {
    std::set<std::string_view> names;
    for (const Row& row : runs)
        names.insert(row.opcode);
    for (const Row& row : samples)
        names.insert(row.opcode);
    CHECK(names.size() == 540);
    CHECK(std::size(samples) == 9);
}

TEST_CASE("opcodes: every form runs") {
    Rig rig;
    const auto out = rig.put(std::vector<std::uint32_t>(512));
    struct {
        std::uint64_t a, b, c, d;
    } given{1, 2, 3, 4};
    for (const Row& row : runs) {
        INFO(row.opcode);
        CHECK(row.statement.find(row.opcode) != std::string_view::npos);
        const auto module = rig.load(program(row.statement));
        REQUIRE(module);
        if (const Refusal* const refusal = module->refusal("k")) {
            FAIL_CHECK(refusal->message);
            continue;
        }
        std::memset(reinterpret_cast<void*>(out), 0x5a, 512);
        const auto outcome = rig.run(*module, "k", {1}, {32}, out, std::uint64_t{0}, given);
        const Fault want =
            row.opcode == "trap" || row.opcode == "brkpt" ? Fault::launch_failed : Fault::none;
        CHECK_MESSAGE(outcome.fault == want, outcome.report);
        CHECK((rig.get<std::uint32_t>(out, 125)[124] == 31) == !ends(row.opcode));
    }
}

TEST_CASE("opcodes: every form that runs is compared with a scalar reference") {
    std::set<std::string, std::less<>> known;
    for (const testing::Family family : testing::families()) {
        for (const testing::Comparison& one : family())
            known.insert(one.opcode);
    }
    for (const Row& row : runs)
        CHECK_MESSAGE(known.contains(row.opcode), row.opcode);
}

TEST_CASE("opcodes: textures and surfaces are decoded, and a number that is no handle is found") {
    Rig rig;
    const auto out = rig.put(std::vector<std::uint32_t>(128));
    struct {
        std::uint64_t a, b, c, d;
    } given{1, 2, 3, 4};
    for (const Row& row : samples) {
        INFO(row.opcode);
        const auto module = rig.load(program(row.statement));
        REQUIRE(module);
        CHECK(module->refusal("k") == nullptr);
        const auto outcome = rig.run(*module, "k", {1}, {32}, out, std::uint64_t{0}, given);
        CHECK(outcome.fault == Fault::illegal_address);
        CHECK(outcome.report.find("which it isn't") != std::string::npos);
    }
}

}  // namespace lode::emulator::exec
