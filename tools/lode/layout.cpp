#include "tools/lode/layout.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t gap = 2;

void trim_end(std::string& line) {
    line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

void Section::row(std::string label, std::string value) {
    rows_.push_back({std::move(label), std::move(value)});
}

std::string Section::to_string() const {
    std::size_t width = 0;
    for (const auto& row : rows_)
        width = std::max(width, row.label.size());
    const std::string continuation = "\n" + std::string(indent + width + gap, ' ');

    std::string text = title_ + "\n";
    for (const auto& row : rows_) {
        std::string line = fmt::format("{:{}}{:<{}}", "", indent, row.label, width + gap);
        for (const char c : row.value) {
            if (c == '\n') {
                line += continuation;
            } else {
                line += c;
            }
        }
        trim_end(line);
        text += line + "\n";
    }
    return text;
}

std::string Table::to_string() const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = columns_[i].title.size();
        for (const auto& cells : rows_)
            width = std::max(width, cells[i].size());
        widths.push_back(width);
    }
    std::string text;
    const auto add_line = [&](auto cell_at) {
        std::string line;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            line += std::string(i == 0 ? indent : gap, ' ');
            line += columns_[i].align == Align::left ? fmt::format("{:<{}}", cell_at(i), widths[i])
                                                     : fmt::format("{:>{}}", cell_at(i), widths[i]);
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
