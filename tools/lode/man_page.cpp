#include "tools/lode/man_page.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace lode::tool {
namespace {

/// As text of troff: hyphens as they are typed, and no line that begins a request.
std::string troff(std::string_view text) {
    std::string all;
    bool begins = true;
    for (const char c : text) {
        if (begins && (c == '.' || c == '\'')) all += "\\&";
        begins = c == '\n';
        if (c == '\\') {
            all += "\\e";
        } else if (c == '-') {
            all += "\\-";
        } else {
            all += c;
        }
    }
    return all;
}

/// "lode-cache"
std::string page_name(const CommandRow& command) {
    std::string name = command.name;
    std::ranges::replace(name, ' ', '-');
    return name;
}

void add_options(std::string& page, const std::vector<OptionRow>& options) {
    for (const auto& option : options) {
        page += ".TP\n";
        for (const auto& name : option.names)
            page += fmt::format("{}\\fB{}\\fR", &name == &option.names.front() ? "" : ", ",
                                troff(name));
        if (!option.value.empty())
            page +=
                fmt::format("{}\\fI{}\\fR", option.takes_word() ? " " : "", troff(option.value));
        page += "\n" + troff(option.meaning) + "\n";
    }
}

std::string synopsis_of(const CommandRow& command) {
    std::string line = fmt::format(".B {}\n[\\fIOPTIONS\\fR]", troff(command.name));
    for (const auto& argument : command.arguments) {
        const auto name = fmt::format("\\fI{}\\fR", troff(argument.names.front()));
        line += argument.is_required ? " " + name : " [" + name + "]";
    }
    if (!command.commands.empty()) line += " \\fICOMMAND\\fR";
    return line + "\n";
}

}  // namespace

std::string man_page(const CommandRow& command, const CommandRow& program,
                     std::string_view version) {
    std::string title = page_name(command);
    std::ranges::transform(title, title.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    std::string page =
        fmt::format(".TH {} 1 \"\" \"lode {}\" \"lode\"\n.SH NAME\n{} \\- {}\n", troff(title),
                    troff(version), troff(page_name(command)), troff(command.meaning));
    page += ".SH SYNOPSIS\n" + synopsis_of(command);
    page += ".SH DESCRIPTION\n" + troff(command.meaning) + ".\n";
    if (!command.arguments.empty()) {
        page += ".SH ARGUMENTS\n";
        add_options(page, command.arguments);
    }
    page += ".SH OPTIONS\n";
    add_options(page, command.options);
    if (!command.commands.empty()) page += ".SH COMMANDS\n";
    for (const auto& inner : command.commands) {
        page += fmt::format(".SS {}\n{}.\n", troff(inner.name), troff(inner.meaning));
        // The program's commands have pages of their own.
        if (command.name == program.name) continue;
        add_options(page, inner.arguments);
        add_options(page, inner.options);
    }
    if (!command.footer.empty()) {
        page += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", troff(command.footer));
    }
    if (!command.examples.empty()) {
        page += ".SH EXAMPLES\n.nf\n";
        for (const auto& example : command.examples)
            page += troff(example) + "\n";
        page += ".fi\n";
    }
    page += ".SH EXIT STATUS\n0 for success, 1 if the work failed, 2 for bad usage.\n";
    if (command.name == "lode emulate" || command.name == "lode cached" ||
        command.name == "lode debug")
        page += "Otherwise that of the program; 126 and 127 if it can't be started.\n";
    page += ".SH SEE ALSO\n";
    std::string others;
    const auto refer = [&](const CommandRow& other) {
        if (other.name == command.name) return;
        others +=
            fmt::format("{}.BR {} (1)", others.empty() ? "" : " ,\n", troff(page_name(other)));
    };
    refer(program);
    for (const auto& other : program.commands)
        refer(other);
    return page + others + "\n";
}

}  // namespace lode::tool
