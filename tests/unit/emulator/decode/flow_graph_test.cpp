// FlowGraph: blocks, edges, loops, and the instructions that read and write a register.
#include "emulator/decode/flow_graph.hpp"

#include "tests/unit/emulator/decode/tree.hpp"

#include <algorithm>
#include <ranges>

namespace lode::emulator::decode {
namespace {

using testing::Tree;
using Indices = std::vector<u32>;

Indices sorted(std::span<const u32> of) {
    Indices made(of.begin(), of.end());
    std::ranges::sort(made);
    return made;
}

Indices starts(const FlowGraph& graph) {
    Indices made;
    for (u32 block = 0; block < graph.blocks(); ++block)
        made.push_back(graph.start(block));
    return made;
}

/// The instructions for which a predicate holds.
template <class F>
Indices where(const FlowGraph& graph, F&& f) {
    Indices made;
    for (u32 at = 0; at <= graph.instructions(); ++at)
        if (f(at)) made.push_back(at);
    return made;
}

}  // namespace

TEST_CASE("flow graph: blocks, edges and loops of branches") {
    const Tree tree(
        "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;\n@%p1 bra L;\n"
        "bra M;\nmov.u32 %r2, 0;\nM: mov.u32 %r3, 0;\nret;");
    const FlowGraph graph = tree.graph();
    CHECK(starts(graph) == Indices{0, 1, 4, 5, 6});
    CHECK(graph.start(graph.blocks()) == 8);
    CHECK(graph.block_of(0) == 0);
    CHECK(graph.block_of(3) == 1);
    CHECK(graph.block_of(7) == 4);
    CHECK(sorted(graph.predecessors(0)).empty());
    CHECK(sorted(graph.predecessors(1)) == Indices{0, 1});
    CHECK(sorted(graph.predecessors(2)) == Indices{1});
    CHECK(sorted(graph.predecessors(3)).empty());
    CHECK(sorted(graph.predecessors(4)) == Indices{2, 3});
    CHECK(where(graph, [&](u32 at) { return graph.is_label(at); }) == Indices{1, 6});
    CHECK(where(graph, [&](u32 at) { return at < 8 && graph.in_loop(at); }) == Indices{1, 2, 3});
}

TEST_CASE("flow graph: nested and overlapping loops") {
    const Tree tree(
        "A: mov.u32 %r1, 0;\nB: mov.u32 %r2, 0;\n@%p1 bra A;\nmov.u32 %r3, 0;\n@%p2 bra B;\n"
        "C: @%p3 bra C;\nret;");
    const FlowGraph graph = tree.graph();
    CHECK(where(graph, [&](u32 at) { return at < 7 && graph.in_loop(at); }) ==
          Indices{0, 1, 2, 3, 4, 5});
    CHECK_FALSE(Tree("bra L;\nmov.u32 %r1, 0;\nL: ret;").graph().in_loop(1));
}

TEST_CASE("flow graph: each target of brx.idx, also backwards") {
    const Tree tree(
        "A: mov.u32 %r2, 0;\nT: .branchtargets A, B, C;\nbrx.idx %r1, T;\nB: mov.u32 %r3, 0;\n"
        "C: ret;");
    const FlowGraph graph = tree.graph();
    CHECK(starts(graph) == Indices{0, 2, 3});
    CHECK(sorted(graph.predecessors(0)) == Indices{0});
    CHECK(sorted(graph.predecessors(1)) == Indices{0});
    CHECK(sorted(graph.predecessors(2)) == Indices{0, 1});
    CHECK(graph.in_loop(1));
    CHECK_FALSE(graph.in_loop(2));
}

TEST_CASE("flow graph: where lanes go on") {
    const auto predecessors = [](std::string_view ends) {
        return Tree(fmt::format("{}\nL: mov.u32 %r1, 0;\nbra L;", ends))
            .graph()
            .predecessors(1)
            .size();
    };
    CHECK(predecessors("mov.u32 %r2, 0;") == 2);
    CHECK(predecessors("call g, (%r2);") == 2);
    CHECK(predecessors("@%p1 ret;") == 2);
    CHECK(predecessors("trap;") == 2);
    for (const char* const ends : {"ret;", "exit;", "bra.uni L;"}) {
        CAPTURE(std::string(ends));
        CHECK(predecessors(ends) == (std::string_view(ends).starts_with("bra") ? 2 : 1));
    }
    CHECK(starts(Tree("@%p1 ret;\nmov.u32 %r1, 0;\nret;\nmov.u32 %r1, 0;\nret;").graph()) ==
          Indices{0, 3});
    const FlowGraph at_the_end = Tree("@%p1 bra L;\nmov.u32 %r1, 0;\nL:").graph();
    CHECK(at_the_end.is_label(2));
    CHECK(at_the_end.blocks() == 2);
    CHECK(Tree("").graph().blocks() == 0);
}

TEST_CASE("flow graph: who reads and writes a register") {
    const Tree tree(
        "ld.global.v2.u32 {%r1, %r2}, [%rd1];\n"         // 0
        "setp.eq.u32 %p1|%p2, %r1, %r1;\n"               // 1
        "@%p2 mov.u32 %r2, %r1;\n"                       // 2
        "vadd.u32.u32.u32 %r2.b0, %r1, %r1, %r2;\n"      // 3
        "call (%r3), f, (%r2);\n"                        // 4
        "st.global.v2.u32 [%rd1], {%r3, %r2};\n"         // 5
        "suld.b.2d.b32.trap %r4, [%rd2, {%r3, %r3}];\n"  // 6
        "ret;");
    const FlowGraph graph = tree.graph();
    const auto check = [&](u32 reg, const Indices& readers, const Indices& writers) {
        CAPTURE(reg);
        CHECK(sorted(graph.readers(reg)) == readers);
        CHECK(sorted(graph.writers(reg)) == writers);
    };
    check(tree.regs(0, 0)[0], {1, 1, 2, 3, 3}, {0});
    // A guard or a selector leaves the rest of a register as it was.
    check(tree.regs(0, 0)[1], {2, 3, 3, 4, 5}, {0, 2, 3});
    check(static_cast<u32>(tree.at(2).guard), {2}, {1});
    check(tree.reg(4, 0), {5, 6, 6}, {4});
    check(tree.reg(0, 1), {0, 5}, {});
    CHECK(graph.only_writer(tree.reg(4, 0)) == u32{4});
    CHECK_FALSE(graph.only_writer(tree.regs(0, 0)[1]));
    CHECK_FALSE(graph.only_writer(tree.reg(0, 1)));
    const u32 second = tree.regs(0, 0)[1];
    CHECK(graph.writes_between(second, 0, 1));
    CHECK_FALSE(graph.writes_between(second, 1, 2));
    CHECK(graph.writes_between(second, 1, 3));
    CHECK_FALSE(graph.writes_between(second, 4, 8));
}

TEST_CASE("flow graph: products read their sums, parameters have a writer elsewhere") {
    const Tree tree(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, "
        "1, 1, 0, 0;\nret;");
    const FlowGraph graph = tree.graph();
    const u32 sum = tree.regs(0, 0)[3];
    CHECK(sorted(graph.readers(sum)) == Indices{0});
    CHECK(sorted(graph.writers(sum)) == Indices{0});
    const ptx::Function& called = tree.parts().ast.functions.front();
    const FlowGraph of_called(called);
    CHECK(called.register_parameters.size() == 2);
    for (const ptx::RegisterParameter& one : called.register_parameters)
        CHECK_FALSE(of_called.only_writer(one.reg));
}

TEST_CASE("worklist: all in order, and again what a change concerns") {
    const Tree tree(
        "mov.u32 %r1, 0;\nL: add.u32 %r2, %r1, 1;\nadd.u32 %r1, %r2, %r2;\n@%p1 bra L;\nret;");
    const FlowGraph graph = tree.graph();
    const auto visits = [&](Worklist::Direction direction, u32 when, u32 reg) {
        Worklist worklist(graph, direction);
        Indices made;
        while (const auto at = worklist.next()) {
            if (*at == when && std::ranges::find(made, when) == made.end()) worklist.changed(reg);
            made.push_back(*at);
        }
        return made;
    };
    using enum Worklist::Direction;
    const u32 first = tree.reg(0, 0);
    const u32 second = tree.reg(1, 0);
    CHECK(visits(forward, 9, 0) == Indices{0, 1, 2, 3, 4});
    CHECK(visits(forward, 2, first) == Indices{0, 1, 2, 1, 3, 4});
    // Instructions that wait already, and one that reads the register twice, are looked at once.
    CHECK(visits(forward, 0, first) == Indices{0, 1, 2, 3, 4});
    CHECK(visits(forward, 3, second) == Indices{0, 1, 2, 3, 2, 4});
    CHECK(visits(backward, 9, 0) == Indices{4, 3, 2, 1, 0});
    CHECK(visits(backward, 1, first) == Indices{4, 3, 2, 1, 2, 0});
}

}  // namespace lode::emulator::decode
