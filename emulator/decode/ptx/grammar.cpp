#include "emulator/decode/ptx/grammar.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>

namespace lode::emulator::ptx {
namespace {

struct Row {
    std::string_view name, modifiers, operands, needs;
};

constexpr Row rows[] = {
#define LODE_FORM(name, modifiers, operands, needs) {name, modifiers, operands, needs},
#include "emulator/decode/ptx/grammar_arithmetic.def"
#include "emulator/decode/ptx/grammar_control.def"
#include "emulator/decode/ptx/grammar_copies.def"
#include "emulator/decode/ptx/grammar_images.def"
#include "emulator/decode/ptx/grammar_matrix.def"
#include "emulator/decode/ptx/grammar_memory.def"
#include "emulator/decode/ptx/grammar_tcgen05.def"
#include "emulator/decode/ptx/grammar_tensor.def"
#include "emulator/decode/ptx/grammar_wgmma.def"
#undef LODE_FORM
};

/// Lists of words shared by many rows.
struct Words {
    std::string_view name, words;
};
constexpr Words shorthands[] = {
#define LODE_WORDS(name, words) {name, words},
#include "emulator/decode/ptx/grammar_words.def"
#undef LODE_WORDS
};

// Words that ptxas accepts twice.
constexpr std::string_view repeatable[] = {"cc",     "sat",      "sync",      "uni", "relu",
                                           "approx", "shiftamt", "satfinite", "NaN"};

constexpr std::string_view typed_words[] = {
    "e4m3x2",    "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2", "ue8m0x2", "e4m3x4",  "e5m2x4",
    "e2m3x4",    "e3m2x4", "e2m1x4", "s4",     "u4",     "s2",      "b8x16",   "b6x16_p32",
    "b4x16_p64", "u2",     "s16x2",  "u16x2",  "f32x2",  "texref",  "surfref", "samplerref"};

constexpr std::string_view space_words[] = {"const",  "global",       "local",
                                            "shared", "shared::cta",  "shared::cluster",
                                            "param",  "param::entry", "param::func"};

bool contains(std::span<const std::string_view> words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

/// Calls `call` with each part of `text`; does nothing for an empty text.
template <class F>
void each_part(std::string_view text, char separator, F&& call) {
    while (!text.empty()) {
        const std::size_t end = text.find(separator);
        call(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
}

/// The class determines which registers fit: for `real`, those of bits and reals; for `packed`,
/// those of bits and .f16x2; for `other`, those of bits only.
Type operand_type(std::string_view name) {
    if (name == "f16") return {Class::real, 2};
    if (name == "bf16") return {Class::other, 2};
    if (name == "bf16x2" || name == "only32") return {Class::other, 4};
    if (name == "f32x2") return {Class::other, 8};
    if (name == "e2m1x2") return {Class::other, 1};
    if (name == "e2m1x4") return {Class::other, 2};
    if (name == "f16x2" || name == "s16x2" || name == "u16x2" || name == "tf32" || name == "x32" ||
        name.ends_with("x4")) {
        return {Class::packed, 4};
    }
    if (name.ends_with("x2")) return {Class::other, 2};
    if (name == "pred") return {Class::predicate, 0};
    return type_named(name);
}

Order order_of(std::string_view word) {
    if (word == "row" || word == "col") return Order::layout;
    if (contains(space_words, word)) return Order::space;
    const bool is_type =
        word == "pred" || contains(typed_words, word) || type_named(word).kind != Class::other;
    return is_type ? Order::type : Order::free;
}

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

    /// The forms of the longest name that is a prefix of the text. They are built on first use, as
    /// most programs use few.
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
        each_part(row.operands, ' ',
                  [&](std::string_view text) { form.operands.push_back(operand(text)); });
        each_part(row.needs, ' ', [&](std::string_view text) {
            const std::size_t equals = text.find('=');
            form.needs.emplace_back(text.substr(0, equals), needs_of(text.substr(equals + 1)));
        });
        return form;
    }

    // Parses "80", "@72" or "90@78": a target, a .version, or both; "100f" and similar are
    // families.
    static Needs needs_of(std::string_view text) {
        Needs needs;
        const std::size_t at = text.find('@');
        const std::string_view target = text.substr(0, at);
        constexpr std::pair<std::string_view, Needs::Family> named[] = {
            {"old", Needs::Family::before_sync},
            {"90a", Needs::Family::suffixed},
            {"only90a", Needs::Family::only_90a},
            {"12xf", Needs::Family::suffixed_12x},
            {"100f", Needs::Family::suffixed_100},
            {"100a", Needs::Family::a_of_10x},
            {"10xf", Needs::Family::suffixed_10x},
            {"tmem", Needs::Family::tensor_memory},
            {"tmem_a", Needs::Family::tensor_memory_a},
            {"tmem_i8", Needs::Family::a_100_or_110},
            {"tmem_red", Needs::Family::suffixed_103_or_110}};
        for (const auto& [name, family] : named) {
            if (name == target) needs.family = family;
        }
        if (needs.family == Needs::Family::none) {
            for (const char c : target)
                needs.target = static_cast<std::uint16_t>(needs.target * 10 + (c - '0'));
        }
        if (at != text.npos) {
            needs.version =
                static_cast<std::uint16_t>((text[at + 1] - '0') * 100 + (text[at + 2] - '0'));
        }
        return needs;
    }

    static void add(std::vector<std::string_view>& words, std::string_view word) {
        const bool may_be_list = word.front() >= 'A' && word.front() <= 'Z';
        for (const Words& list : shorthands) {
            if (may_be_list && list.name == word)
                return each_part(list.words, '|', [&](std::string_view one) { add(words, one); });
        }
        words.push_back(word);
    }

    static bool drop(std::string_view& text, char mark) {
        if (text.empty() || text.front() != mark) return false;
        text.remove_prefix(1);
        return true;
    }

    static Limit limit_named(std::string_view name) {
        constexpr std::pair<std::string_view, Limit> all[] = {
            {"byte", Limit::byte},       {"barrier", Limit::barrier},
            {"threads", Limit::threads}, {"event", Limit::event},
            {"mask", Limit::mask},       {"line", Limit::line},
            {"bulk", Limit::bulk},       {"registers", Limit::registers},
            {"zero", Limit::zero},       {"ca", Limit::ca},
            {"cg", Limit::cg},           {"fraction", Limit::fraction},
            {"axis", Limit::axis},       {"one", Limit::one},
            {"two", Limit::two},         {"three", Limit::three},
            {"below2", Limit::below2},   {"below4", Limit::below4},
            {"unit", Limit::unit},       {"alignment", Limit::alignment},
            {"columns", Limit::columns}};
        for (const auto& [word, limit] : all) {
            if (word == name) return limit;
        }
        return Limit::none;
    }

    static OperandForm operand(std::string_view text) {
        OperandForm made;
        made.is_optional = drop(text, '?');
        made.is_destination = drop(text, '=');
        if (const std::size_t at = text.find('@'); at != text.npos) {
            made.limit = limit_named(text.substr(at + 1));
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
            if (word != text) continue;
            made.type = {Class::unsigned_integer, 4};
            made.is_template = true;
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
        if (text.starts_with("tensor:")) {
            made.count = static_cast<std::uint8_t>(text.back() - '0');
            return of(made, Want::tensor);
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

constexpr std::size_t max_words = 24;

/// The words of an opcode after its name.
struct Modifiers {
    std::array<std::string_view, max_words> word;
    std::array<Order, max_words> order;
    std::size_t count = 0;
};

/// Whether a form's name contains a word.
bool names(std::string_view name, std::string_view word) {
    bool found = false;
    each_part(name, '.', [&](std::string_view part) { found |= part == word; });
    return found;
}

/// Finds the group of each modifier. If the form doesn't fit, returns false; `left_over` is then
/// the first word without a group, if there is one.
bool fits(const Form& form, const Modifiers& modifiers, std::span<std::string_view> chosen,
          std::string_view& left_over) {
    std::fill(chosen.begin(), chosen.end(), std::string_view{});
    std::size_t next[4] = {};  // Groups of types, spaces and layouts are filled in order.
    for (std::size_t k = 0; k < modifiers.count; ++k) {
        const std::string_view word = modifiers.word[k];
        const Order order = modifiers.order[k];
        bool taken = false;
        std::size_t& from = next[static_cast<std::size_t>(order)];
        for (std::size_t g = order == Order::free ? 0 : from; g < form.groups.size(); ++g) {
            const Group& group = form.groups[g];
            if (group.order != order) continue;
            const auto found = std::ranges::find(group.words, word);
            if (chosen[g].empty() && found != group.words.end()) {
                chosen[g] = *found;  // Not the word from the text: readings outlive it.
                if (order != Order::free) from = g + 1;
                taken = true;
                break;
            }
            if (order == Order::free && chosen[g] == word && contains(repeatable, word)) {
                taken = true;
                break;
            }
            if (order != Order::free && !group.is_optional) break;
        }
        taken = taken || (contains(repeatable, word) && names(form.name, word));
        if (!taken) {
            left_over = word;
            return false;
        }
    }
    left_over = {};
    for (std::size_t g = 0; g < form.groups.size(); ++g) {
        const Group& group = form.groups[g];
        if (chosen[g].empty() && !group.is_optional) return false;
        if (group.goes_with_previous && chosen[g].empty() != chosen[g - 1].empty()) return false;
    }
    return true;
}

std::string canonical_text(const Form& form, std::span<const std::string_view> chosen) {
    std::string text(form.name);
    for (std::size_t g = 0; g < form.groups.size(); ++g) {
        if (chosen[g].empty()) continue;
        text += '.';
        text += chosen[g];
    }
    return text;
}

/// 16 for "m64n16k8".
std::uint16_t columns_of(std::string_view shape) {
    std::uint16_t columns = 0;
    for (std::size_t k = 4; shape[k] != 'k'; ++k)
        columns = static_cast<std::uint16_t>(columns * 10 + (shape[k] - '0'));
    return columns;
}

Reading reading_of(const Form& form, std::span<const std::string_view> chosen) {
    Reading reading;
    reading.form = &form;
    for (const auto& [name, needs] : form.needs) {
        if (name.empty()) reading.needs.push_back(needs);
    }
    std::size_t spaces = 0;
    for (std::size_t g = 0; g < form.groups.size(); ++g) {
        const std::string_view word = chosen[g];
        if (word.empty()) continue;
        for (const auto& [name, needs] : form.needs) {
            if (name == word) reading.needs.push_back(needs);
        }
        if (form.groups[g].order == Order::type && reading.type_count < reading.types.size())
            reading.types[reading.type_count++] = operand_type(word);
        if (form.groups[g].order == Order::space && spaces < reading.spaces.size())
            reading.spaces[spaces++] = word;
        if (word == "v2" || word == "v4" || word == "v8")
            reading.vector = static_cast<std::uint8_t>(word[1] - '0');
        if (word == "L2::cache_hint") reading.has_hint = true;
        if (word == "po") reading.adds_one = true;
        if (is_geometry(word)) reading.geometry = word;
        if (word.starts_with("m64n")) reading.columns = columns_of(word);
    }
    return reading;
}

std::optional<Opcode> read(std::string_view text, std::string& why) {
    std::string_view name;
    const std::span<const Form> forms = Grammar::get().named(text, name);
    if (forms.empty()) {
        why = "'" + std::string(text) + "' isn't a PTX instruction.";
        return std::nullopt;
    }
    Opcode made;
    Modifiers modifiers;
    bool is_short = true;
    if (text.size() > name.size()) {
        each_part(text.substr(name.size() + 1), '.', [&](std::string_view word) {
            is_short = is_short && modifiers.count < max_words;
            if (!is_short) return;
            modifiers.word[modifiers.count] = word;
            modifiers.order[modifiers.count++] = order_of(word);
        });
    }
    if (!is_short || text.ends_with('.')) {
        why = "'" + std::string(text) + "' has more modifiers than any instruction.";
        return std::nullopt;
    }
    std::array<std::string_view, max_words> chosen_words;
    std::string_view unknown;
    bool is_known_elsewhere = false;
    for (const Form& one : forms) {
        const Form* const form = &one;
        const std::span chosen(chosen_words.data(), form->groups.size());
        std::string_view left_over;
        if (form->any_modifiers) {
            made.canonical = text;
            made.readings.emplace_back().form = form;
        } else if (fits(*form, modifiers, chosen, left_over)) {
            if (made.readings.empty()) made.canonical = canonical_text(*form, chosen);
            made.readings.push_back(reading_of(*form, chosen));
        } else if (left_over.empty()) {
            is_known_elsewhere = true;
        } else {
            unknown = left_over;
        }
    }
    if (!made.readings.empty()) return made;
    if (is_known_elsewhere || unknown.empty()) {
        why = "'" + std::string(text) + "' lacks a modifier.";
    } else {
        why = "'" + std::string(text) + "' can't have the modifier '." + std::string(unknown) +
              "', or can't combine it with the others.";
    }
    return std::nullopt;
}

/// All opcodes read so far, shared by all modules; entries are never removed.
class Memory {
public:
    const Opcode* find(std::string_view text) {
        const std::shared_lock lock(mutex_);
        const auto found = known_.find(text);
        return found == known_.end() ? nullptr : found->second;
    }
    const Opcode* keep(std::string_view text, Opcode opcode) {
        const std::unique_lock lock(mutex_);
        const auto [at, fresh] = known_.try_emplace(std::string(text), nullptr);
        if (fresh) at->second = new Opcode(std::move(opcode));
        return at->second;
    }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };
    std::shared_mutex mutex_;
    std::unordered_map<std::string, const Opcode*, Hash, std::equal_to<>> known_;
};

}  // namespace

const Opcode* read_opcode(std::string_view text, std::string& why) {
    static auto* const memory = new Memory;
    if (const Opcode* const known = memory->find(text)) return known;
    auto made = read(text, why);
    return made ? memory->keep(text, std::move(*made)) : nullptr;
}

std::vector<const Form*> all_forms() {
    std::vector<const Form*> all;
    for (std::size_t k = 0; k < std::size(rows); ++k) {
        if (std::ranges::any_of(std::span(rows).first(k),
                                [&](const Row& row) { return row.name == rows[k].name; })) {
            continue;
        }
        std::string_view name;
        for (const Form& form : Grammar::get().named(rows[k].name, name))
            all.push_back(&form);
    }
    return all;
}

}  // namespace lode::emulator::ptx
