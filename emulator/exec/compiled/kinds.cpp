#include "emulator/exec/compiled/kinds.hpp"

#include "emulator/isa/atomic.hpp"
#include "emulator/isa/table.hpp"

#include <algorithm>

namespace lode::emulator::exec {

namespace {

/// By Comparison: the quiet predicate of vcmpps.
constexpr u8 real_predicates[] = {0, 12, 17, 18, 30, 29, 8, 4, 25, 26, 22, 21, 7, 3};

Compare compare_of(const OpRow& row) {
    if (row.type == 'f') return Compare::real;
    const auto number = static_cast<u32>(row.comparison);
    const bool is_order = row.comparison >= Comparison::lt;
    constexpr u32 orders = 4;
    return static_cast<Compare>(number + (is_order && row.type == 's' ? orders : 0));
}

Kind kind_of_row(const OpRow& row) {
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
            .sign = row.type == 's'};
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
    if (operation >= Operation::first_row) return kind_of_row(op_rows()[row_index(operation)]);
    // Those that are called have one or two results of 32 bits.
    return {.action = named_actions[static_cast<u32>(operation)], .writes = 2, .bytes = 4};
}

}  // namespace lode::emulator::exec
