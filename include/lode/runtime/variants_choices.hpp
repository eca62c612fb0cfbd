// Tuned choices: which row of a kernel family was measured to be the fastest, kept in files.
#pragma once

#include <lode/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lode {

/// What a tuned choice holds for.
struct TuneKey {
    std::string family;
    std::string device;         ///< The model's name, e.g. "NVIDIA H200".
    int driver_version = 0;     ///< 13000
    std::string problem_class;  ///< The caller's word, e.g. "large" or "4096x4096".

    friend bool operator==(const TuneKey&, const TuneKey&) = default;
};

/// One measured choice.
struct TunedChoice {
    TuneKey key;
    std::string row;
    double milliseconds = 0;  ///< The median of the measurement.

    friend bool operator==(const TunedChoice&, const TunedChoice&) = default;
};

/// The choices of all processes of a user: one small file each in a folder, replaced atomically.
/// A file that isn't readable is no choice. Thread-safe; holds no lock and no open file.
class TunedChoices {
public:
    /// The default folder is variants/ in LODE_CACHE_DIR, XDG_CACHE_HOME/lode or ~/.cache/lode.
    explicit TunedChoices(std::filesystem::path folder = default_folder());

    /// Empty when neither of the three variables nor HOME is set: then nothing is kept.
    static std::filesystem::path default_folder();

    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

    [[nodiscard]] std::optional<TunedChoice> find(const TuneKey& key) const;

    /// file_failed when the folder can't be written; not_found without a folder.
    [[nodiscard]] Status keep(const TunedChoice& choice) const;

    /// Sorted by family, device and problem class.
    [[nodiscard]] std::vector<TunedChoice> list() const;

    /// Forgets all, or those of one family; gives how many there were.
    [[nodiscard]] Result<std::size_t> clear(std::string_view family = {}) const;

private:
    [[nodiscard]] std::filesystem::path file_of(const TuneKey& key) const;
    std::filesystem::path folder_;
};

/// The times of one row, from one tuning.
struct RowTimes {
    std::size_t row = 0;
    std::vector<double> milliseconds;  ///< One per round; not empty.
};

/// The median; 0 for nothing.
double median_of(std::span<const double> values);

/// The row to take: the one with the lowest median, unless a better-placed row (an earlier one in
/// the table) is slower by no more than `margin` (0.02 is 2 %) or by less than the noise, which is
/// the larger of the two rows' half interquartile ranges. nullopt for no rows.
std::optional<std::size_t> fastest_row(std::span<const RowTimes> rows, double margin);

}  // namespace lode
