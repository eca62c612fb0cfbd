#include "tools/lode/help_page.hpp"

#include "tools/lode/layout.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::tool {
namespace {

/// A blank at which no line ends.
constexpr char firm_blank = '\x1f';

/// A heading with rows under it. All sections of a page have the same columns.
struct HelpSection {
    std::string title;
    std::vector<std::pair<std::string, std::string>> rows;
};

/// "-j, --jobs N", "FILE..."
std::string label_of(const OptionRow& option) {
    std::string label = fmt::format("{}", fmt::join(option.names, ", "));
    if (option.takes_word()) label += ' ';
    label += option.value;
    return option.repeats ? label + "..." : label;
}

std::string meaning_of(const OptionRow& option) {
    if (option.is_required && option.names.front().starts_with('-'))
        return option.meaning + " (required)";
    if (option.fallback.empty()) return option.meaning;
    return fmt::format("{} (default{}{})", option.meaning, firm_blank, option.fallback);
}

std::string usage_of(const CommandRow& command) {
    std::string usage = fmt::format("Usage: {} [OPTIONS]", command.name);
    for (const auto& argument : command.arguments) {
        const std::string name = argument.names.front() + (argument.repeats ? "..." : "");
        usage += argument.is_required ? " " + name : fmt::format(" [{}]", name);
    }
    if (!command.commands.empty()) usage += " COMMAND";
    return usage;
}

/// Adds a row under the heading, which is made if there is none.
void add(std::vector<HelpSection>& sections, std::string_view title, std::string label,
         std::string meaning) {
    auto section = std::ranges::find(sections, title, &HelpSection::title);
    if (section == sections.end())
        section = sections.insert(section, HelpSection{std::string(title), {}});
    section->rows.emplace_back(std::move(label), std::move(meaning));
}

std::vector<HelpSection> sections_of(const CommandRow& command) {
    std::vector<HelpSection> sections;
    for (const auto& inner : command.commands)
        add(sections, inner.group, std::string(inner.last_name()), inner.meaning);
    for (const auto& argument : command.arguments)
        add(sections, "Arguments", label_of(argument), meaning_of(argument));
    for (const bool is_common : {false, true}) {
        for (const auto& option : command.options)
            if ((option.group == common_options) == is_common)
                add(sections, option.group, label_of(option), meaning_of(option));
    }
    return sections;
}

}  // namespace

std::string help_page(const CommandRow& command, std::size_t width) {
    constexpr std::size_t indent = 2;
    constexpr std::size_t gap = 2;
    constexpr std::size_t widest_label = 24;
    const auto sections = sections_of(command);
    std::size_t label_width = 0;
    for (const auto& section : sections)
        for (const auto& [label, meaning] : section.rows)
            if (label.size() <= widest_label) label_width = std::max(label_width, label.size());
    label_width += gap;

    std::string page = wrapped(command.meaning + ".", width, 0) + "\n\n";
    page += wrapped(usage_of(command), width, indent) + "\n";
    for (const auto& section : sections) {
        page += fmt::format("\n{}:\n", section.title);
        for (const auto& [label, meaning] : section.rows) {
            // A long label has a line of its own.
            const bool is_long = label.size() + gap > label_width;
            std::string row = fmt::format("{:{}}{:<{}}", "", indent, label, label_width);
            if (is_long) row += fmt::format("\n{:{}}", "", indent + label_width);
            page += wrapped(row + meaning, width, is_long ? 0 : label_width) + "\n";
        }
    }
    std::ranges::replace(page, firm_blank, ' ');
    if (!command.footer.empty()) page += "\n" + wrapped(command.footer, width, 0) + "\n";
    if (command.examples.empty()) return page;
    page += command.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
    for (const auto& example : command.examples)
        page += fmt::format("{:{}}{}\n", "", indent, example);
    return page;
}

}  // namespace lode::tool
