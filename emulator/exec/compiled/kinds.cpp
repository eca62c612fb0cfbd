#include "emulator/exec/compiled/kinds.hpp"

#include "emulator/isa/atomic.hpp"
#include "emulator/isa/real.hpp"
#include "emulator/isa/table.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace lode::emulator::exec {

namespace {

/// By Comparison: the quiet predicate of vcmpps.
constexpr u8 real_predicates[] = {0, 12, 17, 18, 30, 29, 8, 4, 25, 26, 22, 21, 7, 3};

/// By Round.
constexpr u8 rounding_modes[] = {0, 3, 1, 2};
constexpr std::string_view rounds_by_flags = "cvt.int.ex.f32.f32";

/// The mode in a key such as cvt.rmi.f32.f32.
u8 rounding_of(std::string_view key) {
    constexpr std::string_view letters = "nzmp";
    constexpr std::size_t at = std::string_view("cvt.r").size();
    const std::size_t found = letters.find(key[at]);
    return found == letters.npos ? 0 : rounding_modes[found];
}

Compare compare_of(const OpRow& row) {
    if (row.type == 'f') return Compare::real;
    const auto number = static_cast<u32>(row.comparison);
    const bool is_order = row.comparison >= Comparison::lt;
    constexpr u32 orders = 4;
    return static_cast<Compare>(number + (is_order && row.type == 's' ? orders : 0));
}

/// The same operation without .ftz, if that is all that keeps the compiler from it: processors
/// flush what PTX wants flushed.
const OpRow* unflushed(const OpRow& row) {
    constexpr std::string_view word = ".ftz";
    std::string key(row.keys);
    const std::size_t at = key.find(word);
    if (at == key.npos) return nullptr;
    const OpRow* const plain = find_op(key.erase(at, word.size()));
    if (plain == nullptr) return nullptr;
    switch (plain->action) {
        case Action::real_add:
        case Action::real_subtract:
        case Action::real_multiply:
        case Action::real_fma:
            return plain;
        case Action::compare:
        case Action::compare_and_branch:
            return plain->type == 'f' ? plain : nullptr;
        default:  // Quotients are flushed before they are rounded to 24 bits.
            return nullptr;
    }
}

Kind kind_of_row(const OpRow& row) {
    if (const OpRow* const plain = unflushed(row)) {
        Kind kind = kind_of_row(*plain);
        kind.flushes = true;
        return kind;
    }
    const std::string_view letters(row.operands);
    u32 most = 4;
    for (const char letter : letters)
        most = std::max(most, bytes_of_letter(letter));
    return {.action = row.action,
            .compare = compare_of(row),
            .predicate = real_predicates[static_cast<u32>(row.comparison)],
            .writes = row.results,
            .bytes = static_cast<u8>(most),
            .from = static_cast<u8>(bytes_of_letter(letters[1])),
            .to = static_cast<u8>(bytes_of_letter(letters[0])),
            .sign = row.type == 's',
            .rounding = row.action == Action::real_round ? rounding_of(row.keys) : u8{0}};
}

Kind kind_of_access(const MemoryAccess& access) {
    const bool shared = access.space == MemorySpace::shared;
    const bool is_simple =
        access.parts == 1 && access.bytes <= 8 && (shared || access.space == MemorySpace::global);
    if (is_simple) {
        return {.action = access.stores ? Action::store : Action::load,
                .writes = static_cast<u8>(access.stores ? 0 : 1),
                .bytes = static_cast<u8>(access.bytes),
                .shared = shared,
                .form = access.form};
    }
    return {.action = Action::call,
            .writes = static_cast<u8>(access.stores ? 0 : access.parts),
            .bytes = static_cast<u8>(std::max(access.bytes, u32{4}))};
}

Kind kind_of_atomic(AtomicType type) {
    const bool is_compiled = type == AtomicType::u32 || type == AtomicType::s32;
    return {.action = is_compiled ? Action::atomic : Action::call,
            .writes = 1,
            .bytes = static_cast<u8>(atomic_bytes(type))};
}

constexpr Action named_actions[] = {
#define LODE_OPERATION(name, action) Action::action,
#include "emulator/isa/operations.def"
#undef LODE_OPERATION
};

}  // namespace

Kind kind_of(Operation operation) {
    if (operation >= Operation::first_atomic) return kind_of_atomic(atomic_type_of(operation));
    if (operation >= Operation::first_access) return kind_of_access(access_of(operation));
    if (operation >= Operation::first_row) {
        static const auto& kinds = *new auto([] {  // Kernels may run during exit().
            std::vector<Kind> made;
            for (const OpRow& row : op_rows())
                made.push_back(kind_of_row(row));
            return made;
        }());
        return kinds[row_index(operation)];
    }
    // Those that are called have one or two results of 32 bits.
    return {.action = named_actions[static_cast<u32>(operation)], .writes = 2, .bytes = 4};
}

Kind kind_of(const Op& op) {
    static const Operation by_flags = find_op(rounds_by_flags)->operation();
    Kind kind = kind_of(op.operation);
    if (op.operation != by_flags) return kind;
    const auto flags = op.flags.as<RealFlags>();
    if (flags.saturate) kind.action = Action::call;
    kind.rounding = rounding_modes[flags.round];
    kind.flushes = flags.flush;
    return kind;
}

bool is_branch(Action action) {
    return action == Action::branch || action == Action::branch_if ||
           action == Action::branch_unless || action == Action::compare_and_branch;
}

u32 whole_result(const Kind& kind) {
    switch (kind.action) {
        case Action::load:
            return kind.bytes;
        case Action::convert:
        case Action::product:
        case Action::product_sum:
            return kind.to;
        case Action::wide_add:
        case Action::wide_subtract:
        case Action::wide_move:
            return 8;
        case Action::select:
        case Action::compare:
        case Action::compare_and_branch:
        case Action::predicate_and:
        case Action::predicate_or:
        case Action::predicate_xor:
        case Action::predicate_not:
        case Action::predicate_move:
            return 4;
        default:
            return (kind.action >= Action::add && kind.action <= Action::move) ||
                           (kind.action >= Action::real_add && kind.action <= Action::real_fma)
                       ? 4
                       : 0;
    }
}

}  // namespace lode::emulator::exec
