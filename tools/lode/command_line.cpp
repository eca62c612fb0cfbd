#include "tools/lode/command_line.hpp"

#include "base/message_text.hpp"
#include "base/quantity.hpp"
#include "base/suggested_arch.hpp"
#include "base/try.hpp"
#include "tools/lode/input.hpp"
#include "tools/lode/result_file.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace lode::tool {
namespace {

/// In front of every word after "--", so that CLI11 treats it only as an argument. Without the
/// mark, CLI11 2.1 reads "-- --help" as an option of the main command if the subcommand has no
/// argument left to fill.
constexpr char is_argument = '\x1f';
constexpr std::string_view json_option = "--json";
/// What `lode run` calls the type of a kernel's arguments.
constexpr std::string_view argument_type = "ARG";

/// CLI11's message, without the marks.
std::string text_of(const CLI::ParseError& error) {
    std::string text = error.what();
    std::erase(text, is_argument);
    if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
        constexpr std::string_view excludes = " excludes ";
        text.replace(text.find(excludes), excludes.size(), " can't be combined with ");
        return text;
    }
    if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
        // "Could not convert: --ptx = x": numbers have validators, so it is a flag.
        const auto name = text.find("--");
        return fmt::format("{} is an option without a value",
                           text.substr(name, text.find(' ', name) - name));
    }
    const auto colon = text.find(": ");
    if (colon == text.npos) return text;
    const std::string name = text.substr(0, colon);
    const std::string rest = text.substr(colon + 2);
    // The validators of this file: "--jobs: is 'x'; it must be …".
    if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr && rest.starts_with("is '"))
        return fmt::format("{} {}", name, rest);
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
    // "--grid: At Most 1 required but received 2", "--output: 1 required FILE missing"
    constexpr std::string_view most_once = "At Most 1 required but received ";
    if (rest.starts_with(most_once)) {
        return fmt::format("{} is given {} times; it may be given once", name,
                           rest.substr(most_once.size()));
    }
    constexpr std::string_view one = "1 required ";
    constexpr std::string_view missing = " missing";
    if (rest.starts_with(one) && rest.ends_with(missing)) {
        return fmt::format("{} needs a value ({})", name,
                           rest.substr(one.size(), rest.size() - one.size() - missing.size()));
    }
    // "PACK: At least 2 required but received 1"
    constexpr std::string_view required = " required but received ";
    const auto at = rest.find(required);
    if (at == rest.npos) return text;
    const auto wanted = rest.substr(0, at);
    return fmt::format("{} needs {} values and has {}", name, wanted.substr(wanted.rfind(' ') + 1),
                       rest.substr(at + required.size()));
}

std::vector<std::string> command_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
        if (!command->get_group().empty()) names.push_back(command->get_name());
    return names;
}

/// The command of this name; nullptr if there is none.
const CLI::App* command_of(const CLI::App& app, const std::string& name) {
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
        if (command->get_name() == name) return command;
    return nullptr;
}

/// "info, compile and run"
std::string list_of(std::span<const std::string> names) {
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) list += i + 1 == names.size() ? " and " : ", ";
        list += names[i];
    }
    return list;
}

/// The innermost command that was recognised.
const CLI::App& innermost(const CLI::App& command) {
    const auto chosen = command.get_subcommands();
    return chosen.empty() ? command : innermost(*chosen.front());
}

/// The option of this name of a command, or of those around it; nullptr if there is none.
const CLI::Option* option_of(const CLI::App& command, const std::string& name) {
    const CLI::Option* const own = command.get_option_no_throw(name);
    if (own != nullptr || command.get_parent() == nullptr) return own;
    return option_of(*command.get_parent(), name);
}

/// The options of a command and of those around it, which are valid after it too.
std::vector<std::string> option_names(const CLI::App& command) {
    const CLI::App* const parent = command.get_parent();
    std::vector<std::string> names =
        parent == nullptr ? std::vector<std::string>() : option_names(*parent);
    for (const auto* option : command.get_options()) {
        for (const auto& name : option->get_lnames())
            names.push_back("--" + name);
    }
    return names;
}

/// The files that the values name: an argument of a kernel names one as "f32[4]@FILE".
std::vector<std::string> input_files(std::span<const CLI::Option* const> inputs) {
    constexpr std::string_view content = "]@";
    std::vector<std::string> files;
    for (const auto* input : inputs) {
        for (std::string name : input->results()) {
            std::erase(name, is_argument);
            if (input->get_type_name() == argument_type) {
                const auto at = name.find(content);
                name.erase(0, at == name.npos ? at : at + content.size());
            }
            if (!name.empty() && name != standard_input) files.push_back(std::move(name));
        }
    }
    return files;
}

/// The words that nothing takes.
std::vector<std::string> remaining_words(const CLI::App& app) {
    std::vector<std::string> words = app.remaining(true);
    std::erase(words, "--");
    return words;
}

bool is_option(const std::string& word) {
    return word.starts_with('-');
}

/// Whether what follows `--` is a program and its arguments.
bool runs_program(const CLI::App& command) {
    return command.get_name() == "emulate" || command.get_name() == "cached" ||
           command.get_name() == "debug";
}

/// What is wrong with words that nothing takes.
std::string unexpected(const CLI::App& app, const CLI::App& command) {
    const auto words = remaining_words(app);
    const auto option = std::ranges::find_if(words, is_option);
    if (option != words.end()) {
        const std::string name = option->substr(0, option->find('='));
        // A program's arguments that look like options of the command.
        if (runs_program(command) && closest(name, option_names(command)).empty())
            return fmt::format("`{}` has no option '{}'; a program and its arguments follow `--`.",
                               full_name(command), name);
        return fmt::format("`{}` has no option '{}'.{}", full_name(command), name,
                           did_you_mean(closest(name, option_names(command))));
    }
    std::string word = words.empty() ? std::string() : words.front();
    std::erase(word, is_argument);
    return fmt::format("`{}` doesn't expect '{}'.", full_name(command), word);
}

/// Numbers from `least` to `most` in the spelling of `parse`.
CLI::Validator within(Quantity (*parse)(std::string_view), const std::string& allowed,
                      std::uint64_t least, std::uint64_t most) {
    return CLI::Validator(
        [=](std::string& value) {
            const auto number = parse(value);
            if (!number || *number < least || *number > most)
                return fmt::format("is '{}'; it must be {}", value, allowed);
            value = fmt::to_string(*number);
            return std::string();
        },
        "");
}

/// What is wrong if a command lacks the command that must follow it.
std::string no_command(const CLI::App& command, std::span<const std::string> words) {
    const auto names = command_names(command);
    const auto name = std::ranges::find(words, command.get_name());
    const auto word = std::find_if(name == words.end() ? name : name + 1, words.end(),
                                   [](const std::string& one) { return !one.starts_with('-'); });
    if (word == words.end())
        return fmt::format("`{}` needs one of {}.", full_name(command), list_of(names));
    return fmt::format("`{}` has no command '{}'.{}", full_name(command), *word,
                       did_you_mean(closest(*word, names)));
}

}  // namespace

std::string full_name(const CLI::App& command) {
    const CLI::App* const parent = command.get_parent();
    return parent == nullptr ? command.get_name()
                             : fmt::format("{} {}", full_name(*parent), command.get_name());
}

bool asks_for_json(std::span<char*> arguments) {
    const auto end = std::ranges::find(arguments, std::string_view("--"));
    return std::find(arguments.begin(), end, json_option) != end;
}

std::string color_option(std::span<const std::string> words) {
    constexpr std::string_view name = "--color";
    std::string value;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (!word.starts_with(name)) continue;
        const std::string_view rest = word.substr(name.size());
        if (rest.starts_with('=')) {
            value = rest.substr(1);
        } else if (rest.empty() && i + 1 < words.size()) {
            value = words[i + 1];
        }
    }
    return value;
}

std::vector<std::string> words_of(std::span<char*> arguments, const CLI::App& app) {
    std::vector<std::string> words;
    bool after_dashes = false;
    for (const std::string_view word :
         arguments.subspan(std::min<std::size_t>(1, arguments.size()))) {
        const bool marked = after_dashes || word.starts_with(is_argument);
        words.push_back(marked ? is_argument + std::string(word) : std::string(word));
        after_dashes = after_dashes || word == "--";
    }
    const auto is_common = [](const std::string& word) {
        return word == json_option || word.starts_with("--json=") || word.starts_with("--color=");
    };
    const auto put_command_first = [&] {
        const auto command = std::ranges::find_if_not(words, is_common);
        if (command != words.begin() && command != words.end() &&
            (*command == "help" || std::ranges::count(command_names(app), *command) > 0))
            std::rotate(words.begin(), command, command + 1);
    };
    put_command_first();
    if (!words.empty() && words.front() == "help") {
        words.erase(words.begin());
        put_command_first();
        if (!words.empty() && words.front() == "--man") {
            words.front() = "man";
            return words;
        }
        // Without --help, a word that is no command is an error.
        const CLI::App* inner = &app;
        for (std::size_t i = 0; i < words.size() && inner != nullptr; ++i) {
            if (words[i].starts_with('-')) continue;
            if (command_names(*inner).empty()) return {"help", full_name(*inner), words[i]};
            inner = command_of(*inner, words[i]);
            if (inner == nullptr) words.resize(i + 1);
        }
        if (inner != nullptr) words.emplace_back("--help");
    }
    return words;
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most, std::string_view of) {
    return within(parse_count, fmt::format("a whole number{} from {} to {}", of, least, most),
                  least, most);
}

CLI::Validator milliseconds(std::uint64_t least, std::uint64_t most) {
    return within(
        parse_milliseconds,
        fmt::format("a time, such as 30s, or a number of milliseconds from {} to {}", least, most),
        least, most);
}

CLI::Validator byte_count(std::uint64_t most) {
    return CLI::Validator(
        [=](std::string& value) {
            const auto count = parse_bytes(value);
            if (!count && count.error() == QuantityFault::malformed) {
                return fmt::format("is '{}'; it must be a number of bytes, such as 48KB or 1GiB",
                                   value);
            }
            if (!count || *count > most)
                return fmt::format("is '{}'; it must be at most {} bytes", value, most);
            value = fmt::to_string(*count);
            return std::string();
        },
        "");
}

Status check_words(const CLI::App& app, std::span<const std::string> words) {
    if (words.size() == 3 && words.front() == "help") {  // As words_of() makes it.
        return fail(Errc::invalid_argument,
                    fmt::format("`{0}` has no command '{1}'; `lode help` takes one command.",
                                words[1], words[2]));
    }
    const CLI::App* command = &app;
    const auto wrong = [&](const std::string& what) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} `{} --help` shows its usage.", what, full_name(*command)));
    };
    const auto dashes = std::ranges::find(words, "--");
    std::size_t arguments = 0;
    bool all_known = true;  // Else words may be an unknown option's.
    for (auto word = words.begin(); word != dashes; ++word) {
        if (const auto* inner = command_of(*command, *word)) {
            command = inner;
            continue;
        }
        if (!word->starts_with('-') || *word == standard_input) {
            // What follows `--` has all of the last argument's words.
            const bool is_last = runs_program(*command) ||
                                 (command->get_name() == "run" && all_known && ++arguments > 2);
            if (!is_last || dashes == words.end()) continue;
            std::string what =
                fmt::format("`{}` doesn't expect '{}' before `--`.", full_name(*command), *word);
            const auto json = std::find(words.begin(), word, json_option);
            if (json != word && !json[1].starts_with('-')) {
                what += fmt::format(" A file for the report follows an equals sign: --json={}.",
                                    json[1]);
            }
            return wrong(what);
        }
        const auto* option = option_of(*command, word->substr(0, word->find('=')));
        if (option == nullptr && runs_program(*command)) return {};  // CLI11 refuses it.
        if (option == nullptr) {
            if (option_of(*command, word->substr(0, 2)) == nullptr) all_known = false;  // Not -DX.
            continue;
        }
        const std::string type = option->get_type_name();
        const auto empty = [&] {
            const std::string name = option->get_name();
            return wrong(type.starts_with('[')
                             ? fmt::format("{0} is empty; write {0} or {0}{1}.", name,
                                           type.substr(1, type.size() - 2))
                             : fmt::format("{} is empty; it needs a value ({}).", name, type));
        };
        if (const auto equals = word->find('='); equals != word->npos) {
            // CLI11 would take the word that follows.
            if (equals + 1 == word->size() && !type.empty()) return empty();
            if (word->starts_with("--")) continue;
            return wrong(fmt::format("'{}' has an equals sign after a short option; write {} {}.",
                                     *word, word->substr(0, equals), word->substr(equals + 1)));
        }
        if (option->get_items_expected_max() == 0) continue;
        const auto value = word + 1;
        if (value == words.end()) break;
        if (value->empty()) return empty();
        const bool names_file = type == "FILE" || type == "DIR";
        if (value == dashes || option_of(*command, *value) != nullptr ||
            (names_file && value->size() > 1 && value->starts_with('-')))
            return wrong(
                fmt::format("{} needs a value ({}), but '{}' follows.", *word, type, *value));
        word = value;
    }
    return {};
}

void unmark_arguments(CLI::App& app) {
    for (auto* option : app.get_options()) {
        option->transform(CLI::Validator(
            [](std::string& value) {
                if (value.starts_with(is_argument)) value.erase(0, 1);
                return std::string();
            },
            ""));
    }
    for (auto* command : app.get_subcommands([](CLI::App*) { return true; }))
        unmark_arguments(*command);
}

std::optional<Error> missing_input(std::span<const CLI::Option* const> inputs) {
    for (const auto& name : input_files(inputs)) {
        std::error_code unknown;
        if (std::filesystem::status(name, unknown).type() == std::filesystem::file_type::not_found)
            return Error{Errc::not_found, fmt::format("File '{}' doesn't exist.", name)};
    }
    return std::nullopt;
}

Status check_results(const CLI::App& command, std::span<const CLI::Option* const> results,
                     std::span<const CLI::Option* const> inputs) {
    const bool has_folder = option_of(innermost(command), "--out-dir") != nullptr;
    std::vector<NamedFile> others;
    for (const auto& file : input_files(inputs))
        others.push_back({"", file});
    for (const auto* option : results) {
        const std::string name = option->get_name();
        const bool prints = name == json_option;  // To stdout without a file.
        if (prints && option->results().size() > 1) {
            return fail(Errc::invalid_argument, fmt::format("{} is given {} times; it may be given "
                                                            "once.",
                                                            name, option->results().size()));
        }
        for (const std::string& file : option->results()) {
            if (prints && file == standard_input) continue;
            LODE_TRY(check_result_file(
                {name, file}, others,
                has_folder ? fmt::format("--out-dir {} writes the results to it.", file)
                           : "Name one in it."));
            if (prints) LODE_TRY(check_report_file(file));
            others.push_back({name, file});
        }
    }
    return {};
}

bool has_unknown_option(const CLI::ParseError& error, const CLI::App& app) {
    return dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr &&
           std::ranges::any_of(remaining_words(app), is_option);
}

Error usage_error(const CLI::ParseError& error, const CLI::App& app, const CLI::App* command,
                  std::span<const std::string> words) {
    const auto usage = [](const std::string& what, const CLI::App& of) {
        return Error{Errc::invalid_argument,
                     fmt::format("{} `{} --help` shows its usage.", what, full_name(of))};
    };
    if (command != nullptr) {
        const CLI::App& inner = innermost(*command);
        if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
            return usage(unexpected(app, inner), inner);
        if (!command_names(inner).empty()) return usage(no_command(inner, words), inner);
        return usage(text_of(error) + ".", inner);
    }
    const auto names = command_names(app);
    const auto word = std::ranges::find_if(words, [](const std::string& one) {
        return one != json_option && one != "--help" && !one.starts_with("--color");
    });
    std::string what = "A command is needed.";
    if (word != words.end()) {
        what = is_option(*word) ? fmt::format("`lode` has no option '{}'.{}", *word,
                                              did_you_mean(closest(*word, option_names(app))))
                                : fmt::format("There is no command '{}'.{}", *word,
                                              did_you_mean(closest(*word, names)));
    }
    return {
        Errc::invalid_argument,
        fmt::format("{} The commands are {}; `lode --help` describes them.", what, list_of(names))};
}

}  // namespace lode::tool
