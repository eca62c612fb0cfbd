#include "tools/lode/layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t gap = 2;

/// The code point at the front of `text`, which it is removed from; a byte that begins none counts
/// as one.
std::uint32_t take_code_point(std::string_view& text) noexcept {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    std::uint32_t value = size == 1 ? first : first & (0x7fU >> size);
    std::size_t taken = 1;
    for (; taken < std::min(size, text.size()); ++taken) {
        const auto next = static_cast<unsigned char>(text[taken]);
        if ((next & 0xc0U) != 0x80) break;
        value = value << 6 | (next & 0x3fU);
    }
    text.remove_prefix(taken);
    return value;
}

/// Whether terminals show it in two columns: the scripts of East Asia, and emoji.
bool is_wide(std::uint32_t point) noexcept {
    constexpr std::pair<std::uint32_t, std::uint32_t> ranges[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
        {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };
    return std::ranges::any_of(
        ranges, [&](const auto& range) { return point >= range.first && point <= range.second; });
}

void trim_end(std::string& line) {
    line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

void Section::row(std::string label, std::string_view value) {
    rows_.push_back({std::move(label), visible(value)});
}

std::string Section::to_string(std::size_t width) const {
    std::size_t label_width = 0;
    for (const auto& row : rows_)
        label_width = std::max(label_width, row.label.size());
    label_width += gap;

    std::string text = title_ + "\n";
    for (const auto& row : rows_) {
        std::string_view label = row.label;
        std::string_view rest = row.value;
        for (bool more = true; more;) {
            const auto end = rest.find('\n');
            const auto line =
                fmt::format("{:{}}{:<{}}{}", "", indent, label, label_width, rest.substr(0, end));
            // The indentation under a label is the line's own.
            text += wrapped(line, width, label.empty() ? 0 : label_width) + "\n";
            label = {};
            more = end != std::string_view::npos;
            if (more) rest.remove_prefix(end + 1);
        }
    }
    return text;
}

void Table::row(std::vector<std::string> cells) {
    for (auto& cell : cells)
        cell = visible(cell, {});
    rows_.push_back(std::move(cells));
}

std::string Table::to_string() const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = columns_[i].title.size();
        for (const auto& cells : rows_)
            width = std::max(width, columns_of(cells[i]));
        widths.push_back(width);
    }
    std::string text;
    const auto add_line = [&](auto cell_at) {
        std::string line;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            line += std::string(i == 0 ? indent : gap, ' ');
            const std::string cell = cell_at(i);
            const std::string blanks(widths[i] - columns_of(cell), ' ');
            line += columns_[i].align == Align::left ? cell + blanks : blanks + cell;
        }
        trim_end(line);
        text += line + "\n";
    };
    add_line([&](std::size_t i) { return columns_[i].title; });
    for (const auto& cells : rows_) {
        add_line([&](std::size_t i) { return cells[i]; });
    }
    return text;
}

std::string visible(std::string_view text, std::string_view kept) {
    constexpr unsigned char del = 0x7f;
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte >= ' ' && byte != del) || kept.find(c) != std::string_view::npos) {
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else {
            out += fmt::format("\\x{:02x}", byte);
        }
    }
    return out;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t hanging) {
    std::string out;
    std::size_t own = 0;  // The line's indentation.
    std::size_t column = 0;
    bool begins = true;
    while (!text.empty()) {
        if (text.front() == '\n') {
            out += '\n';
            text.remove_prefix(1);
            own = column = 0;
            begins = true;
            continue;
        }
        const auto blanks = std::min(text.find_first_not_of(' '), text.size());
        const auto end = std::min(text.find_first_of(" \n", blanks), text.size());
        const auto word = text.substr(blanks, end - blanks);
        text.remove_prefix(end);
        if (begins) own = blanks;
        if (word.empty()) continue;
        if (!begins && column + blanks + columns_of(word) > width) {
            column = own + hanging;
            out.append(1, '\n').append(column, ' ');
        } else {
            column += blanks;
            out.append(blanks, ' ');
        }
        out += word;
        column += columns_of(word);
        begins = false;
    }
    return out;
}

std::size_t columns_of(std::string_view text) noexcept {
    std::size_t columns = 0;
    while (!text.empty())
        columns += is_wide(take_code_point(text)) ? 2 : 1;
    return columns;
}

std::string counted(std::uint64_t count, std::string_view singular, std::string_view plural) {
    if (count == 1) return fmt::format("1 {}", singular);
    return plural.empty() ? fmt::format("{} {}s", count, singular)
                          : fmt::format("{} {}", count, plural);
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr double step = 1024;
    constexpr std::array<std::string_view, 4> units = {"KiB", "MiB", "GiB", "TiB"};
    if (static_cast<double>(bytes) < step) return fmt::format("{} B", bytes);
    auto value = static_cast<double>(bytes) / step;
    std::size_t unit = 0;
    while (value >= step && unit + 1 < units.size()) {
        value /= step;
        ++unit;
    }
    return fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace lode::tool
