#include "emulator/exec/compiled/kinds.hpp"

#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/isa/atomic.hpp"
#include "emulator/isa/control.hpp"
#include "emulator/isa/load_store.hpp"
#include "emulator/isa/warp.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace lode::emulator::exec {

namespace {

using Kinds = std::unordered_map<Handler, Kind>;

struct NamedAction {
    std::string_view key;
    Action action;
};
constexpr NamedAction named_actions[] = {
    {"add.s32", Action::add},
    {"sub.s32", Action::subtract},
    {"mul.lo.s32", Action::multiply},
    {"mad.lo.s32", Action::multiply_add},
    {"and.b32", Action::bit_and},
    {"or.b32", Action::bit_or},
    {"xor.b32", Action::bit_xor},
    {"shl.b32", Action::shift_left},
    {"shr.u32", Action::shift_right_unsigned},
    {"shr.s32", Action::shift_right_signed},
    {"min.s32", Action::min_signed},
    {"max.s32", Action::max_signed},
    {"min.u32", Action::min_unsigned},
    {"max.u32", Action::max_unsigned},
    {"mov.b32", Action::move},
    {"selp.b32", Action::select},
    {"add.f32", Action::real_add},
    {"sub.f32", Action::real_subtract},
    {"mul.f32", Action::real_multiply},
    {"div.f32", Action::real_divide},
    {"fma.f32", Action::real_fma},
    {"and.pred", Action::predicate_and},
    {"or.pred", Action::predicate_or},
    {"xor.pred", Action::predicate_xor},
    {"not.pred", Action::predicate_not},
    {"mov.pred", Action::predicate_move},
    {"add.s64", Action::wide_add},
    {"sub.s64", Action::wide_subtract},
    {"mov.b64", Action::wide_move},
};

struct NamedConversion {
    std::string_view key;
    Action action;
    u8 from;
    u8 to;
    bool sign;
};
constexpr NamedConversion named_conversions[] = {
    {"cvt.u16.u8", Action::convert, 1, 2, false},
    {"cvt.u32.u8", Action::convert, 1, 4, false},
    {"cvt.u32.u16", Action::convert, 2, 4, false},
    {"cvt.u64.u32", Action::convert, 4, 8, false},
    {"cvt.s16.s8", Action::convert, 1, 2, true},
    {"cvt.s32.s8", Action::convert, 1, 4, true},
    {"cvt.s32.s16", Action::convert, 2, 4, true},
    {"cvt.s64.s32", Action::convert, 4, 8, true},
    {"mul.wide.u16", Action::product, 2, 4, false},
    {"mul.wide.s16", Action::product, 2, 4, true},
    {"mul.wide.u32", Action::product, 4, 8, false},
    {"mul.wide.s32", Action::product, 4, 8, true},
    {"mad.wide.u32", Action::product_sum, 4, 8, false},
    {"mad.wide.s32", Action::product_sum, 4, 8, true},
};

struct NamedComparison {
    std::string_view key;
    Compare compare;
    u8 predicate = 0;  ///< Quiet predicates of vcmpps.
};
constexpr NamedComparison named_comparisons[] = {
    {"eq.32", Compare::eq},         {"ne.32", Compare::ne},         {"lt.u32", Compare::lt_u},
    {"le.u32", Compare::le_u},      {"gt.u32", Compare::gt_u},      {"ge.u32", Compare::ge_u},
    {"lt.s32", Compare::lt_s},      {"le.s32", Compare::le_s},      {"gt.s32", Compare::gt_s},
    {"ge.s32", Compare::ge_s},      {"eq.f32", Compare::real, 0},   {"ne.f32", Compare::real, 12},
    {"lt.f32", Compare::real, 17},  {"le.f32", Compare::real, 18},  {"gt.f32", Compare::real, 30},
    {"ge.f32", Compare::real, 29},  {"equ.f32", Compare::real, 8},  {"neu.f32", Compare::real, 4},
    {"ltu.f32", Compare::real, 25}, {"leu.f32", Compare::real, 26}, {"gtu.f32", Compare::real, 22},
    {"geu.f32", Compare::real, 21}, {"num.f32", Compare::real, 7},  {"nan.f32", Compare::real, 3},
};

u8 most_bytes(const OpRow& row) {
    u32 most = 4;
    for (const char letter : row.operands)
        most = std::max(most, bytes_of_letter(letter));
    return static_cast<u8>(most);
}

void add_rows(Kinds& kinds) {
    for (const auto rows :
         {integer_rows(), wide_integer_rows(), bit_rows(), carry_rows(), float_rows(),
          rounding_rows(), approx_rows(), half_rows(), compare_rows(), set_rows(),
          integer_convert_rows(), float_convert_rows(), narrow_convert_rows(), move_rows()}) {
        for (const OpRow& row : rows) {
            const bool several = row.keys.starts_with("unpack.");
            kinds[row.run] = {.action = Action::call,
                              .writes = static_cast<u8>(several ? 8 : 1),
                              .bytes = most_bytes(row)};
        }
    }
    for (const auto& [key, action] : named_actions)
        kinds[find_op(key)->run] = {.action = action, .writes = 1, .bytes = 8};
    for (const auto& [key, action, from, to, sign] : named_conversions) {
        kinds[find_op(key)->run] = {
            .action = action, .writes = 1, .bytes = 8, .from = from, .to = to, .sign = sign};
    }
    for (const auto& [key, compare, predicate] : named_comparisons) {
        kinds[find_op("setp." + std::string(key))->run] = {
            .action = Action::compare, .compare = compare, .predicate = predicate};
    }
    for (const OpRow& row : compare_rows()) {
        if (row.keys.starts_with("setp.bra.")) kinds[row.run] = {.action = Action::other_branch};
    }
    for (const auto& [key, compare, predicate] : named_comparisons) {
        kinds[find_op("setp.bra." + std::string(key))->run] = {
            .action = Action::compare_and_branch, .compare = compare, .predicate = predicate};
    }
}

/// Loads and stores of one element, which may be compiled.
void add_simple_accesses(Kinds& kinds, bool store) {
    for (const auto bytes : {u8{1}, u8{2}, u8{4}, u8{8}}) {
        const auto add = [&](Handler handler, Form form, bool shared) {
            kinds[handler] = {.action = store ? Action::store : Action::load,
                              .writes = static_cast<u8>(store ? 0 : 1),
                              .bytes = bytes,
                              .shared = shared,
                              .form = form};
        };
        for (const bool shared : {false, true}) {
            const auto space = shared ? MemorySpace::shared : MemorySpace::global;
            add(indexed_handler(space, store, bytes, 1), Form::index, shared);
            add(memory_handler(space, store, bytes, 1, false), Form::wide, shared);
        }
        add(memory_handler(MemorySpace::shared, store, bytes, 1, true), Form::narrow, true);
    }
}

void add_accesses(Kinds& kinds) {
    const auto add = [&](Handler handler, bool store, u32 bytes, u32 parts) {
        if (handler == nullptr) return;
        kinds[handler] = {.action = Action::call,
                          .writes = static_cast<u8>(store ? 0 : parts),
                          .bytes = static_cast<u8>(std::max(bytes, u32{4}))};
    };
    for (const bool store : {false, true}) {
        for (const u32 bytes : {1, 2, 4, 8, 16}) {
            for (const u32 parts : {1, 2, 4}) {
                for (const auto space :
                     {MemorySpace::global, MemorySpace::generic, MemorySpace::shared,
                      MemorySpace::local, MemorySpace::parameter}) {
                    for (const bool narrow : {false, true})
                        add(memory_handler(space, store, bytes, parts, narrow), store, bytes,
                            parts);
                    if (bytes != 16)
                        add(indexed_handler(space, store, bytes, parts), store, bytes, parts);
                }
            }
        }
        add_simple_accesses(kinds, store);
    }
    for (u32 type = 0; type <= static_cast<u32>(AtomicType::b128); ++type) {
        const auto one = static_cast<AtomicType>(type);
        const bool integer = one == AtomicType::u32 || one == AtomicType::s32;
        kinds[atomic_handler(one)] = {.action = integer ? Action::atomic : Action::call,
                                      .writes = 1,
                                      .bytes = static_cast<u8>(atomic_bytes(one))};
    }
}

Kinds make_kinds() {
    Kinds kinds;
    kinds.reserve(4096);
    add_rows(kinds);
    add_accesses(kinds);
    for (const Handler one :
         {&shuffle, &shuffle_fixed, &vote, &match32, &match64, &reduce, &elect, &active_mask})
        kinds[one] = {.action = Action::call, .writes = 2, .bytes = 4};
    kinds[&shuffle_fixed] = {.action = Action::shuffle, .writes = 2, .bytes = 4};
    kinds[&branch] = {.action = Action::branch};
    kinds[&branch_if] = {.action = Action::branch_if};
    kinds[&branch_unless] = {.action = Action::branch_unless};
    kinds[&exit_threads] = {.action = Action::leave};
    kinds[&return_from] = {.action = Action::leave};
    kinds[&block_barrier] = {.action = Action::wait};
    kinds.erase(nullptr);
    return kinds;
}

}  // namespace

Kind kind_of(Handler handler) {
    // Workers of the machine ask until the process has ended.
    static const Kinds& kinds = *new Kinds(make_kinds());
    const auto found = kinds.find(handler);
    return found == kinds.end() ? Kind{} : found->second;
}

}  // namespace lode::emulator::exec
