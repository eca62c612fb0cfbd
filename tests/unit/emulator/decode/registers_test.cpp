// Where the registers of a function are: which share a slot, and which need none of their own.
#include "emulator/decode/registers.hpp"

#include "tests/unit/emulator/decode/tree.hpp"

#include <string_view>
#include <vector>

namespace lode::emulator::decode {
namespace {

using testing::Tree;

/// The parameters p, q and n of the kernel are at 0, 8 and 16.
class Placed {
public:
    /// `keeps_first`: checks remember something of the register that the first instruction sets.
    explicit Placed(std::string_view body, bool keeps_first = false) : tree_(body) {
        build_.module = &tree_.parts();
        build_.kernel = &kernel_;
        Builder builder(build_, tree_.function(), code_);
        for (u32 k = 0; k < 3; ++k)
            builder.frame().set_entry_offset(k, 8 * k);
        std::vector<bool> keep(tree_.function().registers.size());
        if (keeps_first) keep[tree_.reg(0, 0)] = true;
        allocate_registers(builder, keep);
        REQUIRE(!builder.refused());
        for (u32 k = 0; k < keep.size(); ++k)
            slots_.push_back(builder.frame().reg(k));
    }

    /// The slot of a register that an instruction sets.
    [[nodiscard]] Slot set_by(u32 instruction) const { return slots_[tree_.reg(instruction, 0)]; }
    [[nodiscard]] Area area_set_by(u32 instruction) const {
        return static_cast<Area>(set_by(instruction) >> area_shift);
    }

private:
    Tree tree_;
    DecodedKernel kernel_;
    KernelBuild build_;
    Code code_;
    std::vector<Slot> slots_;
};

}  // namespace

TEST_CASE("registers: those whose lives don't overlap share a slot") {
    constexpr std::string_view apart =
        "ld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1], %r1;\n"
        "ld.global.u32 %r2, [%rd1];\nst.global.u32 [%rd1], %r2;\nret;";
    const Placed one_after_the_other(apart);
    CHECK(one_after_the_other.set_by(0) == one_after_the_other.set_by(2));
    const Placed kept(apart, true);
    CHECK(kept.set_by(0) != kept.set_by(2));
    const Placed together(
        "ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1];\n"
        "st.global.u32 [%rd1], %r1;\nst.global.u32 [%rd1], %r2;\nret;");
    CHECK(together.set_by(0) != together.set_by(1));
    const Placed of_two_sizes(
        "ld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1], %r1;\n"
        "ld.global.u64 %rd2, [%rd1];\nst.global.u64 [%rd1], %rd2;\nret;");
    CHECK(of_two_sizes.set_by(0) != of_two_sizes.set_by(2));
}

TEST_CASE("registers: one that is set once, to what has a slot, is an alias") {
    const Placed aliases(
        "ld.param.u32 %r1, [n];\nmov.u32 %r2, 7;\nmov.u32 %r3, %tid.x;\n"
        "ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\n"
        "st.global.u32 [%rd2], %r1;\nst.global.u32 [%rd2], %r2;\nst.global.u32 [%rd2], %r3;\nret;");
    CHECK(aliases.area_set_by(0) == Area::launch);
    CHECK(aliases.area_set_by(1) == Area::constants);
    CHECK(aliases.area_set_by(2) == Area::warp);
    CHECK(aliases.set_by(4) == aliases.set_by(3));
    const Placed set_twice(
        "mov.u32 %r1, 7;\n@%p1 mov.u32 %r1, 8;\nst.global.u32 [%rd1], %r1;\nret;");
    CHECK(set_twice.area_set_by(0) == Area::frame);
    const Placed changes("mov.u32 %r1, %clock;\nst.global.u32 [%rd1], %r1;\nret;");
    CHECK(changes.area_set_by(0) == Area::frame);
}

}  // namespace lode::emulator::decode
