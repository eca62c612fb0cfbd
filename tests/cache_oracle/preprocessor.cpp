#include "tests/cache_oracle/preprocessor.hpp"

#include "base/try.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

namespace lode::oracle {
namespace {

constexpr int most_levels = 30;

bool is_word(char c) noexcept {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

std::string_view without_comment(std::string_view line) {
    bool quoted = false;
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
        if (line[i] == '"') quoted = !quoted;
        if (!quoted && line[i] == '/' && line[i + 1] == '/') return line.substr(0, i);
    }
    return line;
}

/// Removes the first word from `text` and returns it.
std::string_view take_word(std::string_view& text) {
    text = trimmed(text);
    std::size_t size = 0;
    while (size < text.size() && is_word(text[size]))
        ++size;
    const auto word = text.substr(0, size);
    text.remove_prefix(size);
    return word;
}

std::string folder_of(const std::string& name) {
    const auto slash = name.rfind('/');
    if (slash == std::string::npos) return "";
    return slash == 0 ? "/" : name.substr(0, slash);
}

std::string below(const std::string& folder, const std::string& name) {
    if (folder.empty()) return name;
    return folder.back() == '/' ? folder + name : folder + "/" + name;
}

tl::unexpected<Error> failed(std::string what) {
    return fail(Errc::compile_failed, "It doesn't compile: " + what, {}, "the log");
}

}  // namespace

/// The expression of an #if.
class Expression {
public:
    Expression(Preprocessor& owner, std::string_view text, const Preprocessor::Frame& frame)
        : owner_(owner), text_(text), frame_(frame) {}

    long value() { return either(); }

private:
    bool take(std::string_view token) {
        text_ = trimmed(text_);
        if (!text_.starts_with(token)) return false;
        text_.remove_prefix(token.size());
        return true;
    }
    long either() {
        long left = both();
        while (take("||")) {
            const long right = both();
            left = static_cast<long>(left != 0 || right != 0);
        }
        return left;
    }
    long both() {
        long left = compared();
        while (take("&&")) {
            const long right = compared();
            left = static_cast<long>(left != 0 && right != 0);
        }
        return left;
    }
    long compared() {
        const long left = single();
        if (take("==")) return static_cast<long>(left == single());
        if (take("<")) return static_cast<long>(left < single());
        if (take(">")) return static_cast<long>(left > single());
        return left;
    }
    /// Removes a parenthesised text and returns what is inside.
    std::string_view parenthesis() {
        if (!take("(")) return {};
        std::size_t depth = 1;
        std::size_t at = 0;
        for (; at < text_.size(); ++at) {
            if (text_[at] == '(') ++depth;
            if (text_[at] == ')' && --depth == 0) break;
        }
        const auto inside = text_.substr(0, at);
        text_.remove_prefix(std::min(at + 1, text_.size()));
        return inside;
    }
    long single() {
        if (take("!")) return static_cast<long>(single() == 0);
        text_ = trimmed(text_);
        if (text_.starts_with('(')) {
            return Expression(owner_, parenthesis(), frame_).value();
        }
        const std::string_view word = take_word(text_);
        if (word.empty()) {
            text_ = {};
            return 0;
        }
        if (word == "defined") {
            return static_cast<long>(owner_.macros_.contains(trimmed(parenthesis())));
        }
        if (word == "__has_include") {
            const auto name = owner_.header_name(parenthesis(), frame_);
            if (!name) return 0;
            owner_.only_look_ = true;
            const bool found = owner_.find(*name, frame_, false).has_value();
            owner_.only_look_ = false;
            return static_cast<long>(found);
        }
        return std::strtol(owner_.expand(word, frame_).c_str(), nullptr, 10);
    }

    Preprocessor& owner_;
    std::string_view text_;
    const Preprocessor::Frame& frame_;
};

Result<std::string> Preprocessor::run() {
    for (const auto& definition : in_.options.definitions)
        macros_[definition.name] = definition.value.value_or("1");
    Frame source{in_.name, folder_of(in_.name), identity_of(ask(in_.name, false)), 0};
    for (const auto& name : in_.options.pre_includes) {
        // Searched for like a quoted include of a text in the working directory.
        const Frame above{"", "", std::nullopt, 0};
        LODE_TRY(include("\"" + name + "\"", above, false));
    }
    LODE_TRY(read(in_.text, source));
    return std::move(out_);
}

FileAnswer& Preprocessor::ask(const std::string& path, bool open) {
    if (in_.before_question) in_.before_question();
    return in_.files.ask(path, open);
}

std::optional<Preprocessor::Identity> Preprocessor::identity_of(const FileAnswer& answer) {
    if (answer.kind != FileAnswer::Kind::file) return std::nullopt;
    return Identity{answer.attributes.device, answer.attributes.number};
}

bool Preprocessor::is_active() const noexcept {
    return std::ranges::all_of(branches_, &Branch::is_active);
}

std::optional<Preprocessor::Found> Preprocessor::find(const HeaderName& header, const Frame& from,
                                                      bool next) {
    const bool is_absolute = header.name.starts_with('/');
    if (!next) {
        if (auto found = find_in_memory(header.name)) return found;
        if (is_absolute) return try_place(header.name, 0, only_look_);
        if (header.quoted) {
            if (auto found = try_place(below(from.folder, header.name), 0, only_look_)) {
                return found;
            }
        }
    }
    for (std::size_t i = next ? from.next_folder : 0; i < in_.search_folders.size(); ++i) {
        if (auto found = try_place(below(in_.search_folders[i], header.name), i + 1, only_look_)) {
            return found;
        }
    }
    return std::nullopt;
}

std::optional<Preprocessor::Found> Preprocessor::find_in_memory(const std::string& name) {
    for (const auto* headers : {&in_.options.headers, &in_.shims}) {
        for (const auto& header : *headers) {
            if (header.name != name) continue;
            const auto identity = identity_of(ask(name, false));
            const bool skipped =
                once_in_memory_.contains(name) || (identity && once_.contains(*identity));
            return Found{{name, folder_of(name), identity, 0}, header.text, skipped};
        }
    }
    return std::nullopt;
}

std::optional<Preprocessor::Found> Preprocessor::try_place(const std::string& path,
                                                           std::size_t next_folder,
                                                           bool only_look) {
    const FileAnswer& seen = ask(path, false);
    Frame frame{path, folder_of(path), identity_of(seen), next_folder};
    if (frame.identity && once_.contains(*frame.identity)) return Found{frame, "", true};
    FileAnswer& opened = ask(path, true);
    if (!opened.content) return std::nullopt;
    if (only_look) return Found{frame, "", true};
    opened.consumed = true;
    return Found{frame, opened.content->text, false};
}

std::optional<Preprocessor::HeaderName> Preprocessor::header_name(std::string_view text,
                                                                  const Frame& frame) {
    std::string name(trimmed(text));
    if (name.empty()) return std::nullopt;
    if (name[0] != '"' && name[0] != '<') name = std::string(trimmed(expand(name, frame)));
    if (name.size() < 3) return std::nullopt;
    const char close = name[0] == '"' ? '"' : '>';
    const auto end = name.find(close, 1);
    if ((name[0] != '"' && name[0] != '<') || end == std::string::npos) return std::nullopt;
    return HeaderName{name.substr(1, end - 1), name[0] == '"'};
}

Status Preprocessor::include(std::string_view rest, const Frame& frame, bool next) {
    const auto name = header_name(rest, frame);
    if (!name) return failed(fmt::format("'{}' isn't a header name", rest));
    auto found = find(*name, frame, next);
    if (!found) return failed(fmt::format("there is no header '{}'", name->name));
    if (found->is_skipped) return {};
    if (level_ >= most_levels) return failed("headers are nested too deeply");
    ++level_;
    const std::size_t open = branches_.size();
    LODE_TRY(read(found->text, found->frame));
    branches_.resize(open);
    --level_;
    return {};
}

Status Preprocessor::read(std::string_view text, const Frame& frame) {
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = without_comment(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (trimmed(line).starts_with('#')) {
            LODE_TRY(directive(trimmed(line).substr(1), frame));
        } else if (is_active() && !trimmed(line).empty()) {
            out_ += expand(line, frame) + "\n";
        }
    }
    return {};
}

Status Preprocessor::directive(std::string_view line, const Frame& frame) {
    const auto word = take_word(line);
    const auto rest = trimmed(line);
    if (word == "if" || word == "ifdef" || word == "ifndef") {
        const bool outer = is_active();
        bool holds = false;
        if (outer) {
            holds =
                word == "if" ? is_true(rest, frame) : macros_.contains(rest) == (word == "ifdef");
        }
        branches_.push_back({outer && holds, holds || !outer});
        return {};
    }
    if (word == "else" || word == "endif") {
        if (branches_.empty()) return failed("there is no #if for an #else or #endif");
        if (word == "endif") {
            branches_.pop_back();
        } else {
            branches_.back().is_active = !branches_.back().was_active;
        }
        return {};
    }
    if (!is_active()) return {};
    if (word == "include" || word == "include_next") {
        return include(rest, frame, word == "include_next");
    }
    if (word == "define") {
        auto value = rest;
        const std::string name(take_word(value));
        macros_[name] = std::string(trimmed(value));
    } else if (word == "undef") {
        macros_.erase(std::string(rest));
    } else if (word == "pragma" && rest == "once") {
        if (frame.identity) once_.insert(*frame.identity);
        once_in_memory_.insert(frame.name);
    } else if (word == "error") {
        return failed(std::string(rest));
    }
    return {};
}

bool Preprocessor::is_true(std::string_view expression, const Frame& frame) {
    return Expression(*this, expression, frame).value() != 0;
}

std::string Preprocessor::expand(std::string_view text, const Frame& frame, int depth) {
    constexpr int deepest = 8;
    std::string result;
    while (!text.empty()) {
        if (!is_word(text[0])) {
            const bool quote = text[0] == '"';
            const auto end = quote ? std::min(text.find('"', 1), text.size() - 1) : 0;
            result += text.substr(0, end + 1);
            text.remove_prefix(end + 1);
            continue;
        }
        const auto word = take_word(text);
        if (word == "__FILE__") {
            result += "\"" + frame.name + "\"";
        } else if (word == "__INCLUDE_LEVEL__") {
            result += std::to_string(level_);
        } else if (word == "ORACLE_VALUE") {
            const char* const value = std::getenv("ORACLE_VALUE");
            in_.files.note_variable("ORACLE_VALUE", value);
            result += value != nullptr ? value : "unset";
        } else if (const auto macro = macros_.find(word); macro != macros_.end()) {
            result += depth < deepest ? expand(macro->second, frame, depth + 1) : macro->second;
        } else {
            result += word;
        }
    }
    return result;
}

}  // namespace lode::oracle
