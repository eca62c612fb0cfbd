// The grammar: modifiers are accepted in any order that PTX allows, and none is ignored.
#include "emulator/decode/ptx/grammar.hpp"

#include "tests/unit/emulator/decode/grammar_support.hpp"

#include <algorithm>
#include <set>

namespace lode::emulator::exec::testing {

namespace {

const std::string odd_lane = "and.b32 %r2, %r0, 1;\nsetp.eq.u32 %p1, %r2, 1;\n";
const std::string pick = "selp.u32 %r1, 1, 0, %p2;\n";

}  // namespace

TEST_CASE("ptx grammar: vote.any.sync is vote.sync.any") {
    for (const char* const vote :
         {"vote.any.sync.pred", "vote.sync.any.pred", "vote.pred.sync.any"})
        check_lanes(odd_lane + vote + " %p2, %p1, -1;\n" + pick, [](auto) { return 1; });
    for (const char* const vote : {"vote.uni.sync.pred", "vote.pred.uni.sync"}) {
        check_lanes(odd_lane + vote + " %p2, %p1, -1;\n" + pick, [](auto) { return 0; });
        check_lanes("setp.gt.u32 %p1, %r0, 99;\n" + std::string(vote) + " %p2, %p1, -1;\n" + pick,
                    [](auto) { return 1; });
    }
    for (const char* const vote : {"vote.all.sync.pred", "vote.pred.all.sync"})
        check_lanes(odd_lane + vote + " %p2, %p1, -1;\n" + pick, [](auto) { return 0; });
}

TEST_CASE("ptx grammar: vote.ballot.sync.b32 is vote.sync.ballot.b32") {
    for (const char* const vote : {"vote.ballot.sync.b32", "vote.b32.sync.ballot"})
        check_lanes(odd_lane + vote + " %r1, %p1, -1;\n", [](auto) { return 0xaaaaaaaa; });
}

TEST_CASE("ptx grammar: shfl.down.sync reads the lanes of shfl.sync.down") {
    for (const char* const move :
         {"shfl.down.sync.b32", "shfl.b32.sync.down", "shfl.down.b32.sync"})
        check_lanes(std::string(move) + " %r1, %r0, 3, 31, -1;\n",
                    [](auto lane) { return lane + 3 < 32 ? lane + 3 : lane; });
    check_lanes("shfl.up.sync.b32 %r1, %r0, 3, 0, -1;\n",
                [](auto lane) { return lane < 3 ? lane : lane - 3; });
    check_lanes("shfl.bfly.b32.sync %r1, %r0, 5, 31, -1;\n", [](auto lane) { return lane ^ 5; });
}

TEST_CASE("ptx grammar: match.sync.all is match.all.sync") {
    const std::string half = "shr.u32 %r2, %r0, 4;\n";
    for (const char* const match : {"match.sync.all.b32", "match.b32.all.sync"})
        check_lanes(half + match + " %r1|%p1, %r2, -1;\n", [](auto) { return 0; });
    for (const char* const match : {"match.sync.any.b32", "match.b32.any.sync"})
        check_lanes(half + match + " %r1, %r2, -1;\n",
                    [](auto lane) { return lane < 16 ? 0xffff : 0xffff0000; });
}

TEST_CASE("ptx grammar: redux, cvt, setp, ld and atom accept their modifiers in any order") {
    check_lanes("redux.u32.max.sync %r1, %r0, -1;\n", [](auto) { return 31; });
    check_lanes("redux.add.sync.s32 %r1, %r0, -1;\n", [](auto) { return 496; });
    check_lanes(
        "cvt.rn.f32.u32 %f1, %r0;\nadd.f32 %f1, %f1, 0f3f400000;\n"
        "cvt.s32.f32.rmi %r1, %f1;\n",
        [](auto lane) { return lane; });
    check_lanes("setp.u32.gt %p2, %r0, 9;\n" + pick, [](auto lane) { return lane > 9; });
    check_lanes("setp.gt.u32 %p1, %r0, 9;\nsetp.u32.and.lt %p2, %r0, 20, %p1;\n" + pick,
                [](auto lane) { return lane > 9 && lane < 20; });
    const std::string place = "mul.wide.u32 %rd2, %r0, 4;\nadd.u64 %rd2, %rd2, %rd0;\n";
    check_lanes(place +
                    "st.u32.global [%rd2], 7;\natom.u32.global.add %r2, [%rd2], %r0;\n"
                    "ld.u32.global %r1, [%rd2];\n",
                [](auto lane) { return lane + 7; });
    check_lanes("shf.l.b32.wrap %r1, 0, %r0, 1;\n", [](auto lane) { return lane * 2; });
}

TEST_CASE("ptx grammar: the order of types matters") {
    check_lanes("mov.b32 %r2, 255;\ncvt.s32.s8 %r1, %r2;\n", [](auto) { return -1; });
    CHECK(refusal_of("cvt.f32.f64 %f1, %fd1;") != "");  // A rounding modifier is required.
    CHECK(refusal_of("cvt.f32.f64.rn %f1, %fd1;") == "");
    CHECK(refusal_of("cvt.f64.f32.rn %fd1, %f1;") != "");
}

TEST_CASE("ptx grammar: unknown, repeated or conflicting modifiers make the PTX invalid") {
    const std::pair<const char*, const char*> wrong[] = {
        {"add.foo.f32 %f1, %f2, %f3;", ".foo"},
        {"add.rn.rz.f32 %f1, %f2, %f3;", ".rz"},
        {"add.ftz.ftz.f32 %f1, %f2, %f3;", ".ftz"},
        {"vote.sync.any.all.pred %p1, %p2, -1;", ".all"},
        {"add.u32.u32 %r1, %r2, %r3;", ".u32"},
        {"ld.global.shared.u32 %r1, [%rd1];", ".shared"},
        {"ld.v2.v4.f32 {%f1,%f2}, [%rd1];", ".v4"},
        {"setp.lt.gt.f32 %p1, %f1, %f2;", ".gt"},
        {"mul.u32.wide %rd1, %r1, %r2;", ".wide"},
        {"fma.rn.u32 %r1, %r2, %r3, %r4;", ".u32"},
        {"add.relu.f32 %f1, %f2, %f3;", ".relu"},
        {"ld.gpu.u32 %r1, [%rd1];", ""},
        {"ld.relaxed.u32 %r1, [%rd1];", ""},
        {"fma.f32 %f1, %f2, %f3, %f4;", ""},
        {"atom.add.min.u32 %r1, [%rd1], %r2;", ""},
        {"min.abs.f32 %f1, %f2, %f3;", ""},
        {"cvt.sat.s64.u8 %rd1, %r1;", ""},
        {"bar.sync.cta 0;", ".cta"},
        {"shfl.down.b32 %r1, %r2, 1, 31, -1;", ""},
        {"frobnicate.u32 %r1;", "frobnicate"},
        {"mul24.u32.lo %r1, %r2, %r3;", ""},
        {"setp.lo.s32 %p1, %r1, %r2;", ".lo"}};
    for (const auto& row : wrong) {
        const std::string why = refusal_of(row.first);
        INFO(row.first << ": " << why);
        CHECK(why.find("line 1") != why.npos);  // The instruction is on a line from 10 to 19.
        CHECK(why.find(row.second) != why.npos);
    }
    CHECK(refusal_of("add.sat.sat.s32 %r1, %r2, %r3;") == "");  // ptxas accepts these duplicates.
    CHECK(refusal_of("add.cc.cc.u32 %r1, %r2, %r3;") == "");
}

TEST_CASE("ptx grammar: calls accept registers, and arguments that don't match are refused") {
    const std::string twice =
        ".func (.param .b32 r) twice (.param .b32 a, .param .b64 b)\n{\n.reg .b32 %x;\n"
        "ld.param.b32 %x, [a];\nadd.u32 %x, %x, %x;\nst.param.b32 [r], %x;\nret;\n}\n";
    const auto load = [&](const std::string& body) {
        Memory memory;
        return Module::load(
            memory, ptx_kernel("", ".param .b32 p32;\n.param .b64 p64;\n" + body, twice), 9, 0);
    };
    CHECK(load("call (p32), twice, (p32, p64);").status == LoadStatus::ok);
    CHECK(load("call (%r1), twice, (%r2, %rd1);").status == LoadStatus::ok);
    for (const char* const wrong :
         {"call twice, (p32, p64);", "call (p32), twice, (p32);", "call (p32), twice, (p64, p64);",
          "call (p64), twice, (p32, p64);", "call (%rd1), twice, (%r2, %rd1);",
          "call (p32), twice, (p32, p64, p64);", "call (p32), nothing, (p32);", "call k;",
          ".shared .b32 s;\ncall (p32), twice, (s, p64);"}) {
        INFO(wrong);
        CHECK(load(wrong).status == LoadStatus::invalid_ptx);
    }
    Rig rig;
    const auto module =
        rig.load(ptx_kernel(".param .u64 out",
                            "ld.param.u64 %rd1, [out];\nmov.u32 %r2, 21;\n"
                            "call (%r1), twice, (%r2, %rd1);\nst.global.u32 [%rd1], %r1;\n",
                            twice));
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(1));
    CHECK(rig.run(*module, "k", {1, 1, 1}, {1, 1, 1}, out).fault == Fault::none);
    CHECK(rig.get<std::uint32_t>(out, 1)[0] == 42);
}

TEST_CASE("ptx grammar: a function's parameters and results may be registers") {
    const std::string twice =
        ".func (.reg .b32 r) twice (.reg .b32 a, .param .b32 b)\n{\n.reg .u32 %x;\n"
        "ld.param.u32 %x, [b];\nadd.u32 r, a, a;\nadd.u32 r, r, %x;\nret;\n}\n";
    Rig rig;
    const auto module = rig.load(ptx_kernel(
        ".param .u64 out",
        "ld.param.u64 %rd0, [out];\nmov.u32 %r0, %laneid;\ncall (%r1), twice, (%r0, 1);\n"
        "mul.wide.u32 %rd1, %r0, 4;\n"
        "add.u64 %rd0, %rd0, %rd1;\nst.global.u32 [%rd0], %r1;\n",
        twice));
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(32));
    CHECK(rig.run(*module, "k", {1, 1, 1}, {32, 1, 1}, out).fault == Fault::none);
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        CHECK(rig.get<std::uint32_t>(out, 32)[lane] == 2 * lane + 1);
}

TEST_CASE("ptx grammar: module variables may be declared in a function body") {
    check_lanes(".global .align 4 .u32 inside = 9;\nld.global.u32 %r1, [inside];\n",
                [](auto) { return 9; });
    check_lanes(".const .align 4 .u32 inside[2] = {3, 4};\nld.const.u32 %r1, [inside+4];\n",
                [](auto) { return 4; });
}

TEST_CASE("ptx grammar: register types must match the instruction's as in ptxas") {
    for (const char* const wrong :
         {"add.f32 %f1, %f2, %fd3;", "add.u32 %r1, %r2, %f3;", "add.f32 %f1, %f2, 1;",
          "add.u32 %r1, %r2, 1.5;", "add.u32 %r1, %r2;", "add.u32 %r1, %r2, %r3, %r4;",
          "add.u32 _, %r1, %r2;", "add.u32 %r1, %tid.x, %r2;", "ld.global.u32 %rs1, [%rd1];",
          "ld.global.f32 %r1, gm;", "ld.shared.u32 %r1, [gm];", "mov.u32 %r1, %clock64;",
          "mov.f32 %f1, %tid.x;", "setp.eq.f32 %p1, %r1, %rd2;", "bar.sync 16;", "bar.sync 0, 33;",
          "bfe.u32 %r1, %r2, 300, 1;", "ld.global.u32 %r1, [300];", "st.global.u32 [%r1], %r2;"}) {
        INFO(wrong);
        CHECK(refusal_of(wrong) != "");
    }
    for (const char* const right :
         {"add.f32 %f1, %r2, %f3;", "ld.global.u8 %rd1, [%rd2];", "ld.global.f32 %r1, [%rd1];",
          "atom.add.u32 _, [%rd1], %r2;", "setp.eq.u32 _|%p1, %r1, %r2;",
          "selp.b32 %f1, %r1, 0, !%p1;", "ld.shared.u32 %r1, [%r2];", "cvt.u32.u8 %r1, %tid.x;",
          "ld .global .u32 %r1, [%rd1];"}) {
        INFO(right);
        CHECK(refusal_of(right) == "");
    }
}

TEST_CASE("ptx grammar: the fraction of createpolicy is over 0 and at most 1") {
    const auto with = [](const std::string& fraction) {
        return refusal_of("createpolicy.fractional.L2::evict_last.b64 %rd1, " + fraction + ";\n");
    };
    for (const char* const fraction : {"1.0", "0.25", "0f3F800000", "0f00000001", "%f1"})
        CHECK(with(fraction).empty());
    for (const char* const fraction : {"0.0", "2.0", "-1.0", "0f00000000", "0f3F800001", "1"})
        CHECK_FALSE(with(fraction).empty());
}

TEST_CASE("ptx grammar: features that the .target or .version doesn't support are refused") {
    const auto status = [](const std::string& version, const std::string& target,
                           const std::string& body) {
        Memory memory;
        return Module::load(memory,
                            ".version " + version + "\n.target " + target +
                                "\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<9>;\n"
                                ".reg .f32 %f<9>;\n" +
                                body + "\nret;\n}\n",
                            12, 0)
            .status;
    };
    CHECK(status("7.0", "sm_80", "redux.sync.add.u32 %r1, %r2, %r3;") == LoadStatus::ok);
    CHECK(status("7.0", "sm_75", "redux.sync.add.u32 %r1, %r2, %r3;") == LoadStatus::invalid_ptx);
    CHECK(status("7.7", "sm_80", "mov.u32 %r1, %cluster_ctarank;") == LoadStatus::invalid_ptx);
    CHECK(status("6.3", "sm_80", "") == LoadStatus::invalid_ptx);
    CHECK(status("8.8", "sm_100", "min.f32 %f1, %f2, %f3, %f4;") == LoadStatus::ok);
    CHECK(status("8.8", "sm_90", "min.f32 %f1, %f2, %f3, %f4;") == LoadStatus::invalid_ptx);
    CHECK(status("7.8", "compute_90", "mov.u32 %r1, %cluster_ctarank;") == LoadStatus::ok);
    CHECK(status("7.7", "compute_90", "") == LoadStatus::invalid_ptx);
    CHECK(status("7.8", "compute_80", "mov.u32 %r1, %cluster_ctarank;") == LoadStatus::invalid_ptx);
    // The verdicts of ptxas 13.0.
    for (const char* const target : {"sm_10", "sm_13"}) {
        for (const char* const version : {"2.3", "3.0", "8.0"}) {
            for (const char* const right :
                 {"mad.f32 %f1, %f2, %f3, %f4;", "mad.ftz.f32 %f1, %f2, %f3, %f4;",
                  "mad.sat.f32 %f1, %f2, %f3, %f4;", "add.rz.f32 %f1, %f2, %f3;",
                  "add.ftz.f32 %f1, %f2, %f3;", "div.approx.f32 %f1, %f2, %f3;"})
                CHECK(status(version, target, right) == LoadStatus::ok);
            for (const char* const wrong :
                 {"mad.rn.f32 %f1, %f2, %f3, %f4;", "fma.rn.f32 %f1, %f2, %f3, %f4;",
                  "add.rm.f32 %f1, %f2, %f3;", "mul.rp.f32 %f1, %f2, %f3;",
                  "div.rn.f32 %f1, %f2, %f3;", "rcp.rn.f32 %f1, %f2;", "sqrt.rn.f32 %f1, %f2;",
                  "copysign.f32 %f1, %f2, %f3;", "div.f32 %f1, %f2, %f3;"})
                CHECK(status(version, target, wrong) == LoadStatus::invalid_ptx);
        }
    }
    CHECK(status("3.1", "sm_30", "mad.f32 %f1, %f2, %f3, %f4;") == LoadStatus::ok);
    CHECK(status("3.2", "sm_30", "mad.f32 %f1, %f2, %f3, %f4;") == LoadStatus::invalid_ptx);
    CHECK(status("3.1", "sm_30", "mad.rn.f32 %f1, %f2, %f3, %f4;") == LoadStatus::ok);
}

TEST_CASE("ptx grammar: PTX of a newer version runs if all of it is understood") {
    const auto load = [](const std::string& body, int newest) {
        Memory memory;
        LoadOptions options;
        options.newest_ptx = newest;
        return Module::load(
            memory,
            ".version 9.5\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
            ".reg .b32 %r<9>;\n" +
                body + "\nret;\n}\n",
            9, 0, options);
    };
    CHECK(load("add.u32 %r1, %r2, %r3;", 900).status == LoadStatus::ok);
    const LoadOutcome unknown = load("add.wobbly.u32 %r1, %r2, %r3;", 900);
    CHECK(unknown.status == LoadStatus::unsupported_version);
    CHECK(unknown.log.find(".wobbly") != std::string::npos);
    // A device that reports an older driver version reads only the PTX versions of that driver.
    CHECK(load("add.u32 %r1, %r2, %r3;", 807).status == LoadStatus::unsupported_version);
}

TEST_CASE("ptx grammar: an unsupported instruction is refused by name, and its module loads") {
    Rig rig;
    const auto module = rig.load(ptx_kernel("", "txq.filter_mode.b32 %r1, [%rd1];\n"));
    const Refusal* const refusal = module->refusal("k");
    REQUIRE(refusal != nullptr);
    CHECK(refusal->message.find("txq.filter_mode.b32") != std::string::npos);
}

TEST_CASE("ptx grammar: scalar video forms that GPUs compute differently are refused by name") {
    for (const char* const text :
         {"vadd.u32.u32.u32.sat %r1, %r2, %r3;", "vsub.u32.s32.s32.max %r1, %r2, %r3, %r4;",
          "vmin.s32.s32.s32.min %r1, %r2, %r3, %r4;", "vmad.u32.u32.u32.shr7 %r1, %r2, %r3, %r4;",
          "vmad.u32.u32.u32.shr15 %r1, %r2, %r3, %r4;",
          "vabsdiff.s32.s32.s32.sat %r1.b2, %r2, %r3, %r4;"}) {
        CAPTURE(text);
        Rig rig;
        const auto module = rig.load(ptx_kernel("", text));
        const Refusal* const refusal = module->refusal("k");
        REQUIRE(refusal != nullptr);
        CHECK(refusal->message.find("which GPUs don't execute as the PTX ISA specifies") !=
              std::string::npos);
    }
}

TEST_CASE("ptx grammar: a .target with too many digits is refused") {
    Memory memory;
    for (const std::string digits : {"sm_9050909090", "sm_99999999999999999999", "sm_100000"}) {
        const LoadOutcome outcome =
            Module::load(memory,
                         ".version 8.0\n.target " + digits +
                             "\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n",
                         9, 0, {});
        CHECK(outcome.status != LoadStatus::ok);
    }
}

TEST_CASE("ptx grammar: each form's canonical text is parsed and reproduced") {
    const auto forms = ptx::all_forms();
    CHECK(forms.size() > 400);
    for (const ptx::Form* const form : forms) {
        std::string text(form->name);
        std::vector<ptx::Word> modifiers;
        std::size_t types = 0;
        for (const ptx::Group& group : form->groups) {
            modifiers.push_back(group.words.front());
            text += "." + std::string(modifiers.back().text());
            if (group.order == ptx::Order::type) ++types;
        }
        std::string why;
        const auto readings = ptx::read_opcode(text, why);
        INFO(text << ": " << why);
        REQUIRE_FALSE(readings.empty());
        const auto own = std::ranges::find(readings, form, &ptx::Reading::form);
        REQUIRE(own != readings.end());
        CHECK(own->text == text);
        std::string words;
        for (const ptx::Word word : own->words) {
            CHECK(own->has(word));
            words += (words.empty() ? "" : ".") + std::string(word.text());
        }
        CHECK(words == text);
        CHECK(own->type_count == std::min(types, own->types.size()));
        for (const ptx::Word word : {ptx::Word("ftz"), ptx::Word("volatile"), ptx::Word("relu")})
            CHECK(own->has(word) == (std::ranges::find(modifiers, word) != modifiers.end()));
    }
}

TEST_CASE("ptx grammar: the list of words has those of the forms") {
    std::set<std::string_view> words;
    for (const ptx::Form* const form : ptx::all_forms()) {
        for (std::string_view name = form->name; !name.empty();) {
            words.insert(name.substr(0, name.find('.')));
            name.remove_prefix(std::min(name.size(), name.find('.')));
            name.remove_prefix(name.empty() ? 0 : 1);
        }
        for (const ptx::Group& group : form->groups)
            for (const ptx::Word word : group.words)
                words.insert(word.text());
    }
    CHECK(std::ranges::equal(words, ptx::all_words));
    CHECK_FALSE(ptx::Word::named("shared::"));
    CHECK_FALSE(ptx::Word::named(""));
}

TEST_CASE("ptx grammar: a reading has the types, spaces and sizes that the opcode names") {
    const auto read = [](std::string_view text) -> const ptx::Reading& {
        std::string why;
        const auto readings = ptx::read_opcode(text, why);
        INFO(text << ": " << why);
        REQUIRE_FALSE(readings.empty());
        return readings.front();
    };
    const ptx::Reading& conversion = read("cvt.f16.rn.s32");
    CHECK(conversion.name() == ptx::Word("cvt"));
    CHECK(conversion.text == "cvt.rn.f16.s32");
    CHECK(conversion.has("rn"));
    CHECK_FALSE(conversion.has("rz"));
    REQUIRE(conversion.type_count == 2);
    CHECK(conversion.types[0].kind == ptx::Class::real);
    CHECK(conversion.types[0].bytes == 2);
    CHECK(conversion.types[1].kind == ptx::Class::signed_integer);
    CHECK(conversion.spaces[0] == ptx::Space::none);
    CHECK(conversion.vector == 1);
    const ptx::Reading& copy = read("cp.async.ca.shared::cta.global");
    CHECK(copy.spaces[0] == ptx::Space::shared);
    CHECK(copy.spaces[1] == ptx::Space::global);
    CHECK(copy.traits.space == ptx::Space::shared);
    CHECK(read("ld.param::entry.v4.u32").spaces[0] == ptx::Space::param);
    CHECK(read("ld.param::entry.v4.u32").vector == 4);
    CHECK(read("wgmma.mma_async.sync.aligned.m64n104k16.f32.f16.f16").columns == 104);
    CHECK(read("tex.a2d.v4.f32.s32").geometry == ptx::Word("a2d"));
}

}  // namespace lode::emulator::exec::testing
