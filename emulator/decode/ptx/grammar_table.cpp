#include "emulator/decode/ptx/grammar_table.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_map>

namespace lode::emulator::ptx {
namespace {

enum class Kind : std::uint8_t { other, pure, writes, ends_path };

struct Row {
    Kind kind;
    std::string_view name, modifiers, operands, needs;
};

constexpr Row rows[] = {
#define LODE_FORM(name, modifiers, operands, needs) {Kind::other, name, modifiers, operands, needs},
#define LODE_PURE(name, modifiers, operands, needs) {Kind::pure, name, modifiers, operands, needs},
#define LODE_WRITES(name, modifiers, operands, needs) \
    {Kind::writes, name, modifiers, operands, needs},
#define LODE_ENDS(name, modifiers, operands, needs) \
    {Kind::ends_path, name, modifiers, operands, needs},
#include "emulator/decode/ptx/grammar_arithmetic.def"
#include "emulator/decode/ptx/grammar_control.def"
#include "emulator/decode/ptx/grammar_copies.def"
#include "emulator/decode/ptx/grammar_fabric.def"
#include "emulator/decode/ptx/grammar_images.def"
#include "emulator/decode/ptx/grammar_matrix.def"
#include "emulator/decode/ptx/grammar_memory.def"
#include "emulator/decode/ptx/grammar_sparse.def"
#include "emulator/decode/ptx/grammar_tcgen05.def"
#include "emulator/decode/ptx/grammar_tensor.def"
#include "emulator/decode/ptx/grammar_wgmma.def"
#undef LODE_FORM
#undef LODE_PURE
#undef LODE_WRITES
#undef LODE_ENDS
};

/// Lists of words shared by many rows.
struct Words {
    std::string_view name, words;
};
constexpr Words shorthands[] = {
#define LODE_WORDS(name, words) {name, words},
#define LODE_NEEDS(words, needs)
#include "emulator/decode/ptx/grammar_words.def"
#undef LODE_WORDS
#undef LODE_NEEDS
};

/// What words need in every row.
struct WordNeeds {
    std::string_view words, needs;
};
constexpr WordNeeds word_needs[] = {
#define LODE_WORDS(name, words)
#define LODE_NEEDS(words, needs) {words, needs},
#include "emulator/decode/ptx/grammar_words.def"
#undef LODE_WORDS
#undef LODE_NEEDS
};

constexpr Word typed_words[] = {
    "e4m3x2", "e5m2x2", "e2m3x2",  "e3m2x2",     "e2m1x2",    "ue8m0x2", "e4m3x4",   "e5m2x4",
    "e2m3x4", "e3m2x4", "e2m1x4",  "s2f6x2",     "ue5m3x2",   "u8x4",    "s8x4",     "s4",
    "u4",     "s2",     "b8x16",   "b6x16_p32",  "b4x16_p64", "u2",      "s16x2",    "u16x2",
    "f32x2",  "texref", "surfref", "samplerref", "b2",        "b4",      "e2m1p4x4", "ue8m0x4"};

constexpr Limit limits[] = {
    {"byte", 0, 255},
    {"barrier", 0, 15},
    {"threads", 0, std::numeric_limits<std::int64_t>::max(), 32},
    {"event", 0, 15},
    {"mask", 0, 0xffff},
    {"registers", 24, 256, 8},
    {"line", 128, 128},
    {"arrivals", 1, 0xfffff},
    {"count", 1, std::numeric_limits<std::int64_t>::max()},
    {"bulk", 0, 1048560, 16},
    {"zero", 0, 0},
    {"below2", 0, 1},
    {"below4", 0, 3},
    {"axis", 0, 4},
    {"one", 0, 1},
    {"two", 0, 2},
    {"three", 0, 3},
    {"four", 4, 4},
    {"mark", 0, 4095},
    {"cg", 16, 16},
    {.name = "ca", .least = 4, .most = 16, .is_power = true},
    {"exclusive", 32, std::numeric_limits<std::int64_t>::max(), 32},
    {.name = "columns", .least = 32, .most = 512, .is_power = true},
    {.name = "alignment", .most = 1u << 23, .is_power = true},
    {.name = "unit", .is_unit = true},
    {.name = "all", .is_full = true},
    {.name = "fraction", .is_fraction = true},
};

constexpr Family families[] = {
    {.name = "90a", .least = 1},
    {.name = "100f", .least = 100},
    {"only90a", {90}},
    {"12xf", {120, 121}},
    {"107f", {107}},
    {.name = "103a", .numbers = {103, 107}, .is_specific = true},
    {.name = "107a", .numbers = {107}, .is_specific = true},
    {"simd", {107, 120, 121}},
    {.name = "fp8_a", .numbers = {100, 103}, .is_specific = true},
    {.name = "multi_fp8", .numbers = {100, 103, 107, 110}, .specific = {120, 121}},
    {.name = "any_a", .least = 100, .is_specific = true},
    {"10xf", {100, 103, 107}},
    {.name = "100a", .numbers = {100, 103, 107}, .is_specific = true},
    {"tmem", {100, 103, 107, 110}},
    {.name = "tmem_a", .numbers = {100, 103, 107, 110}, .is_specific = true},
    {.name = "tmem_i8", .numbers = {100, 110}, .is_specific = true},
    {"tmem_red", {103, 107, 110}},
};

class Grammar {
public:
    Grammar() {
        by_name_.reserve(std::size(rows));
        for (const Row& row : rows)
            by_name_[row.name].rows.push_back(&row);
    }

    static Grammar& get() {
        static auto* const one = new Grammar;
        return *one;
    }

    /// See forms_named().
    [[nodiscard]] std::span<const Form> named(std::string_view text, std::string_view& name) {
        Name* found = nullptr;
        std::size_t end = 0;
        for (int words = 0; words < 6 && end != text.npos; ++words) {
            end = text.find('.', end == 0 ? 0 : end + 1);
            const auto at = by_name_.find(text.substr(0, end));
            if (at == by_name_.end()) continue;
            found = &at->second;
            name = at->first;
        }
        if (found == nullptr) return {};
        const std::lock_guard lock(mutex_);
        if (found->forms.empty()) {
            for (const Row* const row : found->rows)
                found->forms.push_back(made(*row));
        }
        return found->forms;
    }

private:
    static Form made(const Row& row) {
        Form form;
        form.name = row.name;
        each_part(row.modifiers, ' ', [&](std::string_view text) {
            if (text == "*") {
                form.any_modifiers = true;
                return;
            }
            Group group;
            group.goes_with_previous = drop(text, '+');
            group.is_optional = drop(text, '?') || group.goes_with_previous;
            each_part(text, '|', [&](std::string_view word) { add(group.words, word); });
            group.order = order_of(group.words.front());
            form.groups.push_back(std::move(group));
        });
        form.traits.effect = effect_of(row.name);
        form.traits.is_pure = row.kind == Kind::pure;
        form.traits.writes_global = row.kind == Kind::writes;
        form.traits.ends_path = row.kind == Kind::ends_path;
        each_part(row.operands, ' ', [&](std::string_view text) {
            form.traits.reads_results |= text.starts_with('+');
            form.operands.push_back(operand(text));
            if (form.operands.back().is_destination) ++form.traits.results;
        });
        each_part(row.needs, ' ', [&](std::string_view text) {
            const std::size_t equals = text.find('=');
            form.needs.emplace_back(Word::named(text.substr(0, equals)),
                                    needs_of(text.substr(equals + 1)));
        });
        for (const auto& [words, needs] : word_needs) {
            std::vector<Word> all;
            each_part(words, '|', [&](std::string_view word) { add(all, word); });
            for (const Group& group : form.groups) {
                for (const Word word : group.words)
                    if (std::ranges::find(all, word) != all.end())
                        form.needs.emplace_back(word, needs_of(needs));
            }
        }
        return form;
    }

    static Effect effect_of(std::string_view name) {
        constexpr std::pair<std::string_view, Effect> named[] = {
            {"mov", Effect::move}, {"ld", Effect::load},     {"ldu", Effect::load},
            {"st", Effect::store}, {"atom", Effect::atomic}, {"red", Effect::reduce},
            {"call", Effect::call}};
        const auto* const found =
            std::ranges::find(named, name, &std::pair<std::string_view, Effect>::first);
        return found == std::end(named) ? Effect::other : found->second;
    }

    // Parses "80", "@72" or "90@78": a target, a .version, or both; "100f" and similar are
    // families.
    static Needs needs_of(std::string_view text) {
        Needs needs;
        const std::size_t at = text.find('@');
        const std::string_view target = text.substr(0, at);
        if (target == "old") return {.target_below = 70, .version_below = 604};
        if (target == "unrounded") return {.target_below = 20, .version_below = 302};
        const auto* const family = std::ranges::find(families, target, &Family::name);
        if (family != std::end(families)) {
            needs.family = family;
        } else {
            for (const char c : target)
                needs.target = static_cast<std::uint16_t>(needs.target * 10 + (c - '0'));
        }
        if (at != text.npos) {
            needs.version =
                static_cast<std::uint16_t>((text[at + 1] - '0') * 100 + (text[at + 2] - '0'));
        }
        return needs;
    }

    static void add(std::vector<Word>& words, std::string_view word) {
        const bool may_be_list = word.front() >= 'A' && word.front() <= 'Z';
        for (const Words& list : shorthands) {
            if (may_be_list && list.name == word)
                return each_part(list.words, '|', [&](std::string_view one) { add(words, one); });
        }
        words.push_back(Word::named(word));
    }

    static bool drop(std::string_view& text, char mark) {
        if (text.empty() || text.front() != mark) return false;
        text.remove_prefix(1);
        return true;
    }

    static OperandForm operand(std::string_view text) {
        OperandForm made;
        made.is_optional = drop(text, '?');
        made.is_destination = drop(text, '=') || drop(text, '+');
        if (const std::size_t at = text.find('@'); at != text.npos) {
            const auto* const limit = std::ranges::find(limits, text.substr(at + 1), &Limit::name);
            if (limit != std::end(limits)) made.limit = *limit;
            text = text.substr(0, at);
        }
        if (text == "_") return of(made, Want::sink);
        made.may_discard = drop(text, '_');
        if (text == "[]") return of(made, Want::address);
        made.is_wide = text == "[w]";
        made.is_tensor_memory = text == "[t]";
        if (made.is_wide || made.is_tensor_memory) return of(made, Want::address);
        if (text == "#") return of(made, Want::number);
        if (text == "label") return of(made, Want::label);
        if (text == "table") return of(made, Want::table);
        if (text == "hint") {
            made.type = {Class::bits, 8};
            return of(made, Want::hint);
        }
        if (text == "move") {
            made.is_template = true;
            return of(made, Want::move);
        }
        if (text == "call") return of(made, Want::call);
        if (text == "*") return of(made, Want::anything);
        constexpr std::pair<std::string_view, Want> parts[] = {{"video", Want::video},
                                                               {"simd", Want::simd},
                                                               {"mask", Want::mask},
                                                               {"whole", Want::whole}};
        for (const auto& [word, want] : parts) {
            if (!text.substr(text.starts_with('~') ? 1 : 0).starts_with(word)) continue;
            made.type = {Class::unsigned_integer, 4};
            made.is_template = drop(text, '~');
            if (text != word) made.count = static_cast<std::uint8_t>(text.back() - '0');
            return of(made, want);
        }
        constexpr std::pair<std::string_view, Want> of_images[] = {{"image:", Want::image},
                                                                   {"texels:", Want::texels},
                                                                   {"slopes:", Want::slopes},
                                                                   {"offset:", Want::offset},
                                                                   {"elements:", Want::elements}};
        for (const auto& [word, want] : of_images) {
            if (!text.starts_with(word)) continue;
            text.remove_prefix(word.size());
            made.want = want;
        }
        for (const auto& [word, want] :
             {std::pair{"tensor:", Want::tensor}, {"handle:", Want::handle}}) {
            if (!text.starts_with(word)) continue;
            made.count = static_cast<std::uint8_t>(text.back() - '0');
            return of(made, want);
        }
        if (drop(text, '{')) {
            made.want = Want::vector;
            text.remove_suffix(1);
            if (text.find(':') != text.npos) {
                made.want = Want::list;
                made.is_per_column = drop(text, 'n');
                for (const char digit : text.substr(0, text.find(':')))
                    made.count = static_cast<std::uint8_t>(made.count * 10 + (digit - '0'));
                text.remove_prefix(text.find(':') + 1);
            }
        }
        made.needs_second = text.ends_with("|must");
        if (text.ends_with("|pred") || made.needs_second) {
            made.has_second = true;
            text.remove_suffix(5);
        }
        made.is_wider = drop(text, '>');
        made.is_template = drop(text, '~');
        made.is_number = drop(text, '!');
        made.is_register = drop(text, '%');
        if (drop(text, '2')) made.times = 2;
        if (text.size() == 1 && text.front() >= 'T' && text.front() <= 'W') {
            made.of_type = static_cast<std::int8_t>(text.front() - 'T');
            made.is_template = true;
        } else {
            made.type = operand_type(text);
        }
        return made;
    }
    static OperandForm of(OperandForm form, Want want) {
        form.want = want;
        return form;
    }

    struct Name {
        std::vector<const Row*> rows;
        std::vector<Form> forms;  ///< Empty until first use, then constant.
    };
    std::mutex mutex_;
    std::unordered_map<std::string_view, Name> by_name_;  ///< The set of names is constant.
};

}  // namespace

Type operand_type(std::string_view name) {
    if (name == "f16") return {Class::real, 2};
    if (name == "bf16") return {Class::other, 2};
    if (name == "only8") return {Class::other, 1};
    if (name == "only16") return {Class::other, 2};
    if (name == "bf16x2" || name == "only32") return {Class::other, 4};
    if (name == "f32x2") return {Class::other, 8};
    if (name == "e2m1x2") return {Class::other, 1};
    if (name == "e2m1x4") return {Class::other, 2};
    if (name == "f16x2" || name == "s16x2" || name == "u16x2" || name == "tf32" || name == "x32" ||
        name == "u8x4" || name == "s8x4") {
        return {Class::packed, 4};
    }
    if (name.ends_with("x4")) return {Class::other, 4};
    if (name.ends_with("x2")) return {Class::other, 2};
    if (name == "pred") return {Class::predicate, 0};
    return type_named(name);
}

Order order_of(Word word) {
    if (word == "row" || word == "col") return Order::layout;
    if (space_of(word) != Space::none) return Order::space;
    const bool is_type = word == "pred" || type_named(word.text()).kind != Class::other ||
                         std::ranges::find(typed_words, word) != std::end(typed_words);
    return is_type ? Order::type : Order::free;
}

std::span<const Form> forms_named(std::string_view text, std::string_view& name) {
    return Grammar::get().named(text, name);
}

std::vector<const Form*> all_forms() {
    std::vector<const Form*> all;
    for (std::size_t k = 0; k < std::size(rows); ++k) {
        if (std::ranges::any_of(std::span(rows).first(k),
                                [&](const Row& row) { return row.name == rows[k].name; })) {
            continue;
        }
        std::string_view name;
        for (const Form& form : forms_named(rows[k].name, name))
            all.push_back(&form);
    }
    return all;
}

}  // namespace lode::emulator::ptx
