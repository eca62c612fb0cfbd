// What an instruction sets and reads, and what each pass over a function concludes from it.
#include "emulator/decode/copies.hpp"
#include "emulator/decode/flow_graph.hpp"
#include "emulator/decode/indexing.hpp"
#include "emulator/decode/live_ranges.hpp"
#include "emulator/decode/product_registers.hpp"
#include "emulator/decode/ptx/grammar.hpp"
#include "emulator/decode/uses.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace lode::emulator::decode {
namespace {

/// One validated kernel.
class Tree {
public:
    explicit Tree(std::string_view body, std::string_view target = "sm_90a")
        : text_(fmt::format(
              ".version 9.0\n.target {}\n.address_size 64\n.shared .align 16 .b8 s[64];\n"
              ".func (.reg .b32 r) f(.reg .b32 a) {{ mov.b32 r, a; ret; }}\n"
              ".func g(.reg .b32 a) {{ ret; }}\n"
              ".visible .entry k(.param .u64 p)\n{{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n"
              ".reg .b32 %r<32>;\n.reg .f32 %f<32>;\n.reg .b64 %rd<8>;\n{}\n}}\n",
              target, body)) {
        INFO(text_);
        const ptx::ParseError syntax = ptx::parse(text_, module_, ptx::own_version);
        CAPTURE(syntax.message);
        REQUIRE(syntax.message.empty());
        const ptx::ParseError error = ptx::validate(module_);
        CAPTURE(error.message);
        REQUIRE(error.message.empty());
    }

    [[nodiscard]] const ptx::Function& function() const { return module_.functions.back(); }
    [[nodiscard]] FlowGraph graph() const { return FlowGraph(function()); }
    [[nodiscard]] const ptx::Instruction& at(u32 instruction) const {
        return function().instructions[instruction];
    }
    /// The only register of an operand.
    [[nodiscard]] u32 reg(u32 instruction, std::size_t operand) const {
        u32 found = 0;
        each_register(function(), function().operands_of(at(instruction))[operand],
                      [&](u32 index) { found = index; });
        return found;
    }
    [[nodiscard]] LiveRange live_range(u32 register_index) const {
        Indexing indexing;
        const std::size_t count = function().instructions.size();
        indexing.accesses.resize(count);
        indexing.unneeded.resize(count);
        return live_ranges(graph(), indexing)[register_index];
    }

private:
    std::string text_;
    ptx::Module module_;
};

ptx::Traits traits_of(std::string_view instruction, std::string_view target = "sm_90a") {
    return Tree(fmt::format("{}\nret;", instruction), target).at(0).traits;
}

void check_results(std::string_view instruction, int results, std::string_view target = "sm_90a") {
    CAPTURE(std::string(instruction));
    CHECK(traits_of(instruction, target).results == results);
}

}  // namespace

TEST_CASE("ptx traits: the operands that an instruction sets") {
    for (const char* const sets_nothing :
         {"bar.sync %r1, 32;", "barrier.sync %r1, %r2;", "bar.warp.sync %r1;", "nanosleep.u32 %r1;",
          "st.global.b32 [%rd1], %r1;", "red.global.add.u32 [%rd1], %r1;",
          "bra L; L:", "T: .branchtargets L, M; brx.idx %r1, T; L: M:", "call g, (%r1);",
          "call.uni g, (%r1);", "mbarrier.arrive.shared::cluster.b64 _, [%r1];",
          "cp.async.ca.shared.global [%r1], "
          "[%rd1], 4;",
          "setmaxnreg.inc.sync.aligned.u32 64;"})
        check_results(sets_nothing, 0);
    check_results("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;", 0, "sm_100a");
    for (const char* const sets_one :
         {"add.u32 %r1, %r2, %r3;", "setp.eq.u32 %p1|%p2, %r1, %r2;", "call (%r1), f, (%r2);",
          "mbarrier.arrive.shared.b64 %rd1, [s];", "mbarrier.arrive.shared.b64 _, [s], 2;",
          "bar.red.popc.u32 %r1, 0, %p1;", "ld.global.v2.u32 {%r1, %r2}, [%rd1];",
          "atom.global.add.u32 %r1, [%rd1], 1;", "elect.sync _|%p1, %r1;", "activemask.b32 %r1;",
          "fns.b32 %r1, %r2, %r3, %r4;"})
        check_results(sets_one, 1);
    check_results("tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r1, %r2}, %r3, [%r4];", 2,
                  "sm_103a");
}

TEST_CASE("ptx traits: what an instruction does besides") {
    const auto product = traits_of(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, "
        "1, 1, 0, 0;");
    CHECK(product.results == 1);
    CHECK(product.reads_results);
    CHECK(traits_of("stackrestore.u64 %rd1;").reads_results);
    CHECK_FALSE(traits_of("stacksave.u64 %rd1;").reads_results);
    CHECK(traits_of("add.u32 %r1, %r2, %r3;").is_pure);
    CHECK(traits_of("shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;").is_pure);
    CHECK_FALSE(traits_of("ld.global.u32 %r1, [%rd1];").is_pure);
    CHECK_FALSE(traits_of("vote.sync.any.pred %p1, %p2, -1;").is_pure);
    CHECK(traits_of("exit;").ends_path);
    CHECK_FALSE(traits_of("call g, (%r1);").ends_path);
}

TEST_CASE("ptx traits: the action and the state space") {
    const auto check = [](std::string_view instruction, ptx::Action action, ptx::Space space) {
        CAPTURE(std::string(instruction));
        const ptx::Traits traits = traits_of(instruction);
        CHECK(traits.action == action);
        CHECK(traits.space == space);
    };
    using enum ptx::Action;
    check("ld.u32 %r1, [%rd1];", load, ptx::Space::none);
    check("ld.volatile.global.u32 %r1, [%rd1];", load, ptx::Space::global);
    check("ld.param.u64 %rd1, [p];", load, ptx::Space::param);
    check("ldu.global.u32 %r1, [%rd1];", load, ptx::Space::global);
    check("st.shared::cluster.u32 [%r1], %r2;", store, ptx::Space::shared);
    check("st.local.u32 [%rd1], %r2;", store, ptx::Space::local);
    check("atom.shared::cta.add.u32 %r1, [s], 1;", atomic, ptx::Space::shared);
    check("red.global.add.u32 [%rd1], 1;", reduce, ptx::Space::global);
    check("mov.b32 %r1, %r2;", move, ptx::Space::none);
    check("call g, (%r1);", call, ptx::Space::none);
    check("cp.async.ca.shared.global [%r1], [%rd1], 4;", other, ptx::Space::shared);
    check("cvta.to.global.u64 %rd1, %rd2;", other, ptx::Space::global);
}

TEST_CASE("ptx traits: results come first, and pure forms access no memory") {
    std::set<std::string_view> ends;
    for (const ptx::Form* const form : ptx::all_forms()) {
        CAPTURE(std::string(form->name));
        const auto is_result = [](const ptx::OperandForm& one) { return one.is_destination; };
        CHECK(std::ranges::is_partitioned(form->operands, is_result));
        CHECK(std::ranges::count_if(form->operands, is_result) == form->traits.results);
        for (const ptx::OperandForm& one : form->operands) {
            CHECK_FALSE(
                (one.is_destination && (one.is_optional || one.want == ptx::Want::address)));
            if (form->traits.is_pure) CHECK(one.want != ptx::Want::address);
        }
        if (form->traits.is_pure) CHECK(form->traits.results == 1);
        if (form->traits.ends_path) ends.insert(form->name);
    }
    CHECK(ends == std::set<std::string_view>{"bra", "brx.idx", "exit", "ret"});
}

TEST_CASE("live ranges: a result that is set in every lane begins a life in a loop") {
    const auto loop = [](std::string_view sets) {
        return Tree(
            fmt::format("mov.u32 %r2, 5;\nL: add.u32 %r2, %r2, -1;\n{}\n"
                        "st.global.b32 [%rd1], %r1;\nsetp.ne.u32 %p1, %r2, 0;\n"
                        "@%p1 bra L;\nret;",
                        sets));
    };
    const auto check = [&](const std::string& sets, u32 first, u32 last) {
        CAPTURE(sets);
        const Tree tree = loop(sets);
        const LiveRange range = tree.live_range(tree.reg(3, 1));
        CHECK(range.first == first);
        CHECK(range.last == last);
    };
    for (const char* const sets :
         {"add.u32 %r1, %r2, 1;", "vadd.u32.u32.u32 %r1, %r2, %r2;", "fns.b32 %r1, %r2, 0, 1;",
          "bar.red.popc.u32 %r1, 0, %p2;", "mapa.shared::cluster.u32 %r1, %r2, 0;"})
        check(sets, 2, 3);
    // The lanes without the guard keep what the register had, and so does the rest of a part.
    for (const char* const sets :
         {"@%p2 add.u32 %r1, %r2, 1;", "vadd.u32.u32.u32 %r1.b0, %r2, %r2, %r2;", "call g, (%r1);"})
        check(sets, 0, 5);
    const Tree tree = loop("mov.u32 %r1, 0;");
    CHECK(tree.live_range(tree.reg(0, 0)).first == 0);
    CHECK(tree.live_range(tree.reg(0, 0)).last == 5);
}

TEST_CASE("register uses: what decides, and what is only stored") {
    const auto use = [](std::string_view body) {
        const Tree tree(fmt::format("ld.volatile.shared.u32 %r1, [s];\n{}\nret;", body));
        return register_uses(tree.graph())[tree.reg(0, 0)];
    };
    CHECK(use("") == 0);
    CHECK(use("st.global.u32 [%rd1], %r1;") == use_any);
    CHECK(use("add.u32 %r2, %r1, 1;\nst.global.u32 [%rd1], %r2;") == use_any);
    CHECK(use("slct.u32.s32 %r2, %r3, %r4, %r1;\nst.global.u32 [%rd1], %r2;") == use_any);
    CHECK(use("st.shared.u32 [s], %r1;") == (use_any | use_passed_on));
    CHECK(use("atom.global.cas.b32 %r2, [%rd1], %r1, 1;") == (use_any | use_expected));
    for (const char* const decides :
         {"setp.eq.u32 %p1, %r1, 0;", "bar.sync %r1, 32;", "nanosleep.u32 %r1;", "call g, (%r1);",
          "T: .branchtargets L, M; brx.idx %r1, T; L: M:", "barrier.arrive %r1, 64;",
          "ld.shared.u32 %r2, [%r1];"}) {
        CAPTURE(std::string(decides));
        CHECK(use(decides) == (use_any | use_decides));
    }
}

TEST_CASE("copies: a value is only copied if nothing but a store reads it") {
    const auto is_copied = [](std::string_view reads) -> bool {
        const Tree tree(
            fmt::format("ld.shared.u32 %r1, [s];\nmov.b32 %r2, %r1;\n"
                        "st.shared.u32 [s+16], %r2;\n{}\nret;",
                        reads));
        return copied_registers(tree.graph())[tree.reg(0, 0)];
    };
    CHECK(is_copied(""));
    CHECK(is_copied("st.global.u32 [%rd1], %r1;"));
    CHECK(is_copied("mov.u32 %r1, 5;"));
    for (const char* const reads :
         {"add.u32 %r3, %r1, 1;", "bar.sync %r1, 32;", "barrier.sync %r1, 32;",
          "nanosleep.u32 %r1;", "T: .branchtargets L, M; brx.idx %r1, T; L: M:",
          "red.shared.add.u32 [s], %r1;", "call g, (%r1);", "call.uni g, (%r1);"}) {
        CAPTURE(std::string(reads));
        CHECK_FALSE(is_copied(reads));
    }
}

TEST_CASE("product registers: those of wgmma and what they are moved to") {
    const Tree tree(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, "
        "1, 1, 0, 0;\nmov.f32 %f5, %f4;\nmov.f32 %f6, %f5;\nadd.f32 %f7, %f6, %f6;\nret;");
    const auto found = product_registers(tree.graph());
    CHECK(found[tree.reg(0, 0)]);
    CHECK(found[tree.reg(1, 0)]);
    CHECK(found[tree.reg(2, 0)]);
    CHECK_FALSE(found[tree.reg(3, 0)]);
    CHECK(product_registers(Tree("mov.f32 %f5, %f4;\nret;").graph()).empty());
}

}  // namespace lode::emulator::decode
