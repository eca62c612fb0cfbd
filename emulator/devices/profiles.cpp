#include "emulator/devices/profiles.hpp"

#include "base/message_text.hpp"
#include "base/suggested_arch.hpp"
#include "base/try.hpp"
#include "emulator/devices/words.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::emulator {
namespace {

/// A row's limits are those of its capability, which every row has.
Profile profile_of(int cc_major, int cc_minor, Profile row) {
    row.cc = ComputeCapability(cc_major, cc_minor);
    row.limits = multiprocessor_limits(row.cc).value_or(MultiprocessorLimits{});
    return row;
}

Result<const Profile*> parse_device(std::string_view entry) {
    const auto arch = Arch::parse(entry);
    const Profile* profile = arch && arch->is_real() && arch->suffix() == ArchSuffix::none
                                 ? find_profile(arch->cc())
                                 : nullptr;
    if (profile != nullptr) return profile;
    std::vector<std::string> known;
    for (const Profile& row : profiles())
        known.push_back(Arch(row.cc).to_string());
    // "sm90" and "9.0", else what is nearest.
    std::string meant = suggested_arch(entry);
    if (std::ranges::count(known, meant) == 0) meant = closest(entry, known);
    return fail(Errc::invalid_argument,
                fmt::format("LODE_EMULATOR_DEVICES contains '{}'; the possible values are {} and "
                            "none.{}",
                            entry, fmt::join(known, ", "), did_you_mean(meant)));
}

}  // namespace

std::string Profile::device_name() const {
    return "lode emulator (CPU) " + Arch(cc).to_string();
}

std::span<const Profile> profiles() noexcept {
    static const auto table = std::to_array<Profile>({
#define LODE_PROFILE(cc_major, cc_minor, ...) profile_of(cc_major, cc_minor, {{}, {}, __VA_ARGS__}),
#include "emulator/devices/profiles.def"
#undef LODE_PROFILE
    });
    // The driver answers until the process ends.
    static_assert(std::is_trivially_destructible_v<Profile>);
    return table;
}

const Profile* find_profile(ComputeCapability cc) noexcept {
    const auto found = std::ranges::find(profiles(), cc, &Profile::cc);
    return found == profiles().end() ? nullptr : &*found;
}

Result<std::vector<const Profile*>> parse_devices(std::string_view text) {
    const auto words = words_of(text);
    std::vector<const Profile*> devices;
    if (words.size() == 1 && words.front() == "none") return devices;
    for (const std::string_view word : words) {
        if (word == "none")
            return fail(Errc::invalid_argument,
                        "LODE_EMULATOR_DEVICES contains 'none' beside other devices.");
        LODE_TRY_ASSIGN(const Profile* profile, parse_device(word));
        devices.push_back(profile);
    }
    return devices;
}

}  // namespace lode::emulator
