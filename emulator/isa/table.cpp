#include "emulator/isa/table.hpp"

#include "emulator/isa/rows/flushing.hpp"

#include <type_traits>
#include <unordered_map>

namespace lode::emulator {

namespace {

template <class T>
constexpr char size_letter = letter_of_bytes(sizeof(T));
template <class T>
constexpr char type_letter = std::is_floating_point_v<T> ? 'f'
                             : std::is_signed_v<T>       ? 's'
                                                         : 'u';

/// The conversion between two types of integers.
template <class D, class S>
constexpr Action converted = (type_letter<D> == type_letter<S> && sizeof(D) > sizeof(S) &&
                              (sizeof(D) < 8 || sizeof(S) == 4)) ||
                                     (sizeof(D) == 4 && sizeof(S) == 8)
                                 ? Action::convert
                                 : Action::call;

/// A row of setp, with the action for those that the compiled tier knows and that for the others.
template <class T>
constexpr OpRow comparison_row(std::string_view keys, std::string_view type,
                               exec::Comparison comparison, Action known, Action other) {
    const bool is_known = sizeof(T) == 4 && !type.starts_with("ftz");
    return {.keys = keys,
            .operands = {'p', size_letter<T>, size_letter<T>},
            .action = is_known ? known : other,
            .type = type_letter<T>,
            .comparison = comparison};
}

constexpr OpRow operator|(Action action, OpRow row) {
    row.action = action;
    return row;
}

}  // namespace

#define LODE_AS(...) (__VA_ARGS__) |
#define LODE_OP(keys_, letters, ...) OpRow{.keys = keys_, .operands = letters},
#define LODE_UNPACK(keys_, letters, ...) \
    OpRow{.keys = keys_, .operands = letters, .results = sizeof(letters) - 2},
#define LODE_TYPED(keys_, A, ...) \
    OpRow{.keys = keys_, .operands = {__VA_ARGS__}, .type = type_letter<A>},
#define LODE_ROW1(keys, D, A, expression) LODE_TYPED(keys, A, size_letter<D>, size_letter<A>)
#define LODE_ROW2(keys, D, A, B, expression) \
    LODE_TYPED(keys, A, size_letter<D>, size_letter<A>, size_letter<B>)
#define LODE_ROW3(keys, D, A, B, E, expression) \
    LODE_TYPED(keys, A, size_letter<D>, size_letter<A>, size_letter<B>, size_letter<E>)
#define LODE_EACH1 LODE_ROW1
#define LODE_EACH2 LODE_ROW2
#define LODE_EACH3 LODE_ROW3
#define LODE_COMPARE(condition, type, T, expression)                                           \
    comparison_row<T>("setp." #condition "." type, type, exec::Comparison::condition, compare, \
                      call),                                                                   \
        comparison_row<T>("setp.bra." #condition "." type, type, exec::Comparison::condition,  \
                          compare_and_branch, other_branch),                                   \
        OpRow{.keys = "setp.x." #condition "." type,                                           \
              .operands = {'p', size_letter<T>, size_letter<T>, 'p', 'p'}},

std::span<const OpRow> op_rows() noexcept {
    using enum Action;
    static constexpr OpRow rows[] = {
#include "emulator/isa/rows/all.def"
    };
    return rows;
}

Operation OpRow::operation() const noexcept {
    const auto index = static_cast<u32>(this - op_rows().data());
    return static_cast<Operation>(static_cast<u32>(Operation::first_row) + index);
}

const OpRow* find_op(std::string_view key) {
    static const auto* const index = [] {
        auto* const made = new std::unordered_map<std::string_view, const OpRow*>;
        made->reserve(4096);
        for (const OpRow& row : op_rows()) {
            std::string_view keys = row.keys;
            while (!keys.empty()) {
                const auto space = keys.find(' ');
                made->emplace(keys.substr(0, space), &row);
                keys.remove_prefix(space == keys.npos ? keys.size() : space + 1);
            }
        }
        return made;
    }();
    const auto found = index->find(key);
    return found == index->end() ? nullptr : found->second;
}

}  // namespace lode::emulator
