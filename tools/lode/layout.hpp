// Plain-text layout: labelled rows and tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lode::tool {

/// The width of text that nothing limits.
inline constexpr std::size_t any_width = std::string::npos;

/// A title with "label  value" rows below it, values in one column.
class Section {
public:
    explicit Section(std::string title) : title_(std::move(title)) {}

    /// Aligns later lines of `value` with the first. An empty label continues the row above.
    void row(std::string label, std::string_view value);

    [[nodiscard]] bool is_empty() const noexcept { return rows_.empty(); }
    /// Ends with a newline.
    [[nodiscard]] std::string to_string(std::size_t width = any_width) const;

private:
    struct Row {
        std::string label;
        std::string value;
    };
    std::string title_;
    std::vector<Row> rows_;
};

/// The alignment of a table's column.
enum class Align : std::uint8_t { left, right };

/// A table: a header line, then the rows, with two spaces between columns.
class Table {
public:
    struct Column {
        std::string title;
        Align align = Align::left;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// Adds a row with one cell per column.
    void row(std::vector<std::string> cells);

    /// Indents every line by two spaces. Every line ends with a newline and has no trailing spaces.
    [[nodiscard]] std::string to_string() const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// `text` with the control characters as \x1b, \n and so on, so that a name or a quoted line of a
/// source can't act on the terminal. `kept` are left as they are.
std::string visible(std::string_view text, std::string_view kept = "\n\t");

/// The text with its lines broken at spaces to at most `width` columns. What goes on is indented by
/// `hanging` more than its line. A longer word stays whole.
std::string wrapped(std::string_view text, std::size_t width, std::size_t hanging);

/// The number of a terminal's columns that `text` in UTF-8 takes.
std::size_t columns_of(std::string_view text) noexcept;

/// "512 B", "3.2 KiB", "141.0 GiB"
std::string bytes_text(std::uint64_t bytes);

/// "1 entry", "0 entries"; without `plural` an s is added.
std::string counted(std::uint64_t count, std::string_view singular, std::string_view plural = {});

}  // namespace lode::tool
