// Which addresses accesses make themselves, where addresses come from, and which functions wait.
#include "emulator/decode/indexing.hpp"
#include "emulator/decode/pointer_origins.hpp"
#include "emulator/decode/provenance.hpp"
#include "emulator/decode/waits.hpp"
#include "tests/unit/emulator/decode/tree.hpp"

#include <algorithm>

namespace lode::emulator::decode {
namespace {

using testing::Tree;

constexpr Slot base_slot = slot(Area::launch, 4352);

/// The indexing of a kernel in which only %rd1, the last source of its first instruction, has a
/// slot outside of the frame.
Indexing indexing_of(const Tree& tree) {
    Frame frame(tree.function());
    std::vector<Slot> slots(tree.function().registers.size(), slot(Area::frame, 0));
    slots[tree.regs(0, 1).front()] = base_slot;
    frame.set_registers(slots);
    return find_indexed_accesses(tree.graph(), frame);
}

std::vector<u32> accesses_of(const Indexing& indexing) {
    std::vector<u32> found;
    for (u32 at = 0; at < indexing.accesses.size(); ++at)
        if (indexing.accesses[at]) found.push_back(at);
    return found;
}
std::vector<u32> unneeded_of(const Indexing& indexing) {
    std::vector<u32> found;
    for (u32 at = 0; at < indexing.unneeded.size(); ++at)
        if (indexing.unneeded[at]) found.push_back(at);
    return found;
}

using Found = std::vector<u32>;

}  // namespace

TEST_CASE("indexing: an address of a base and a widened index") {
    struct Case {
        const char* widened;
        u32 scale;
        bool sign;
    };
    for (const Case& one :
         {Case{"mul.wide.u32 %rd2, %r1, 12;", 12, false},
          Case{"mul.wide.s32 %rd2, %r1, 4;", 4, true}, Case{"cvt.s64.s32 %rd2, %r1;", 1, true},
          Case{"cvt.u64.u32 %rd2, %r1;", 1, false}}) {
        const Tree tree(
            fmt::format("cvta.to.global.u64 %rd8, %rd1;\n{}\nadd.s64 %rd3, %rd1, %rd2;\n"
                        "add.s64 %rd4, %rd3, 16;\nst.global.v2.u32 [%rd4+8], {{%r2, %r3}};\nret;",
                        one.widened));
        CAPTURE(std::string(one.widened));
        const Indexing found = indexing_of(tree);
        REQUIRE(accesses_of(found) == Found{4});
        CHECK(unneeded_of(found) == Found{1, 2, 3});
        const IndexedAddress& address = *found.accesses[4];
        CHECK(address.address == tree.reg(3, 0));
        CHECK(address.base == base_slot);
        CHECK(address.index == tree.reg(1, 1));
        CHECK(address.scale == one.scale);
        CHECK(address.sign == one.sign);
        CHECK(address.offset == 24);
    }
}

TEST_CASE("indexing: where the index still has its value") {
    const auto accesses = [](std::string_view before, std::string_view between) {
        return accesses_of(indexing_of(
            Tree(fmt::format("cvta.to.global.u64 %rd8, %rd1;\n{}\nmul.wide.u32 %rd2, %r1, 4;\n"
                             "add.s64 %rd3, %rd1, %rd2;\n{}\nld.shared.u32 %r2, [%rd3];\nret;",
                             before, between))));
    };
    CHECK(accesses("", "") == Found{3});
    CHECK(accesses("mov.u32 %r1, 0;\nL: @%p1 bra L;", "M: @%p1 bra M;") == Found{6});
    CHECK(accesses("", "mov.u32 %r1, 0;").empty());
    CHECK(accesses("", "@%p1 mov.u32 %r1, 0;").empty());
    CHECK(accesses("", "call (%r1), f, (%r2);").empty());
    CHECK(accesses("", "ld.global.v2.u32 {%r2, %r1}, [%rd5];").empty());
    CHECK(accesses("", "shfl.sync.idx.b32 %r2|%p1, %r1, 0, 31, -1;") == Found{4});
    // A path from elsewhere may have made the address of another index.
    CHECK(accesses("mov.u32 %r1, 0;\n@%p1 bra M;\nmov.u32 %r1, 1;", "M:").empty());
    CHECK(accesses("mov.u32 %r1, 0;\nT: .branchtargets M, N; brx.idx %r5, T;\nN: mov.u32 %r1, 1;",
                   "M:")
              .empty());
    CHECK(accesses("mov.u32 %r1, 0;\n@%p1 bra M;\nM: mov.u32 %r1, 1;", "") == Found{6});
    // A loop that makes the index anew, and one that only uses the address.
    CHECK(accesses("L: add.u32 %r1, %r5, 1;", "@%p1 bra L;\nM:") == Found{5});
    CHECK(accesses_of(
              indexing_of(Tree(
                  "cvta.to.global.u64 %rd8, %rd1;\nmov.u32 %r1, 0;\nmul.wide.u32 %rd2, %r1, 4;\n"
                  "add.s64 %rd3, %rd1, %rd2;\nL: ld.shared.u32 %r2, [%rd3];\n@%p1 bra L;\nret;")))
              .empty());
}

TEST_CASE("indexing: what isn't such an address") {
    const auto accesses = [](std::string_view body) {
        return accesses_of(
            indexing_of(Tree(fmt::format("cvta.to.global.u64 %rd8, %rd1;\n{}\nret;", body))));
    };
    const auto with = [&](std::string_view access) {
        return accesses(
            fmt::format("mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n{}", access));
    };
    CHECK(with("ld.global.u32 %r2, [%rd3];") == Found{3});
    CHECK(with("ld.volatile.global.u32 %r2, [%rd3];") == Found{3});
    CHECK(with("@%p1 st.shared.u32 [%rd3], %r2;") == Found{3});
    for (const char* const other :
         {"ld.u32 %r2, [%rd3];", "ld.local.u32 %r2, [%rd3];", "ld.shared::cluster.u32 %r2, [%rd3];",
          "red.global.add.u32 [%rd3], 1;", "atom.global.add.u32 %r2, [%rd3], 1;",
          "st.global.u64 [%rd4], %rd3;", "prefetch.global.L1 [%rd3];",
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%rd3], %r2, [%rd4];"}) {
        CAPTURE(std::string(other));
        CHECK(with(other).empty());
    }
    const auto made = [&](std::string_view makes) {
        return accesses(fmt::format("{}\nld.global.u32 %r2, [%rd3];", makes));
    };
    for (const char* const makes :
         {"mul.wide.u32 %rd2, %r1, 0;\nadd.s64 %rd3, %rd1, %rd2;",
          "mul.wide.u32 %rd2, %r1, 65537;\nadd.s64 %rd3, %rd1, %rd2;",
          "mul.wide.u32 %rd2, %r1, %r3;\nadd.s64 %rd3, %rd1, %rd2;",
          "mul.wide.u16 %r3, %h1, 4;\ncvt.u64.u16 %rd2, %h1;\nadd.s64 %rd3, %rd1, %rd2;",
          "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd5, %rd2;",
          "mul.wide.u32 %rd2, %r1, 4;\nsub.s64 %rd3, %rd1, %rd2;",
          "mul.wide.u32 %rd2, %r1, 4;\n@%p1 add.s64 %rd3, %rd1, %rd2;",
          "@%p1 mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;",
          "mul.wide.u32 %rd2, %r1, 4;\nmov.u64 %rd3, 0;\nadd.s64 %rd3, %rd1, %rd2;",
          "ld.global.v2.u64 {%rd3, %rd2}, [%rd5];\nadd.s64 %rd3, %rd1, %rd2;"}) {
        CAPTURE(std::string(makes));
        CHECK(made(makes).empty());
    }
}

TEST_CASE("indexing: an address that something else reads is made as well") {
    const auto unneeded = [](std::string_view reads) {
        return unneeded_of(indexing_of(
            Tree(fmt::format("cvta.to.global.u64 %rd8, %rd1;\nmul.wide.u32 %rd2, %r1, 4;\n"
                             "add.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r2, [%rd3];\n{}\nret;",
                             reads))));
    };
    CHECK(unneeded("") == Found{1, 2});
    CHECK(unneeded("ld.shared.u32 %r3, [%rd3+4];") == Found{1, 2});
    for (const char* const reads :
         {"ld.u32 %r3, [%rd3];", "st.global.u64 [%rd3], %rd3;",
          "st.global.v2.u64 [%rd4], {%rd5, %rd3};", "atom.global.cas.b64 %rd4, [%rd5], %rd6, %rd3;",
          "setp.eq.u64 %p1|%p2, %rd3, 0;"}) {
        CAPTURE(std::string(reads));
        CHECK(unneeded(reads).empty());
    }
    CHECK(unneeded("mov.u64 %rd4, %rd2;") == Found{2});
}

namespace {

/// The origins of a kernel's registers; s is variable 0, t is 1.
std::vector<u32> origins_of(const Tree& tree) {
    KernelBuild build;
    build.module = &tree.parts();
    build.shared_index[tree.parts().ast.variables.data()] = 0;
    build.shared_index[tree.parts().ast.variables.data() + 1] = 1;
    return shared_origins(build, tree.graph());
}

/// The origin of the address that the last instruction but ret stores to.
u32 origin_of_address(std::string_view body) {
    const Tree tree(fmt::format("{}\nret;", body));
    const auto last = static_cast<u32>(tree.function().instructions.size()) - 2;
    return origins_of(tree)[tree.reg(last, 0)];
}

}  // namespace

TEST_CASE("shared origins: the variable of an address") {
    const auto check = [](u32 origin, std::string_view body) {
        CAPTURE(std::string(body));
        CHECK(origin_of_address(fmt::format("{}\nst.shared.u32 [%r1], 0;", body)) == origin);
    };
    check(no_variable, "mov.u32 %r1, 4;");
    check(0, "mov.u32 %r1, s;");
    check(1, "mov.u32 %r2, t+8;\nshl.b32 %r3, %r4, 2;\nadd.u32 %r1, %r2, %r3;");
    check(1, "@%p1 mov.u32 %r1, t;");
    check(several_variables, "mov.u32 %r1, s;\n@%p1 mov.u32 %r1, t;");
    check(several_variables, "mov.u32 %r2, s;\nmov.u32 %r3, t;\nselp.b32 %r1, %r2, %r3, %p1;");
    // The value comes around the loop.
    check(0, "L: mov.u32 %r1, %r2;\nmov.u32 %r2, %r3;\nmov.u32 %r3, s;\n@%p1 bra L;");
    check(several_variables,
          "L: mov.u32 %r1, %r2;\nmov.u32 %r2, s;\n@%p1 bra M;\n"
          "mov.u32 %r2, t;\nM: @%p2 bra L;");
    check(0, "mov.u32 %r2, s;\nmov.b64 %rd1, {%r2, %r3};\nmov.b64 {%r1, %r4}, %rd1;");
    check(0, "mov.u32 %r2, s;\nshfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;");
    // What the address is compared with, and a barrier's state, have nothing of the variable.
    check(1,
          "mov.u32 %r2, s;\nsetp.eq.u32 %p1|%p2, %r2, 0;\nmov.u32 %r3, t;\n"
          "selp.b32 %r1, %r3, 0, %p1;");
    check(1,
          "mov.u64 %rd1, s;\nisspacep.shared %p1, %rd1;\nmov.u32 %r3, t;\n"
          "selp.b32 %r1, %r3, 0, %p1;");
    check(no_variable, "mbarrier.arrive.shared.b64 %rd1, [s];\ncvt.u32.u64 %r1, %rd1;");
}

TEST_CASE("shared origins: pointers from elsewhere") {
    const auto check = [](u32 origin, std::string_view body) {
        CAPTURE(std::string(body));
        CHECK(origin_of_address(fmt::format("{}\nst.shared.u32 [%r1], 0;", body)) == origin);
    };
    check(no_variable, "ld.shared.u32 %r1, [s];");
    check(no_variable, "mov.u32 %r2, s;\ncall (%r1), f, (%r2);");
    check(no_variable, "atom.shared.exch.b32 %r1, [s], 0;");
    check(several_variables, "mov.u32 %r1, s;\n@%p1 ld.shared.u32 %r1, [s];");
    check(several_variables,
          "ld.shared.v2.u32 {%r3, %r2}, [t];\nmov.u32 %r4, s;\n"
          "selp.b32 %r1, %r4, %r2, %p1;");
    check(several_variables,
          "mov.u32 %r1, s;\nL: @%p1 mov.u32 %r1, %r2;\ncall (%r2), f, (%r3);\n"
          "@%p2 bra L;");
    // An index, wherever it comes from.
    check(0, "ld.shared.u32 %r2, [t];\nmov.u32 %r3, s;\nadd.u32 %r1, %r3, %r2;");
    check(0, "mov.u32 %r1, s;\nL: ld.shared.u32 %r2, [%r1];\nadd.u32 %r1, %r1, %r2;\n@%p1 bra L;");
    const Tree tree("mov.u32 %r1, s;\nret;");
    KernelBuild build;
    build.module = &tree.parts();
    CHECK(shared_origins(build, tree.graph()).empty());
}

namespace {

/// The parameters p, q and n of the kernel are at 0, 8 and 16.
std::vector<u32> pointers_of(const Tree& tree) {
    Frame frame(tree.function());
    for (u32 k = 0; k < 3; ++k)
        frame.set_entry_offset(k, 8 * k);
    return pointer_origins(frame, tree.graph());
}

std::vector<u32> written_by(std::string_view body) {
    const Tree tree(
        fmt::format("ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\n{}\nret;", body));
    auto written = written_parameters(tree.function(), pointers_of(tree));
    std::ranges::sort(written);
    return written;
}

}  // namespace

TEST_CASE("pointer origins: the parameter of a pointer") {
    const auto check = [](u32 origin, std::string_view body) {
        CAPTURE(std::string(body));
        const Tree tree(
            fmt::format("ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nld.param.u32 %r1, [n];\n"
                        "{}\nst.global.u32 [%rd3], 0;\nret;",
                        body));
        const auto last = static_cast<u32>(tree.function().instructions.size()) - 2;
        CHECK(pointers_of(tree)[tree.reg(last, 0)] == origin);
    };
    constexpr u32 unknown = no_parameter_offset;
    check(8, "cvta.to.global.u64 %rd3, %rd2;");
    check(0, "mov.u64 %rd3, %rd1;");
    check(0, "@%p1 mov.u64 %rd3, %rd1;");
    check(8, "mul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd3, %rd4, %rd2;");
    check(8, "mad.wide.u32 %rd3, %r1, 4, %rd2;");
    check(8, "sub.s64 %rd3, %rd2, 8;");
    check(8, "selp.b64 %rd3, %rd2, %rd2, %p1;");
    check(0, "ld.global.u32 %r2, [%rd1];\nmad.wide.s32 %rd3, %r2, 4, %rd1;");
    // Around a loop, in any order.
    check(0, "L: mov.u64 %rd3, %rd4;\nmov.u64 %rd4, %rd5;\nadd.s64 %rd5, %rd1, 8;\n@%p1 bra L;");
    check(0, "mov.u64 %rd3, %rd1;\nL: add.s64 %rd3, %rd3, 4;\n@%p1 bra L;");
    check(unknown,
          "L: mov.u64 %rd3, %rd4;\nmov.u64 %rd4, %rd1;\n@%p1 mov.u64 %rd4, %rd2;\n"
          "@%p2 bra L;");
    for (const char* const other :
         {"mov.u64 %rd3, 5;", "ld.global.u64 %rd3, [%rd1];", "add.s64 %rd3, %rd1, %rd2;",
          "selp.b64 %rd3, %rd1, %rd2, %p1;", "sub.s64 %rd3, %rd1, %rd2;", "sub.s64 %rd3, 8, %rd1;",
          "ld.global.u64 %rd4, [%rd1];\nadd.s64 %rd3, %rd1, %rd4;", "not.b64 %rd3, %rd1;",
          "xor.b64 %rd3, %rd1, %rd1;", "mov.u64 %rd3, %rd1;\n@%p1 mov.u64 %rd3, 0;",
          "mov.b64 {%r2, %r3}, %rd1;\nmov.b64 %rd3, {%r2, %r3};",
          "mov.u64 %rd3, %rd1;\n@%p1 ld.global.v2.u64 {%rd4, %rd3}, [%rd1];",
          "atom.global.exch.b64 %rd3, [%rd1], %rd1;",
          ".param .b64 a;\n.param .b64 r;\nst.param.b64 [a], %rd1;\ncall (r), h, (a);\n"
          "ld.param.b64 %rd3, [r];"}) {
        CAPTURE(std::string(other));
        check(unknown, other);
    }
}

TEST_CASE("pointer origins: vectors of parameters, and functions") {
    const Tree tree("ld.param.v2.u64 {%rd1, %rd2}, [p];\nret;");
    const auto found = pointers_of(tree);
    CHECK(found[tree.regs(0, 0)[0]] == 0);
    CHECK(found[tree.regs(0, 0)[1]] == 8);
    const ptx::Function& called = tree.parts().ast.functions.front();
    CHECK(pointer_origins(Frame(called), FlowGraph(called)).empty());
}

TEST_CASE("written parameters: through which pointers global memory is written") {
    constexpr u32 unknown = no_parameter_offset;
    CHECK(written_by("ld.global.u32 %r1, [%rd1];").empty());
    CHECK(written_by("st.global.u32 [%rd1], 0;\nst.u32 [%rd1+4], 0;") == Found{0});
    CHECK(written_by("st.global.v2.u32 [%rd2], {%r1, %r2};\nred.global.add.u32 [%rd1], 1;") ==
          Found{0, 8});
    CHECK(written_by("@%p1 atom.global.add.u32 %r1, [%rd2], 1;") == Found{8});
    CHECK(written_by("atom.global.exch.b64 %rd3, [%rd2], %rd1;") == Found{8});
    CHECK(written_by("st.global.u32 [%rd5], 0;") == Found{unknown});
    CHECK(written_by("st.shared.u32 [s], 0;\nst.local.u32 [%rd1], 0;\n"
                     "red.shared::cluster.add.u32 [%r1], 1;")
              .empty());
    CHECK(written_by(".param .b64 a;\nst.param.b64 [a], %rd1;").empty());
    CHECK(written_by("cp.async.ca.shared.global [%r1], [%rd1], 4;").empty());
    CHECK(written_by("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;") ==
          Found{unknown});
    CHECK(written_by("multimem.red.relaxed.gpu.global.add.u32 [%rd1], %r1;") == Found{unknown});
    CHECK(written_by("discard.global.L2 [%rd1], 128;") == Found{unknown});
    CHECK(
        written_by("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync"
                   ".aligned [%rd1], [%r1], 128;") == Found{unknown});
    CHECK(written_by("call g, (%r1);").empty());
}

TEST_CASE("waits: what may see the writes of other blocks") {
    const auto waits = [](std::string_view body) {
        return may_wait(Tree(fmt::format("mov.u32 %r1, 0;\n{}\nret;", body), "sm_100a").function());
    };
    for (const char* const waiting :
         {"ld.volatile.global.u32 %r2, [%rd1];", "@%p1 ld.relaxed.gpu.u32 %r2, [%rd1];",
          "ld.acquire.sys.global.v2.u32 {%r2, %r3}, [%rd1];", "ld.global.cv.u32 %r2, [%rd1];",
          "ld.global.cg.u32 %r2, [%rd1];", "ld.mmio.relaxed.sys.global.u32 %r2, [%rd1];",
          "ld.relaxed.cluster.shared::cluster.u32 %r2, [%r1];",
          "atom.global.add.u32 %r2, [%rd1], 1;", "L: atom.cas.b32 %r2, [%rd1], 0, 1;\n@%p1 bra L;",
          "nanosleep.u32 100;", "atom.shared::cluster.add.u32 %r2, [%r1], 1;",
          "multimem.ld_reduce.relaxed.gpu.global.add.u32 %r2, [%rd1];",
          "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %rq;"}) {
        CAPTURE(std::string(waiting));
        CHECK(waits(fmt::format(".reg .b128 %rq;\n{}", waiting)));
    }
    for (const char* const going :
         {"ld.global.u32 %r2, [%rd1];", "ld.weak.global.u32 %r2, [%rd1];",
          "st.global.u32 [%rd1], 0;", "ld.global.ca.u32 %r2, [%rd1];",
          "st.release.gpu.global.u32 [%rd1], 0;", "red.global.add.u32 [%rd1], 1;",
          "ld.volatile.shared.u32 %r2, [s];", "atom.shared.add.u32 %r2, [s], 1;",
          "atom.shared::cta.add.u32 %r2, [s], 1;", "ld.local.u32 %r2, [%rd1];", "bar.sync 0;",
          "st.volatile.global.u32 [%rd1], 0;"}) {
        CAPTURE(std::string(going));
        CHECK_FALSE(waits(going));
    }
}

}  // namespace lode::emulator::decode
