#include "expand.hpp"

#include <algorithm>
#include <cctype>

namespace lode::ptx_acceptance {
namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Expander {
public:
    Expander(std::string_view text, Random& random) : text_(text), random_(random) {}

    std::string run() { return resolve(alternative(false)); }

private:
    // Expands up to the end, or up to the '|' or '>' that ends a nested alternative.
    std::string alternative(bool nested) {
        std::string out;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (nested && (c == '|' || c == '>')) break;
            ++at_;
            if (c == '\\' && at_ < text_.size()) {
                out += text_[at_++];
            } else if (c == '<') {
                out += choice();
            } else {
                out += c;
            }
        }
        return out;
    }

    // Starts after '<'. Expands all alternatives, but keeps only the groups of the chosen one.
    std::string choice() {
        std::string group;
        if (at_ + 1 < text_.size() && text_[at_ + 1] == '=' && text_[at_] >= 'A' &&
            text_[at_] <= 'Z') {
            group = text_[at_];
            at_ += 2;
        }
        std::vector<std::string> made;
        std::vector<std::map<std::string, std::string>> groups;
        const auto before = groups_;
        for (;;) {
            groups_ = before;
            made.push_back(alternative(true));
            groups.push_back(groups_);
            if (at_ >= text_.size() || text_[at_++] == '>') break;
        }
        const std::size_t taken = random_.below(made.size());
        groups_ = groups[taken];
        if (!group.empty()) groups_[group] = made[taken];
        return made[taken];
    }

    // Replaces %T_1, %Tw_1 and %T:4_1.
    std::string resolve(const std::string& text) const {
        std::string out;
        for (std::size_t k = 0; k < text.size(); ++k) {
            if (text[k] == '%' && k + 2 < text.size() && text[k + 1] >= 'A' && text[k + 1] <= 'Z') {
                const auto group = groups_.find(std::string(1, text[k + 1]));
                const bool wide = text[k + 2] == 'w';
                const char next = text[k + (wide ? 3 : 2)];
                if (group != groups_.end() && (next == '_' || next == ':')) {
                    out += '%' + register_type(wide ? twice(group->second) : group->second);
                    k += wide ? 2 : 1;
                    continue;
                }
            }
            out += text[k];
        }
        return out;
    }

    static std::string twice(const std::string& type) {
        const std::size_t at = type.find_last_of("us");
        if (at == std::string::npos) return type;
        return type[at] + std::string(type.substr(at + 1) == "16" ? "32" : "64");
    }

    std::string_view text_;
    std::size_t at_ = 0;
    Random& random_;
    std::map<std::string, std::string> groups_;
};

std::string trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return std::string(text);
}

}  // namespace

std::string register_type(std::string_view modifier) {
    const std::size_t dot = modifier.rfind('.');
    const std::string_view type = dot == modifier.npos ? modifier : modifier.substr(dot + 1);
    constexpr std::pair<std::string_view, std::string_view> held[] = {
        {"u8", "u16"},    {"s8", "s16"},     {"b8", "b16"},     {"f16", "b16"},   {"bf16", "b16"},
        {"f16x2", "b32"}, {"bf16x2", "b32"}, {"u16x2", "b32"},  {"s16x2", "b32"}, {"f32x2", "b64"},
        {"tf32", "b32"},  {"e4m3x2", "b16"}, {"e5m2x2", "b16"}, {"pred", "p"}};
    for (const auto& [from, to] : held) {
        if (type == from) return std::string(to);
    }
    return std::string(type);
}

std::string expand(std::string_view text, Random& random) {
    return Expander(text, random).run();
}

void collect_modifiers(std::string_view text, std::vector<std::string>& into) {
    for (std::size_t k = 0; k + 1 < text.size(); ++k) {
        if (text[k] != '.' || !(std::isalpha(static_cast<unsigned char>(text[k + 1])) != 0))
            continue;
        std::size_t end = k + 1;
        while (end < text.size() && (is_word(text[end]) || text[end] == ':'))
            ++end;
        std::string word(text.substr(k + 1, end - k - 1));
        if (std::ranges::find(into, word) == into.end()) into.push_back(std::move(word));
    }
}

Instruction split(std::string_view text) {
    Instruction made;
    std::string rest = trimmed(text);
    if (!rest.empty() && rest[0] == '@') {
        const std::size_t space = rest.find(' ');
        if (space != rest.npos) {
            made.guard = rest.substr(0, space + 1);
            rest = trimmed(std::string_view(rest).substr(space + 1));
        }
    }
    const std::size_t end = std::min(rest.find(' '), rest.size());
    std::string opcode = rest.substr(0, end);
    std::size_t at = opcode.find('.');
    made.name = opcode.substr(0, at);
    while (at != opcode.npos) {
        const std::size_t next = opcode.find('.', at + 1);
        made.modifiers.push_back(opcode.substr(at + 1, next == opcode.npos ? next : next - at - 1));
        at = next;
    }
    int depth = 0;
    std::string operand;
    for (const char c : rest.substr(end)) {
        if (c == '{' || c == '[' || c == '(') ++depth;
        if (c == '}' || c == ']' || c == ')') --depth;
        if (c == ',' && depth == 0) {
            made.operands.push_back(trimmed(operand));
            operand.clear();
        } else {
            operand += c;
        }
    }
    if (const std::string last = trimmed(operand); !last.empty() || !made.operands.empty())
        made.operands.push_back(last);
    return made;
}

std::string Instruction::text() const {
    std::string out = guard + name;
    for (const std::string& modifier : modifiers)
        out += "." + modifier;
    for (std::size_t k = 0; k < operands.size(); ++k)
        out += (k == 0 ? " " : ", ") + operands[k];
    return out;
}

std::vector<RegisterName> registers_of(std::string_view text) {
    std::vector<RegisterName> all;
    for (std::size_t k = 0; k + 1 < text.size(); ++k) {
        if (text[k] != '%' || (k > 0 && is_word(text[k - 1]))) continue;
        RegisterName made;
        made.at = k;
        std::size_t end = k + 1;
        while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0)
            ++end;
        made.type = std::string(text.substr(k + 1, end - k - 1));
        if (end + 1 < text.size() && text[end] == ':' &&
            std::isdigit(static_cast<unsigned char>(text[end + 1])) != 0) {
            made.lanes = text[end + 1] - '0';
            end += 2;
        }
        if (end + 1 >= text.size() || text[end] != '_' ||
            std::isdigit(static_cast<unsigned char>(text[end + 1])) == 0)
            continue;
        std::size_t last = end + 1;
        while (last < text.size() && std::isdigit(static_cast<unsigned char>(text[last])) != 0)
            ++last;
        made.number = std::string(text.substr(end + 1, last - end - 1));
        made.length = last - k;
        static constexpr std::string_view types[] = {
            "p",  "pred", "b8",  "b16", "b32", "b64", "b128", "u8",    "u16",  "u32",    "u64",
            "s8", "s16",  "s32", "s64", "f16", "f32", "f64",  "f16x2", "bf16", "bf16x2", "tf32"};
        if (std::ranges::find(types, made.type) == std::end(types)) continue;
        k = last - 1;
        all.push_back(std::move(made));
    }
    return all;
}

}  // namespace lode::ptx_acceptance
