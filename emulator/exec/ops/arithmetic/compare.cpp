// setp: 18 comparisons of integers and reals, with an optional combination.
#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/exec/ops/control/branch.hpp"
#include "emulator/isa/control.hpp"
#include "emulator/isa/half.hpp"
#include "emulator/isa/real.hpp"

namespace lode::emulator::exec {

namespace {

/// setp and the branch that follows it: to the target if r[0] = f(a, b), or if not: BranchWhen.
template <class A, auto f>
const Op* compare_and_branch(WarpContext& c, const Op* op) {
    const u32 bits = compare_lanes<A, f>(c, op);
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, bits, c.mask);
    const bool fails = op->flags.as<BranchWhen>() == BranchWhen::fails;
    return branch_on(c, op, (fails ? ~bits : bits) & c.mask);
}

#define LODE_COMPARE(condition, type, T, expression)                   \
    &compare<T, [](T a, T b) { return (expression); }>,                \
        &compare_and_branch<T, [](T a, T b) { return (expression); }>, \
        &compare_combined<T, [](T a, T b) { return (expression); }>,

constexpr Handler compare_table[] = {
#include "emulator/isa/rows/compare.def"
};

}  // namespace

std::span<const Handler> compare_handlers() {
    return compare_table;
}

}  // namespace lode::emulator::exec
