// Where the software device answers otherwise than ptxas, and which of that is known.
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
    taken,        ///< ptxas refuses it; the device takes it.
    refused,      ///< ptxas takes it; the device calls it invalid.
    vague,        ///< ptxas refuses it; the device says only that it doesn't run it.
    unsupported,  ///< ptxas takes it; the device says that it doesn't run it. No error.
    unrun,        ///< As `vague`, in a family of which the device runs nothing. No error.
};
constexpr std::size_t difference_kinds = 7;

[[nodiscard]] std::string_view name_of(Difference difference) noexcept;

/// One for each program. `unrun` needs all answers of the family.
[[nodiscard]] std::vector<Difference> compare(std::span<const Program> programs,
                                              std::span<const Verdict> verdicts,
                                              std::span<const DeviceAnswer> answers);

/// An explained difference: "kind | family | program | ptxas's message", with * for anything.
struct Explained {
    Difference kind = Difference::none;
    std::string family, program, message;
    std::string text;  ///< The line of the file.
    std::size_t used = 0;
};

/// Each line needs a comment with the reason in front of it or of its group.
[[nodiscard]] bool read_explained(const std::string& path, std::vector<Explained>& into,
                                  std::string& error);

/// Whether an entry explains it; counts the entry as used.
bool explain(std::vector<Explained>& entries, Difference kind, const Program& program,
             const Verdict& verdict, const DeviceAnswer& answer);

[[nodiscard]] bool matches(std::string_view pattern, std::string_view text) noexcept;

/// Counts by family. The digest tells one set of programs from another of the same size.
struct Counts {
    std::size_t programs = 0, accepted = 0, refused = 0, explained = 0, run = 0;
    std::array<std::size_t, difference_kinds> of{};
    std::array<std::uint64_t, difference_kinds> digest{};
};

using Table = std::map<std::string, Counts>;

/// Differences that `entries` explain are counted as explained only.
[[nodiscard]] Table count(std::span<const Program> programs, std::span<const Verdict> verdicts,
                          std::span<const DeviceAnswer> answers,
                          std::span<const Difference> differences, std::vector<Explained>& entries);

/// The lines of open.txt: what isn't explained, one line for each family and kind.
[[nodiscard]] std::vector<std::string> open_lines(const Table& table);

}  // namespace lode::ptx_acceptance
