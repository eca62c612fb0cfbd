// What an instruction sets and reads, and what each pass over a function concludes from it.
#include "emulator/decode/copies.hpp"
#include "emulator/decode/indexing.hpp"
#include "emulator/decode/live_ranges.hpp"
#include "emulator/decode/product_registers.hpp"
#include "emulator/decode/ptx/grammar.hpp"
#include "emulator/decode/uses.hpp"
#include "tests/unit/emulator/decode/tree.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace lode::emulator::decode {
namespace {

using testing::Tree;

/// The range of a register if no access makes its own address.
LiveRange live_range(const Tree& tree, u32 register_index) {
    Indexing indexing;
    indexing.accesses.resize(tree.function().instructions.size());
    indexing.unneeded.resize(tree.function().instructions.size());
    return live_ranges(tree.graph(), indexing)[register_index];
}

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

TEST_CASE("ptx traits: what may write global memory") {
    for (const char* const writes :
         {"st.global.b32 [%rd1], %r1;", "st.b32 [%rd1], %r1;", "red.add.u32 [%rd1], %r1;",
          "atom.global.add.u32 %r1, [%rd1], 1;", "multimem.st.global.u32 [%rd1], %r1;",
          "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;"}) {
        CAPTURE(writes);
        CHECK(traits_of(writes).writes_global);
    }
    for (const char* const does_not :
         {"st.shared.b32 [%r1], %r1;", "ld.global.u32 %r1, [%rd1];", "add.u32 %r1, %r2, %r3;",
          "cp.async.ca.shared.global [%r1], [%rd1], 4;", "cp.async.commit_group;",
          "multimem.ld_reduce.global.add.u32 %r1, [%rd1];",
          "cp.async.bulk.prefetch.L2.global [%rd1], 16;",
          "stmatrix.sync.aligned.m8n8.x1.b16 [%rd1], {%r1};"}) {
        CAPTURE(does_not);
        CHECK_FALSE(traits_of(does_not).writes_global);
    }
}

TEST_CASE("ptx traits: the effect and the state space") {
    const auto check = [](std::string_view instruction, ptx::Effect effect, ptx::Space space) {
        CAPTURE(std::string(instruction));
        const ptx::Traits traits = traits_of(instruction);
        CHECK(traits.effect == effect);
        CHECK(traits.space == space);
    };
    using enum ptx::Effect;
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
        const LiveRange range = live_range(tree, tree.reg(3, 1));
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
    CHECK(live_range(tree, tree.reg(0, 0)).first == 0);
    CHECK(live_range(tree, tree.reg(0, 0)).last == 5);
}

TEST_CASE("live ranges: along the branches of a loop with a table") {
    const Tree tree(
        "mov.u32 %r1, 0;\n"                          // 0
        "mov.u32 %r2, 0;\n"                          // 1
        "A: ld.global.v2.u32 {%r3, %r4}, [%rd1];\n"  // 2
        "add.u32 %r5, %r3, %r1;\n"                   // 3
        "T: .branchtargets A, B; brx.idx %r5, T;\n"  // 4
        "B: setp.eq.u32 %p1|%p2, %r4, 0;\n"          // 5
        "@%p2 st.global.u32 [%rd1], %r2;\n"          // 6
        "mov.u32 %r1, %r4;\n"                        // 7
        "@%p1 bra A;\nret;");                        // 8
    const auto check = [&](u32 reg, u32 first, u32 last) {
        CAPTURE(reg);
        const LiveRange range = live_range(tree, reg);
        CHECK(range.first == first);
        CHECK(range.last == last);
    };
    check(tree.reg(0, 0), 0, 8);
    check(tree.reg(1, 0), 1, 8);  // Read in a part of the loop that may be reached again.
    check(tree.regs(2, 0)[0], 2, 3);
    check(tree.regs(2, 0)[1], 2, 7);
    check(tree.reg(3, 0), 3, 4);
    check(tree.regs(5, 0)[0], 5, 6);  // The second of the pair comes first.
    check(tree.regs(5, 0)[1], 5, 8);
}

TEST_CASE("live ranges: what accesses with an index read") {
    const auto loop = [](std::string_view stored) {
        return Tree(
            fmt::format("mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
                        "mov.u32 %r2, 0;\nst.global.u64 [%rd3], {};\nret;",
                        stored));
    };
    const auto ranges = [](const Tree& tree) {
        Indexing indexing;
        indexing.accesses.resize(5);
        indexing.unneeded.resize(5);
        indexing.unneeded[0] = indexing.unneeded[1] = true;
        indexing.accesses[3].emplace();
        indexing.accesses[3]->address = tree.reg(1, 0);
        indexing.accesses[3]->index = tree.reg(0, 1);
        return live_ranges(tree.graph(), indexing);
    };
    const Tree tree = loop("%rd4");
    const auto found = ranges(tree);
    CHECK(found[tree.reg(0, 1)].first == 0);
    CHECK(found[tree.reg(0, 1)].last == 3);
    for (const u32 unnamed : {tree.reg(0, 0), tree.reg(1, 0)})
        CHECK(found[unnamed].first > found[unnamed].last);
    // A register that is stored too is needed.
    const Tree itself = loop("%rd3");
    CHECK(ranges(itself)[itself.reg(1, 0)].last == 3);
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

TEST_CASE("register uses: through loops, calls, lists and pairs") {
    const auto uses = [](std::string_view body, std::size_t element = 0) {
        const Tree tree(
            fmt::format("ld.volatile.shared.v2.u32 {{%r1, %r2}}, [s];\n{}\nret;", body));
        return register_uses(tree.graph())[tree.regs(0, 0)[element]];
    };
    constexpr u8 decides = use_any | use_decides;
    // Each turn of the loop passes the value on to the next register.
    CHECK(uses("mov.u32 %r3, 0;\nmov.u32 %r4, 0;\nL: setp.eq.u32 %p1, %r4, 0;\n"
               "mov.u32 %r4, %r3;\nmov.u32 %r3, %r1;\n@%p2 bra L;") == decides);
    CHECK(uses("call (%r3), f, (%r1);") == decides);
    CHECK(uses("mov.b64 %rd1, {%r3, %r2};\nst.shared.u64 [s], %rd1;", 1) ==
          (use_any | use_passed_on));
    CHECK(uses("st.global.v2.u32 [%rd1], {%r3, %r2};", 1) == use_any);
    CHECK(uses("shfl.sync.idx.b32 %r3|%p1, %r1, 0, 31, -1;\n@%p1 st.global.u32 [%rd1], %r4;") ==
          decides);
    CHECK(uses("setp.eq.u32 %p1|%p2, %r3, %r1;") == decides);
    CHECK(uses("st.global.u32 [%rd1], %r1;", 1) == 0);
    // What comes of a predicate that is made of predicates depends on its uses.
    const auto guard = [](std::string_view body) {
        const Tree tree(
            fmt::format("setp.eq.u32 %p1, %r1, 0;\nand.pred %p2, %p1, %p3;\n{}\nret;", body));
        return register_uses(tree.graph())[tree.reg(0, 0)];
    };
    CHECK(guard("") == use_any);
    CHECK(guard("@%p2 mov.u32 %r2, 0;") == decides);
    CHECK(guard("@%p2 bra L;\nL:") == decides);
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

TEST_CASE("copies: through vectors, loops and calls") {
    const auto copied = [](std::string_view body) {
        const Tree tree(fmt::format("ld.shared.v2.u32 {{%r1, %r2}}, [s];\n{}\nret;", body));
        const auto found = copied_registers(tree.graph());
        return std::pair<bool, bool>(found[tree.regs(0, 0)[0]], found[tree.regs(0, 0)[1]]);
    };
    using Both = std::pair<bool, bool>;
    CHECK(copied("st.shared.v2.u32 [t], {%r2, %r1};") == Both{true, true});
    CHECK(copied("st.shared.v2.u32 [t], {%r2, %r1};\nadd.u32 %r3, %r2, 1;") == Both{true, false});
    CHECK(copied("") == Both{false, false});
    // The value goes from register to register, last to first.
    const std::string_view loop =
        "L: st.shared.u32 [t], %r4;\nmov.b32 %r4, %r3;\nmov.b32 %r3, %r1;\n"
        "{}\n@%p1 bra L;";
    CHECK(copied(fmt::format(fmt::runtime(loop), "")) == Both{true, false});
    CHECK(copied(fmt::format(fmt::runtime(loop), "call (%r6), f, (%r4);")) == Both{false, false});
    CHECK(copied("mov.b64 %rd1, {%r1, %r2};\nst.shared.u64 [t], %rd1;") == Both{false, false});
    CHECK(copied("st.shared.u32 [%r1], %r1;") == Both{false, false});
    const Tree tree(
        "ld.global.u32 %r1, [%rd1];\nmov.b32 %r2, %r1;\nL: mov.b32 %r3, %r2;\n"
        "st.global.u32 [%rd2], %r3;\nadd.u32 %r4, %r4, 1;\n@%p1 bra L;\nret;");
    const auto found = copied_registers(tree.graph());
    CHECK(found[tree.reg(2, 0)]);
    CHECK_FALSE(found[tree.reg(4, 0)]);
}

TEST_CASE("copies: which loads may be of padding") {
    const auto padding = [](std::string_view body) {
        std::vector<u32> found;
        const auto all = padding_loads(Tree(fmt::format("{}\nret;", body)).graph());
        for (u32 at = 0; at < all.size(); ++at)
            if (all[at]) found.push_back(at);
        return found;
    };
    using Found = std::vector<u32>;
    CHECK(padding("ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1+8];").empty());
    CHECK(padding("ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1+4];") == Found{0, 1});
    CHECK(padding("ld.global.v2.u32 {%r1, %r2}, [%rd1];\nld.global.u32 %r3, [%rd1+8];\n"
                  "ld.global.u32 %r4, [%rd2+4];") == Found{0, 1});
    CHECK(padding("ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd2];\nmov.b32 %r3, %r2;\n"
                  "st.global.u32 [%rd3], %r1;\nst.global.u32 [%rd3+4], %r3;") == Found{0, 1});
    const std::string_view bytes =
        "mov.u64 %rd1, 0;\nL: add.s64 %rd2, %rd4, %rd1;\nld.global.{} %r1, [%rd2];\n"
        "add.s64 %rd1, %rd1, {};\n@%p1 bra L;";
    CHECK(padding(fmt::format(fmt::runtime(bytes), "u8", 1)) == Found{2});
    CHECK(padding(fmt::format(fmt::runtime(bytes), "u8", 2)).empty());
    CHECK(padding(fmt::format(fmt::runtime(bytes), "u32", 1)).empty());
}

TEST_CASE("product registers: those of wgmma and what they are moved to") {
    const Tree tree(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, "
        "1, 1, 0, 0;\nmov.f32 %f5, %f4;\nmov.f32 %f6, %f5;\nadd.f32 %f7, %f6, %f6;\nret;");
    const auto found = product_registers(tree.graph());
    for (const u32 sum : tree.regs(0, 0))
        CHECK(found[sum]);
    CHECK(found[tree.reg(1, 0)]);
    CHECK(found[tree.reg(2, 0)]);
    CHECK_FALSE(found[tree.reg(3, 0)]);
    CHECK(product_registers(Tree("mov.f32 %f5, %f4;\nret;").graph()).empty());
}

TEST_CASE("product registers: moves of a loop, in any order") {
    const Tree tree(
        "L: mov.b64 %rd3, {%f6, %f8};\nmov.f32 %f6, %f5;\nmov.f32 %f5, %f1;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, "
        "1, 1, 0, 0;\n@%p2 bra L;\nmov.f32 %f2, %f7;\nret;");
    const auto found = product_registers(tree.graph());
    CHECK(found[tree.reg(2, 0)]);
    CHECK(found[tree.reg(1, 0)]);
    CHECK(found[tree.reg(0, 0)]);
    CHECK_FALSE(found[tree.regs(0, 1)[1]]);
    // What is moved to one of them isn't one, nor are the descriptors.
    CHECK_FALSE(found[tree.reg(5, 1)]);
    CHECK_FALSE(found[tree.reg(3, 1)]);
}

}  // namespace lode::emulator::decode
