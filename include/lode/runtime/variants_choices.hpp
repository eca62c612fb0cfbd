/// \file
/// Tuned choices: the row of each kernel family that was measured as the fastest, kept in files.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// What a tuned choice applies to.
struct TuneKey {
    std::string family;         ///< KernelFamily::name
    std::string device;         ///< The model's name, e.g. "NVIDIA H200".
    int driver_version = 0;     ///< Driver::version(), e.g. 13000 for 13.0.
    std::string problem_class;  ///< A name that the caller chooses, e.g. "large" or "4096x4096".

    /// Compares every member.
    friend bool operator==(const TuneKey&, const TuneKey&) = default;
};

/// One measured choice.
struct TunedChoice {
    TuneKey key;              ///< What it applies to.
    std::string row;          ///< The name of the fastest row.
    double milliseconds = 0;  ///< The median of the measurement.

    /// Compares every member.
    friend bool operator==(const TunedChoice&, const TunedChoice&) = default;
};

/// The tuned choices of all processes of a user: one small file each in a folder, replaced
/// atomically. A file that can't be read is ignored. Thread-safe; holds no lock and no open file.
class TunedChoices {
public:
    /// Keeps the choices in `folder`, which keep() creates; with an empty path nothing is kept.
    explicit TunedChoices(std::filesystem::path folder = default_folder());

    /// The folder `variants` in LODE_CACHE_DIR, XDG_CACHE_HOME/lode or HOME/.cache/lode; empty when
    /// none of the three variables is set, or HOME isn't an existing folder.
    static std::filesystem::path default_folder();

    /// The folder as given; empty when nothing is kept.
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

    /// The choice for a key; nullopt if there is none.
    [[nodiscard]] std::optional<TunedChoice> find(const TuneKey& key) const;

    /// Writes a choice, replacing an earlier one with the same key.
    /// Errors: file_failed if the folder can't be written; not_found without a folder.
    [[nodiscard]] Status keep(const TunedChoice& choice) const;

    /// All choices, sorted by family, device, problem class and driver.
    [[nodiscard]] std::vector<TunedChoice> list() const;

    /// Removes all choices, or those of one family, and returns their number.
    /// Errors: file_failed if a file can't be removed.
    [[nodiscard]] Result<std::size_t> clear(std::string_view family = {}) const;

private:
    [[nodiscard]] std::filesystem::path file_of(const TuneKey& key) const;
    std::filesystem::path folder_;
};

/// The times of one row in one tuning.
struct RowTimes {
    std::size_t row = 0;               ///< Index into KernelFamily::rows.
    std::vector<double> milliseconds;  ///< One per round; not empty.
};

/// The median; 0 without values.
double median_of(std::span<const double> values);

/// The row with the lowest median, unless an earlier row of the table is about as fast.
///
/// About as fast means slower by at most `margin` (0.02 is 2 %) or the noise, which is the larger
/// of the two rows' half interquartile ranges. Returns a RowTimes::row; nullopt without rows.
std::optional<std::size_t> fastest_row(std::span<const RowTimes> rows, double margin);

}  // namespace LODE_NAMESPACE

LODE_API_END
