// Programs for which the software device and ptxas disagree, and which disagreements are known.
#pragma once

#include "device.hpp"
#include "program.hpp"
#include "verdicts.hpp"

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace lode::ptx_acceptance {

enum class Difference : std::uint8_t {
    none,
    crashed,      ///< The device crashes or hangs.
    taken,        ///< ptxas refuses it; the device accepts it.
    refused,      ///< ptxas accepts it; the device calls it invalid.
    vague,        ///< ptxas refuses it; the device only reports it as unsupported.
    unsupported,  ///< ptxas accepts it; the device reports it as unsupported. Not an error.
    unrun,        ///< As `vague`, in a family that the device doesn't support at all. Not an error.
};
constexpr std::size_t difference_kinds = 7;

[[nodiscard]] std::string_view name_of(Difference difference) noexcept;

/// Returns one difference per program. `unrun` depends on all answers of the family.
[[nodiscard]] std::vector<Difference> compare(std::span<const Program> programs,
                                              std::span<const Verdict> verdicts,
                                              std::span<const DeviceAnswer> answers);

/// An explained difference: "kind | family | program | ptxas's message"; * matches anything.
struct Explained {
    Difference kind = Difference::none;
    std::string family, program, message;
    std::string text;  ///< The line in the file.
    std::size_t used = 0;
};

/// Each line or group of lines must follow a comment with the reason.
[[nodiscard]] bool read_explained(const std::string& path, std::vector<Explained>& into,
                                  std::string& error);

/// Whether an entry explains the difference; counts the entry as used.
bool explain(std::vector<Explained>& entries, Difference kind, const Program& program,
             const Verdict& verdict, const DeviceAnswer& answer);

[[nodiscard]] bool matches(std::string_view pattern, std::string_view text) noexcept;

/// Counts of a family. The digest distinguishes sets of programs of the same size.
struct Counts {
    std::size_t programs = 0, accepted = 0, refused = 0, explained = 0, run = 0;
    std::array<std::size_t, difference_kinds> of{};
    std::array<std::uint64_t, difference_kinds> digest{};
};

using Table = std::map<std::string, Counts>;

/// Differences that `entries` explain count only as explained.
[[nodiscard]] Table count(std::span<const Program> programs, std::span<const Verdict> verdicts,
                          std::span<const DeviceAnswer> answers,
                          std::span<const Difference> differences, std::vector<Explained>& entries);

/// The lines of open.txt: unexplained differences, one line per family and kind.
[[nodiscard]] std::vector<std::string> open_lines(const Table& table);

}  // namespace lode::ptx_acceptance
