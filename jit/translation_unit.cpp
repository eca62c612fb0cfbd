#include "jit/translation_unit.hpp"

#include "jit/text.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <unordered_map>

namespace LODE_NAMESPACE {
namespace {

/// The name that a line defines as a macro; empty if it isn't such a directive.
std::string_view defined_name(std::string_view line) {
    line = trimmed(line);
    if (!take_prefix(line, "#")) return {};
    line = trimmed(line);
    if (!take_prefix(line, "define")) return {};
    line = trimmed(line);
    const auto* const end = std::ranges::find_if_not(line, is_identifier_character);
    return line.substr(0, static_cast<std::size_t>(end - line.begin()));
}

/// Adds the names of all macros of the texts whose definitions mention one of the words.
void add_all_macros(std::span<const std::string_view> texts, std::vector<std::string>& words) {
    std::deque<std::string> joined;
    std::unordered_map<std::string_view, std::vector<std::string_view>> macros_by_mention;
    for (auto text : texts) {
        text = joined_lines(text, joined.emplace_back());
        while (!text.empty()) {
            const auto line = take_line(text);
            const auto name = defined_name(line);
            if (name.empty()) continue;
            for_each_identifier(
                line.substr(line.find(name) + name.size()),
                [&](std::string_view mention) { macros_by_mention[mention].push_back(name); });
        }
    }
    for (std::size_t next = 0; next < words.size(); ++next) {
        const std::string word = words[next];
        for (const auto& [mention, macros] : macros_by_mention) {
            if (mention.find(word) == std::string_view::npos) continue;
            for (const auto macro : macros)
                if (std::ranges::find(words, macro) == words.end()) words.emplace_back(macro);
        }
    }
}

bool has_any_identifier(std::string_view text, std::span<const std::string> words) {
    return std::ranges::any_of(words,
                               [&](const std::string& word) { return has_identifier(text, word); });
}

}  // namespace

bool mentions_time(const CompileRequest& request) {
    const CompileOptions& options = request.options;
    const auto says = [](std::string_view text) {
        return std::ranges::any_of(
            time_words, [&](std::string_view word) { return has_identifier(text, word); });
    };
    return says(request.source.code()) || std::ranges::any_of(request.name_expressions, says) ||
           std::ranges::any_of(options.headers, says, &Header::text) ||
           std::ranges::any_of(options.definitions, [&](const Definition& definition) {
               return definition.value && says(*definition.value);
           });
}

TranslationUnit::TranslationUnit(const CompileRequest& request, const FileAccesses& accesses,
                                 std::span<const std::filesystem::path> toolkit) {
    const CompileOptions& options = request.options;
    add_code(request.source.code());
    for (const auto& definition : options.definitions) {
        add(definition.name);
        if (definition.value) add(*definition.value);
    }
    for (const auto& header : options.headers)
        add_code(header.text);
    for (const auto* texts : {&options.pre_includes, &options.extra_flags})
        for (const auto& text : *texts)
            add(text);
    for (const auto& name : request.name_expressions)
        add(name);
    const auto appended = accesses.variables().find("NVRTC_APPEND_FLAGS");
    if (appended != accesses.variables().end() && appended->second) add(*appended->second);
    for (const auto& [path, answer] : accesses.answers()) {
        if (answer.content == nullptr) continue;
        const std::string_view text = answer.content->text;
        const bool is_of_toolkit =
            std::ranges::any_of(toolkit, [&, &path = path](const auto& folder) {
                const std::string name = folder.string();
                return is_inside(path, std::span(&name, 1));
            });
        if (is_of_toolkit)
            toolkit_.push_back(text);
        else
            add_code(text);
    }
}

void TranslationUnit::add(std::string_view text) {
    own_.push_back(text);
    pieces_.add(text);
}

void TranslationUnit::add_code(std::string_view text) {
    own_.push_back(text);
    pieces_.add_code(text);
}

bool TranslationUnit::may_use_time() const {
    return pieces_.can_form_any(time_words) ||
           std::ranges::any_of(toolkit_, [](std::string_view text) {
               return std::ranges::any_of(time_words, [&](std::string_view word) {
                   return text.find(word) != std::string_view::npos;
               });
           });
}

std::vector<std::string> TranslationUnit::naming_words() const {
    std::vector<std::string> words(std::begin(path_words), std::end(path_words));
    add_all_macros(toolkit_, words);
    words.emplace_back("assert");
    return words;
}

bool TranslationUnit::may_name_files() const {
    if (pieces_.can_form_any(path_words)) return true;
    // A macro of the toolkit may give the name of the file that uses it.
    const auto words = naming_words();
    return std::ranges::any_of(
        own_, [&](std::string_view text) { return has_any_identifier(text, words); });
}

bool TranslationUnit::may_name_folder(std::span<const std::string_view> inside) const {
    if (pieces_.can_join_any(path_words)) return true;
    // They name the file that calls a function of which they are a default argument.
    const std::vector<std::string> callers(std::begin(caller_words), std::end(caller_words));
    if (std::ranges::any_of(
            own_, [&](std::string_view text) { return has_any_identifier(text, callers); }))
        return true;
    auto words = naming_words();
    add_all_macros(own_, words);
    return std::ranges::any_of(
        inside, [&](std::string_view text) { return has_any_identifier(text, words); });
}

bool TranslationUnit::may_name_source() const {
    return pieces_.can_form_any(source_words);
}

bool TranslationUnit::may_join_questions() const {
    return pieces_.can_join_any(question_words);
}

}  // namespace LODE_NAMESPACE
