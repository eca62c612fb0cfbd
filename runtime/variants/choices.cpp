#include "base/cache_folder.hpp"
#include "base/file.hpp"
#include "base/try.hpp"

#include <lode/base/digest.hpp>
#include <lode/runtime/variants_choices.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr std::string_view header = "lode tuned choice 1";
constexpr std::string_view choice_extension = ".choice";

/// Replaces line breaks, which a field's value can't hold.
std::string one_line(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
}

std::string write(const TunedChoice& choice) {
    return fmt::format("{}\nfamily {}\ndevice {}\ndriver {}\nclass {}\nrow {}\nmilliseconds {}\n",
                       header, one_line(choice.key.family), one_line(choice.key.device),
                       choice.key.driver_version, one_line(choice.key.problem_class),
                       one_line(choice.row), choice.milliseconds);
}

/// The rest of the next line if it starts with `name` and a blank.
std::optional<std::string> take_field(std::string_view& text, std::string_view name) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ')
        return std::nullopt;
    return std::string(line.substr(name.size() + 1));
}

template <class Number>
std::optional<Number> number_in(const std::optional<std::string>& text) {
    if (!text) return std::nullopt;
    Number number{};
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (problem != std::errc{} || end != text->data() + text->size()) return std::nullopt;
    return number;
}

std::optional<TunedChoice> read(std::string_view text) {
    if (!text.starts_with(header) || text.size() <= header.size() || text[header.size()] != '\n')
        return std::nullopt;
    text.remove_prefix(header.size() + 1);
    const auto family = take_field(text, "family");
    const auto device = take_field(text, "device");
    const auto driver = number_in<int>(take_field(text, "driver"));
    const auto problem_class = take_field(text, "class");
    const auto row = take_field(text, "row");
    const auto milliseconds = number_in<double>(take_field(text, "milliseconds"));
    if (!family || !device || !driver || !problem_class || !row || !milliseconds || !text.empty())
        return std::nullopt;
    return TunedChoice{{*family, *device, *driver, *problem_class}, *row, *milliseconds};
}

std::optional<TunedChoice> read_file(const std::filesystem::path& file) {
    constexpr std::uint64_t largest_choice = 65536;
    const auto text = read_text(file, largest_choice);
    return text ? read(*text) : std::nullopt;
}

/// The value at a quantile of sorted values; interpolates linearly between neighbours.
double quantile(std::span<const double> sorted, double q) {
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

struct Spread {
    double median;
    double half_range;  ///< Half the interquartile range.
};

Spread spread_of(std::span<const double> values) {
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    return {quantile(sorted, 0.5), (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 2};
}

}  // namespace

TunedChoices::TunedChoices(std::filesystem::path folder) : folder_(std::move(folder)) {}

std::filesystem::path TunedChoices::default_folder() {
    const auto cache = default_cache_folder();
    return cache.empty() ? cache : cache / "variants";
}

std::filesystem::path TunedChoices::file_of(const TuneKey& key) const {
    Hasher hasher;
    hasher.field(one_line(key.family)).field(one_line(key.device));
    hasher.field(static_cast<std::uint64_t>(key.driver_version));
    hasher.field(one_line(key.problem_class));
    constexpr std::size_t digits = 32;
    return folder_ / (hasher.finish().to_hex().substr(0, digits) + std::string(choice_extension));
}

std::optional<TunedChoice> TunedChoices::find(const TuneKey& key) const {
    if (folder_.empty()) return std::nullopt;
    auto choice = read_file(file_of(key));
    const TuneKey as_kept{one_line(key.family), one_line(key.device), key.driver_version,
                          one_line(key.problem_class)};
    if (!choice || choice->key != as_kept) return std::nullopt;
    return choice;
}

Status TunedChoices::keep(const TunedChoice& choice) const {
    if (folder_.empty()) {
        return fail(Errc::not_found,
                    "There is no folder for tuned choices: set LODE_CACHE_DIR, or HOME to a folder "
                    "that exists.");
    }
    if (const int problem = make_folders(folder_); problem != 0)
        return fail_from_errno("Creating the folder", folder_, problem);
    return write_atomic(file_of(choice.key), write(choice));
}

std::vector<TunedChoice> TunedChoices::list() const {
    std::vector<TunedChoice> choices;
    std::error_code problem;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, problem)) {
        if (entry.path().extension() != choice_extension) continue;
        if (auto choice = read_file(entry.path())) choices.push_back(*std::move(choice));
    }
    std::ranges::sort(choices, {}, [](const TunedChoice& c) {
        return std::tie(c.key.family, c.key.device, c.key.problem_class, c.key.driver_version);
    });
    return choices;
}

Result<std::size_t> TunedChoices::clear(std::string_view family) const {
    std::size_t removed = 0;
    std::error_code problem;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, problem)) {
        if (entry.path().extension() != choice_extension) continue;
        if (!family.empty()) {
            const auto choice = read_file(entry.path());
            if (!choice || choice->key.family != family) continue;
        }
        std::error_code refused;
        std::filesystem::remove(entry.path(), refused);
        if (refused) return fail_from_errno("Removing the choice", entry.path(), refused.value());
        ++removed;
    }
    return removed;
}

double median_of(std::span<const double> values) {
    return values.empty() ? 0 : spread_of(values).median;
}

std::optional<std::size_t> fastest_row(std::span<const RowTimes> rows, double margin) {
    if (rows.empty()) return std::nullopt;
    const auto fastest = std::ranges::min_element(
        rows, {}, [](const RowTimes& times) { return median_of(times.milliseconds); });
    const auto best = spread_of(fastest->milliseconds);
    std::size_t chosen = fastest->row;
    for (const auto& times : rows) {
        const auto other = spread_of(times.milliseconds);
        const double noise = std::max(best.half_range, other.half_range);
        if (times.row < chosen &&
            other.median - best.median <= std::max(margin * best.median, noise))
            chosen = times.row;
    }
    return chosen;
}

}  // namespace LODE_NAMESPACE
