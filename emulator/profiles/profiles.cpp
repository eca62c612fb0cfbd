#include "emulator/profiles/profiles.hpp"

#include "base/try.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::emulator {
namespace {

constexpr Profile table[] = {
#define LODE_PROFILE(cc_major, cc_minor, ...) \
    Profile{ComputeCapability(cc_major, cc_minor), __VA_ARGS__},
#include "emulator/profiles/profiles.def"
#undef LODE_PROFILE
};

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Result<const Profile*> parse_device(std::string_view entry) {
    const auto arch = Arch::parse(entry);
    const Profile* profile = arch && arch->is_real() && arch->suffix() == ArchSuffix::none
                                 ? find_profile(arch->cc())
                                 : nullptr;
    if (profile != nullptr) return profile;
    std::vector<std::string> known;
    for (const Profile& row : table)
        known.push_back(Arch(row.cc).to_string());
    return fail(Errc::invalid_argument,
                fmt::format("LODE_EMULATOR_DEVICES names \"{}\", which the emulator can't be; "
                            "it can be {} or none.",
                            entry, fmt::join(known, ", ")));
}

}  // namespace

std::string Profile::device_name() const {
    return "lode emulator (CPU) " + Arch(cc).to_string();
}

std::span<const Profile> profiles() noexcept {
    return table;
}

const Profile* find_profile(ComputeCapability cc) noexcept {
    const auto found = std::ranges::find(table, cc, &Profile::cc);
    return found == std::end(table) ? nullptr : found;
}

Result<std::vector<const Profile*>> parse_devices(std::string_view text) {
    std::vector<const Profile*> devices;
    if (trimmed(text) == "none") return devices;
    while (true) {
        const auto comma = text.find(',');
        LODE_TRY_ASSIGN(const Profile* profile, parse_device(trimmed(text.substr(0, comma))));
        devices.push_back(profile);
        if (comma == std::string_view::npos) return devices;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace lode::emulator
