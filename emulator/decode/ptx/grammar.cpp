#include "emulator/decode/ptx/grammar.hpp"

#include "emulator/decode/ptx/grammar_table.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>

namespace lode::emulator::ptx {
namespace {

// Words that ptxas accepts twice.
constexpr std::string_view repeatable[] = {"cc",     "sat",      "sync",      "uni", "relu",
                                           "approx", "shiftamt", "satfinite", "NaN"};

bool is_repeatable(std::string_view word) {
    return std::ranges::find(repeatable, word) != std::end(repeatable);
}

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
            if (order == Order::free && chosen[g] == word && is_repeatable(word)) {
                taken = true;
                break;
            }
            if (order != Order::free && !group.is_optional) break;
        }
        taken = taken || (is_repeatable(word) && names(form.name, word));
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
    reading.traits = form.traits;
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
        if (form.groups[g].order == Order::space && spaces < reading.spaces.size()) {
            if (spaces == 0) {
                const auto base = "." + std::string(word.substr(0, word.find(':')));
                reading.traits.space = space_named(base);
            }
            reading.spaces[spaces++] = word;
        }
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
    const std::span<const Form> forms = forms_named(text, name);
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

}  // namespace lode::emulator::ptx
