#include "emulator/decode/ptx/grammar.hpp"

#include "emulator/decode/ptx/grammar_table.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>

namespace lode::emulator::ptx {
namespace {

// Words that ptxas accepts twice.
constexpr Word repeatable[] = {"cc",     "sat",      "sync",      "uni", "relu",
                               "approx", "shiftamt", "satfinite", "NaN"};

bool is_repeatable(Word word) {
    return std::ranges::find(repeatable, word) != std::end(repeatable);
}

constexpr std::size_t max_words = 24;

/// A word of an opcode after its name.
struct Modifier {
    std::string_view text;
    Word word;  ///< None if the grammar doesn't have it.
    Order order;
};

/// The words of a form's name.
std::vector<Word> words_of(std::string_view name) {
    std::vector<Word> words;
    each_part(name, '.', [&](std::string_view part) { words.push_back(Word::named(part)); });
    return words;
}

/// Whether a form's name contains a word.
bool names(std::string_view name, Word word) {
    return std::ranges::count(words_of(name), word) != 0;
}

/// Finds the group of each modifier. If the form doesn't fit, returns false; `left_over` is then
/// the first word without a group, if there is one.
bool fits(const Form& form, std::span<const Modifier> modifiers, std::span<Word> chosen,
          std::string_view& left_over) {
    std::ranges::fill(chosen, Word());
    std::size_t next[4] = {};  // Groups of types, spaces and layouts are filled in order.
    for (const auto& [text, word, order] : modifiers) {
        bool taken = false;
        std::size_t& from = next[static_cast<std::size_t>(order)];
        for (std::size_t g = order == Order::free ? 0 : from; g < form.groups.size(); ++g) {
            const Group& group = form.groups[g];
            if (group.order != order) continue;
            if (!chosen[g] && std::ranges::find(group.words, word) != group.words.end()) {
                chosen[g] = word;
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
            left_over = text;
            return false;
        }
    }
    left_over = {};
    for (std::size_t g = 0; g < form.groups.size(); ++g) {
        const Group& group = form.groups[g];
        if (!chosen[g] && !group.is_optional) return false;
        if (group.goes_with_previous && !chosen[g] != !chosen[g - 1]) return false;
    }
    return true;
}

/// 16 for "m64n16k8".
std::uint16_t columns_of(std::string_view shape) {
    std::uint16_t columns = 0;
    for (std::size_t k = 4; shape[k] != 'k'; ++k)
        columns = static_cast<std::uint16_t>(columns * 10 + (shape[k] - '0'));
    return columns;
}

/// `chosen` has a word or none for each group of the form.
Reading reading_of(const Form& form, std::span<const Word> chosen) {
    Reading reading;
    reading.form = &form;
    reading.text = form.name;
    reading.words = words_of(form.name);
    reading.traits = form.traits;
    std::size_t spaces = 0;
    for (std::size_t g = 0; g < chosen.size(); ++g) {
        const Word word = chosen[g];
        if (!word) continue;
        reading.text += '.';
        reading.text += word.text();
        reading.words.push_back(word);
        if (form.groups[g].order == Order::type && reading.type_count < reading.types.size())
            reading.types[reading.type_count++] = operand_type(word.text());
        if (form.groups[g].order == Order::space && spaces < reading.spaces.size())
            reading.spaces[spaces++] = space_of(word);
        if (word == "v2" || word == "v4" || word == "v8")
            reading.vector = static_cast<std::uint8_t>(word.text()[1] - '0');
        if (is_geometry(word)) reading.geometry = word;
        if (WordPrefix("m64n").matches(word)) reading.columns = columns_of(word.text());
    }
    const Space space = reading.traits.space = reading.spaces[0];
    if (space != Space::none && space != Space::global) reading.traits.writes_global = false;
    return reading;
}

std::vector<Reading> read(std::string_view text, std::string& why) {
    std::string_view name;
    const std::span<const Form> forms = forms_named(text, name);
    if (forms.empty()) {
        why = "'" + std::string(text) + "' isn't a PTX instruction.";
        return {};
    }
    std::vector<Modifier> modifiers;
    if (text.size() > name.size()) {
        each_part(text.substr(name.size() + 1), '.', [&](std::string_view part) {
            const Word word = Word::named(part);
            modifiers.push_back({part, word, order_of(word)});
        });
    }
    if (modifiers.size() > max_words || text.ends_with('.')) {
        why = "'" + std::string(text) + "' has more modifiers than any instruction.";
        return {};
    }
    std::vector<Reading> readings;
    std::array<Word, max_words> chosen_words;
    std::string_view unknown;
    bool is_known_elsewhere = false;
    for (const Form& form : forms) {
        const std::span chosen(chosen_words.data(), form.groups.size());
        std::string_view left_over;
        if (form.any_modifiers) {
            readings.push_back(reading_of(form, {}));
            readings.back().text = text;
        } else if (fits(form, modifiers, chosen, left_over)) {
            readings.push_back(reading_of(form, chosen));
        } else if (left_over.empty()) {
            is_known_elsewhere = true;
        } else {
            unknown = left_over;
        }
    }
    if (!readings.empty()) return readings;
    if (is_known_elsewhere || unknown.empty()) {
        why = "'" + std::string(text) + "' lacks a modifier.";
    } else {
        why = "'" + std::string(text) + "' can't have the modifier '." + std::string(unknown) +
              "', or can't combine it with the others.";
    }
    return {};
}

/// All opcodes read so far, shared by all modules; entries are never removed.
class Memory {
public:
    std::span<const Reading> find(std::string_view text) {
        const std::shared_lock lock(mutex_);
        const auto found = known_.find(text);
        if (found == known_.end()) return {};
        return found->second;
    }
    std::span<const Reading> keep(std::string_view text, std::vector<Reading>&& readings) {
        const std::unique_lock lock(mutex_);
        return known_.try_emplace(std::string(text), std::move(readings)).first->second;
    }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };
    std::shared_mutex mutex_;
    std::unordered_map<std::string, std::vector<Reading>, Hash, std::equal_to<>> known_;
};

}  // namespace

std::span<const Reading> read_opcode(std::string_view text, std::string& why) {
    static auto* const memory = new Memory;
    if (const std::span known = memory->find(text); !known.empty()) return known;
    std::vector<Reading> made = read(text, why);
    if (made.empty()) return {};
    return memory->keep(text, std::move(made));
}

}  // namespace lode::emulator::ptx
