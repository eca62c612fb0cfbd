#include "emulator/devices/visible.hpp"

#include "emulator/devices/words.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lode::emulator {
namespace {

constexpr std::string_view uuid_prefix = "GPU-";

std::optional<std::size_t> by_number(std::string_view word, std::size_t count) {
    if (word.starts_with('+')) word.remove_prefix(1);
    std::size_t number = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
    if (read.ec != std::errc() || number >= count) return std::nullopt;
    return number;
}

std::optional<std::size_t> by_uuid(std::string_view word, std::span<const std::string> uuids) {
    if (!word.starts_with(uuid_prefix)) return std::nullopt;
    const auto is_meant = [&](const std::string& uuid) { return uuid.starts_with(word); };
    const auto found = std::ranges::find_if(uuids, is_meant);
    if (found == uuids.end() || std::find_if(found + 1, uuids.end(), is_meant) != uuids.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - uuids.begin());
}

}  // namespace

std::vector<std::size_t> visible_devices(std::string_view list,
                                         std::span<const std::string> uuids) {
    const bool has_uuids = list.starts_with(uuid_prefix);
    std::vector<std::size_t> visible;
    for (const std::string_view word : words_of(list)) {
        const auto device = has_uuids ? by_uuid(word, uuids) : by_number(word, uuids.size());
        if (!device) break;
        if (std::ranges::find(visible, *device) != visible.end()) return {};
        visible.push_back(*device);
    }
    return visible;
}

}  // namespace lode::emulator
