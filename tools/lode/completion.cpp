#include "tools/lode/completion.hpp"

#include "base/message_text.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/occupancy.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::tool {
namespace {

using Words = std::vector<std::string>;

/// The architectures whose multiprocessors lode knows, with their suffixes.
Words architectures() {
    constexpr int first = 50;
    constexpr int last = 199;
    Words names;
    for (int number = first; number <= last; ++number) {
        const auto cc = ComputeCapability::from_number(number);
        if (!multiprocessor_limits(cc)) continue;
        for (const auto suffix : {ArchSuffix::none, ArchSuffix::specific, ArchSuffix::family})
            if (suffix_exists(cc, suffix)) names.push_back(Arch(cc, suffix).to_string());
    }
    return names;
}

/// The words that a value can be; empty if it is a file, or anything.
Words choices_of(const OptionRow& option) {
    const std::string& value = option.value.empty() ? option.names.front() : option.value;
    if (value.starts_with("ARCH")) return architectures();
    if (value == "WHEN") return {"auto", "always", "never"};
    if (value == "PRESET") return {"ieee", "fast", "host_comparable"};
    if (value == "MODE") return {"none", "enabled", "only"};
    if (value == "SUFFIX") return {"a", "f", "none"};
    if (value == "CHECK,...") return {"memory", "race", "init", "sync", "streams", "all"};
    if (value == "SHELL") return {"bash", "zsh", "fish"};
    return {};
}

/// Every command with the options of those around it.
void flatten(const CommandRow& command, const std::vector<OptionRow>& inherited,
             std::vector<CommandRow>& all) {
    CommandRow flat = command;
    for (const auto& option : inherited) {
        const bool is_own = std::ranges::any_of(
            command.options, [&](const OptionRow& own) { return own.names == option.names; });
        if (!is_own) flat.options.push_back(option);
    }
    all.push_back(flat);
    const bool is_program = command.name.find(' ') == std::string::npos;
    for (const auto& inner : command.commands)
        flatten(inner, is_program ? std::vector<OptionRow>() : flat.options, all);
}

std::vector<CommandRow> all_commands(const CommandRow& program) {
    std::vector<CommandRow> all;
    flatten(program, {}, all);
    return all;
}

/// The words that may follow a command: options, or commands and choices of its first argument.
Words option_words(const CommandRow& command) {
    Words words;
    for (const auto& option : command.options)
        words.insert(words.end(), option.names.begin(), option.names.end());
    return words;
}

Words following_words(const CommandRow& command) {
    Words words;
    for (const auto& inner : command.commands)
        words.emplace_back(inner.last_name());
    if (words.empty() && !command.arguments.empty()) return choices_of(command.arguments.front());
    return words;
}

/// Single-quoted for bash and zsh.
std::string shell_quoted(std::string_view text) {
    std::string all = "'";
    for (const char c : text)
        all += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return all + "'";
}

std::string quoted_for_fish(std::string_view text) {
    std::string all = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') all += '\\';
        all += c;
    }
    return all + "'";
}

/// Collects lines; a script's braces aren't for fmt::format.
class Script {
public:
    void add(std::string_view line) { text_.append(line).append("\n"); }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    std::string text_;
};

/// The tables that bash and zsh have in common, as cases: `word_at` is the shell's word number i.
void add_tables(Script& script, const std::vector<CommandRow>& commands, std::string_view count,
                std::string_view first, std::string_view word_at) {
    std::string names;
    for (const auto& command : commands) {
        if (&command != &commands.front())
            names += (names.empty() ? "" : "|") + shell_quoted(command.name);
    }
    script.add(fmt::format("    for ((i = {}; i < {}; i++)); do", first, count));
    script.add(fmt::format("        [[ {} == -- ]] && {{ after_dashes=1; break; }}", word_at));
    script.add(fmt::format("        case \"$command \"{} in", word_at));
    script.add(fmt::format("            {}) command+=\" \"{} ;;", names, word_at));
    script.add("        esac");
    script.add("    done");
    script.add("    case \"$command $previous\" in");
    for (const auto& command : commands) {
        for (const auto& option : command.options) {
            if (!option.takes_word()) continue;
            std::string patterns;
            for (const auto& name : option.names)
                patterns += (patterns.empty() ? "" : "|") + shell_quoted(command.name + " " + name);
            const auto words = choices_of(option);
            script.add(words.empty()
                           ? fmt::format("        {}) kind=file ;;", patterns)
                           : fmt::format("        {}) kind=value choices={} ;;", patterns,
                                         shell_quoted(fmt::format("{}", fmt::join(words, " ")))));
        }
    }
    script.add("    esac");
    script.add("    if [[ -z $kind && -z $after_dashes ]]; then");
    script.add("        case \"$command\" in");
    for (const auto& command : commands) {
        script.add(fmt::format("            {})", shell_quoted(command.name)));
        script.add(
            fmt::format("                if [[ $word == -* ]]; then kind=word choices={}",
                        shell_quoted(fmt::format("{}", fmt::join(option_words(command), " ")))));
        if (const auto words = following_words(command); !words.empty())
            script.add(fmt::format("                else kind=word choices={}",
                                   shell_quoted(fmt::format("{}", fmt::join(words, " ")))));
        script.add("                fi ;;");
    }
    script.add("        esac");
    script.add("    fi");
}

std::string bash_script(const std::vector<CommandRow>& commands) {
    Script script;
    script.add("# Completion of lode for bash; `lode completion bash` prints it.");
    script.add("_lode() {");
    script.add("    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}");
    script.add("    local command=lode kind= choices= after_dashes= i prefix=");
    script.add("    COMPREPLY=()");
    script.add("    # bash makes three words of --option=value.");
    script.add("    if [[ $word == = ]]; then word=");
    script.add("    elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD - 2]}");
    script.add("    fi");
    add_tables(script, commands, "COMP_CWORD", "1", "\"${COMP_WORDS[i]}\"");
    script.add("    if [[ $kind == value || $kind == word ]]; then");
    script.add("        # The last of several values.");
    script.add("        [[ $kind == value && $word == *,* ]] && prefix=${word%,*},");
    script.add(
        "        mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$choices\" -- "
        "\"${word##*,}\")");
    script.add("    else");
    script.add("        compopt -o filenames 2>/dev/null");
    script.add("        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")");
    script.add("    fi");
    script.add("}");
    script.add("complete -F _lode lode");
    return script.text();
}

std::string zsh_script(const std::vector<CommandRow>& commands) {
    Script script;
    script.add("#compdef lode");
    script.add("# Completion of lode for zsh; `lode completion zsh` prints it.");
    script.add("_lode() {");
    script.add("    local word=${words[CURRENT]} previous=${words[CURRENT - 1]}");
    script.add("    local command=lode kind= choices= after_dashes= i");
    script.add("    if [[ $word == --*=* ]]; then");
    script.add("        previous=${word%%=*} word=${word#*=}");
    script.add("        compset -P '*='");
    script.add("    fi");
    add_tables(script, commands, "CURRENT", "2", "\"${words[i]}\"");
    script.add("    if [[ $kind == value ]]; then");
    script.add("        compset -P '*,'");
    script.add("        compadd -- ${=choices}");
    script.add("    elif [[ $kind == word ]]; then");
    script.add("        compadd -- ${=choices}");
    script.add("    else");
    script.add("        _files");
    script.add("    fi");
    script.add("}");
    script.add("if [[ $funcstack[1] == _lode ]]; then _lode \"$@\"; else compdef _lode lode; fi");
    return script.text();
}

std::string fish_script(const std::vector<CommandRow>& commands) {
    Script script;
    script.add("# Completion of lode for fish; `lode completion fish` prints it.");
    for (const auto& command : commands) {
        // "lode cache stats": the words after the program have been seen.
        std::string condition;
        for (auto at = command.name.find(' '); at != std::string::npos;) {
            const auto next = command.name.find(' ', at + 1);
            condition +=
                fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ",
                            command.name.substr(at + 1, next - at - 1));
            at = next;
        }
        if (condition.empty()) condition = "__fish_use_subcommand";
        const auto complete = [&](const std::string& more, const std::string& meaning) {
            script.add(fmt::format("complete -c lode -n {} {} -d {}", quoted_for_fish(condition),
                                   more, quoted_for_fish(meaning)));
        };
        for (const auto& inner : command.commands)
            complete(fmt::format("-f -a {}", inner.last_name()), inner.meaning);
        if (command.commands.empty()) {
            if (const auto words = following_words(command); !words.empty())
                complete(fmt::format("-f -a '{}'", fmt::join(words, " ")),
                         command.arguments.front().meaning);
        }
        for (const auto& option : command.options) {
            std::string more;
            for (const auto& name : option.names)
                more += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            more.erase(0, 1);
            if (option.takes_word()) {
                const auto words = choices_of(option);
                more +=
                    words.empty() ? " -r -F" : fmt::format(" -x -a '{}'", fmt::join(words, " "));
            }
            complete(more, option.meaning);
        }
    }
    return script.text();
}

}  // namespace

Result<std::string> completion_script(std::string_view shell, const CommandRow& program) {
    const auto commands = all_commands(program);
    if (shell == "bash") return bash_script(commands);
    if (shell == "zsh") return zsh_script(commands);
    if (shell == "fish") return fish_script(commands);
    const Words shells = {"bash", "zsh", "fish"};
    return fail(Errc::invalid_argument,
                fmt::format("There are no completions for the shell '{}', but for bash, zsh and "
                            "fish.{}",
                            shell, did_you_mean(closest(shell, shells))));
}

}  // namespace lode::tool
