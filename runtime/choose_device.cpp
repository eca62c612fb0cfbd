#include "base/lower_case.hpp"
#include "base/message_text.hpp"
#include "base/try.hpp"
#include "runtime/state/kernel_state.hpp"

#include <lode/runtime/choose_device.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// A UUID's digits without "GPU-" or "MIG-": the driver doesn't say which of the two it is.
std::string uuid_digits(std::string_view text) {
    std::string digits = lower_case(text);
    for (const std::string_view prefix : {"gpu-", "mig-"}) {
        if (digits.starts_with(prefix)) return digits.substr(prefix.size());
    }
    return digits;
}

/// The first requirement that the device's properties don't meet, as a clause; empty if all are.
std::string unmet_property(const DeviceProperties& device, const DeviceCriteria& criteria) {
    if (device.cc < criteria.min_cc) {
        return fmt::format("its compute capability {} is below {}", device.cc.to_string(),
                           criteria.min_cc.to_string());
    }
    if (device.total_memory_bytes < criteria.min_memory_bytes) {
        return fmt::format("it has {} bytes of memory, fewer than {}", device.total_memory_bytes,
                           criteria.min_memory_bytes);
    }
    if (device.name.find(criteria.name_contains) == std::string::npos)
        return fmt::format("its name doesn't contain '{}'", criteria.name_contains);
    if (!uuid_digits(device.uuid_text()).starts_with(uuid_digits(criteria.uuid)))
        return fmt::format("its UUID {} isn't {}", device.uuid_text(), criteria.uuid);
    if (!criteria.pci_id.empty() && lower_case(criteria.pci_id) != lower_case(device.pci_id))
        return fmt::format("its PCI address {} isn't {}", device.pci_id, criteria.pci_id);
    if (criteria.shared_only && device.compute_mode != ComputeMode::shared) {
        return fmt::format("its compute mode is '{}', so only one process may use it",
                           to_string(device.compute_mode));
    }
    return {};
}

std::string attribute_name(DeviceAttribute attribute) {
    for (const auto& row : device_attributes()) {
        if (row.attribute == attribute) return std::string(row.name);
    }
    return fmt::format("attribute {}", static_cast<int>(attribute));
}

std::string unmet_attribute(const DeviceCandidate& candidate, const AttributeNeed& need) {
    const auto value = candidate.attribute
                           ? candidate.attribute(need.attribute)
                           : Result<int>(fail(Errc::not_supported, "It isn't known."));
    if (!value) {
        return fmt::format("its {} can't be read: {}", attribute_name(need.attribute),
                           value.error().message);
    }
    if (*value >= need.at_least) return {};
    return fmt::format("its {} is {}, less than {}", attribute_name(need.attribute), *value,
                       need.at_least);
}

/// A candidate that is still in the race.
struct DeviceContender {
    const DeviceCandidate* candidate;
    DeviceVerdict* verdict;
    std::size_t free_bytes = 0;
};

/// Reads the free memory if the criteria ask for it; returns the unmet requirement, if any.
std::string unmet_free_memory(DeviceContender& contender, const DeviceCriteria& criteria) {
    const bool wanted = criteria.min_free_bytes > 0 ||
                        std::ranges::find(criteria.prefer, DevicePreference::most_free_memory) !=
                            criteria.prefer.end();
    if (!wanted) return {};
    const auto& read = contender.candidate->free_bytes;
    const auto bytes =
        read ? read() : Result<std::size_t>(fail(Errc::not_supported, "It isn't known."));
    if (!bytes) return fmt::format("its free memory can't be read: {}", bytes.error().message);
    contender.free_bytes = *bytes;
    if (*bytes >= criteria.min_free_bytes) return {};
    return fmt::format("it has {} bytes of memory free, fewer than {}", *bytes,
                       criteria.min_free_bytes);
}

/// What a preference compares: larger is better.
std::size_t merit(const DeviceContender& contender, DevicePreference preference) {
    const DeviceProperties& device = contender.candidate->properties;
    switch (preference) {
        case DevicePreference::most_multiprocessors:
            return static_cast<std::size_t>(device.multiprocessors);
        case DevicePreference::most_memory:
            return device.total_memory_bytes;
        case DevicePreference::most_free_memory:
            return contender.free_bytes;
        case DevicePreference::highest_cc:
            return static_cast<std::size_t>(device.cc.number());
    }
    return 0;
}

/// "it has 80 multiprocessors, fewer than the 132 of device 1"
std::string weaker_text(DevicePreference preference, const DeviceContender& weaker,
                        const DeviceContender& better) {
    const auto text = [&](std::string_view what) {
        return fmt::format("it has {} {}, fewer than the {} of device {}",
                           merit(weaker, preference), what, merit(better, preference),
                           better.verdict->ordinal);
    };
    switch (preference) {
        case DevicePreference::most_multiprocessors:
            return text("multiprocessors");
        case DevicePreference::most_memory:
            return text("bytes of memory");
        case DevicePreference::most_free_memory:
            return text("bytes of memory free");
        case DevicePreference::highest_cc:
            break;
    }
    return fmt::format("its compute capability {} is below the {} of device {}",
                       weaker.candidate->properties.cc.to_string(),
                       better.candidate->properties.cc.to_string(), better.verdict->ordinal);
}

/// Why `best` is preferred to `other`, as a clause about `other`; empty if it isn't.
std::string why_not_preferred(const DeviceContender& other, const DeviceContender& best,
                              const std::vector<DevicePreference>& prefer) {
    for (const DevicePreference preference : prefer) {
        const std::size_t mine = merit(other, preference);
        const std::size_t theirs = merit(best, preference);
        if (mine > theirs) return {};
        if (mine < theirs) return weaker_text(preference, other, best);
    }
    return fmt::format("it isn't better than device {}, which comes first", best.verdict->ordinal);
}

std::string unmet_criterion(DeviceContender& contender, const DeviceCriteria& criteria) {
    const DeviceCandidate& candidate = *contender.candidate;
    if (!candidate.unavailable.empty())
        return fmt::format("it can't be opened: {}", candidate.unavailable);
    if (auto unmet = unmet_property(candidate.properties, criteria); !unmet.empty()) return unmet;
    for (const AttributeNeed& need : criteria.attributes) {
        if (auto unmet = unmet_attribute(candidate, need); !unmet.empty()) return unmet;
    }
    return unmet_free_memory(contender, criteria);
}

std::string verdict_line(const DeviceVerdict& verdict) {
    return fmt::format("Device {}{}: {}.", verdict.ordinal,
                       verdict.name.empty() ? "" : fmt::format(" ({})", verdict.name),
                       verdict.reason);
}

/// A sentence in the middle of another one.
std::string without_full_stop(std::string sentence) {
    if (sentence.ends_with('.')) sentence.pop_back();
    return sentence;
}

}  // namespace

std::string DeviceChoice::to_string() const {
    std::string text;
    for (const DeviceVerdict& verdict : verdicts)
        text += verdict_line(verdict) + "\n";
    return text;
}

Result<DeviceChoice> choose_device(std::span<const DeviceCandidate> candidates,
                                   const DeviceCriteria& criteria) {
    if (candidates.empty()) return fail(Errc::no_device, "There is no device to choose from.");
    DeviceChoice choice;
    choice.verdicts.reserve(candidates.size());  // The contenders point into it.
    std::vector<DeviceContender> contenders;
    for (const DeviceCandidate& candidate : candidates) {
        auto& verdict = choice.verdicts.emplace_back(
            DeviceVerdict{candidate.properties.ordinal, candidate.properties.name, false, {}});
        DeviceContender contender{&candidate, &verdict};
        verdict.reason = without_full_stop(unmet_criterion(contender, criteria));
        verdict.suitable = verdict.reason.empty();
        if (verdict.suitable) contenders.push_back(contender);
    }
    if (contenders.empty()) {
        std::string message = "No device meets the criteria.";
        const auto named = std::min(choice.verdicts.size(), most_listed);
        for (const DeviceVerdict& verdict : std::span(choice.verdicts).first(named))
            message += " " + verdict_line(verdict);
        if (named < choice.verdicts.size())
            message += fmt::format(" {} more don't either.", choice.verdicts.size() - named);
        return fail(Errc::not_found, std::move(message));
    }
    const DeviceContender* best = &contenders.front();
    for (const DeviceContender& contender : contenders) {
        if (why_not_preferred(contender, *best, criteria.prefer).empty()) best = &contender;
    }
    for (const DeviceContender& contender : contenders) {
        contender.verdict->reason = &contender == best
                                        ? "it is chosen"
                                        : why_not_preferred(contender, *best, criteria.prefer);
    }
    choice.ordinal = best->verdict->ordinal;
    return choice;
}

Result<ChosenDevice> choose_device(const Runtime& runtime, const DeviceCriteria& criteria) {
    if (runtime.device_count() == 0) {
        LODE_TRY_ASSIGN(Device device, runtime.device());  // Always fails, and says why.
        return ChosenDevice{std::move(device), {}};
    }
    std::vector<Device> devices;
    std::vector<DeviceCandidate> candidates;
    for (int ordinal = 0; ordinal < runtime.device_count(); ++ordinal) {
        DeviceCandidate& candidate = candidates.emplace_back();
        candidate.properties.ordinal = ordinal;
        auto device = runtime.device(ordinal);
        if (!device) {
            candidate.unavailable = std::move(device).error().message;
            continue;
        }
        candidate.properties = device->properties();
        candidate.attribute = [device = *device](DeviceAttribute attribute) {
            return device_attribute(device, attribute);
        };
        candidate.free_bytes = [device = *device] {
            return device.memory_info().map([](const MemoryInfo& now) { return now.free_bytes; });
        };
        devices.push_back(*std::move(device));
    }
    LODE_TRY_ASSIGN(DeviceChoice choice, choose_device(candidates, criteria));
    const auto chosen = std::ranges::find(devices, choice.ordinal, &Device::ordinal);
    return ChosenDevice{*chosen, std::move(choice)};
}

Result<std::vector<UntypedKernel>> load_on(std::span<const Device> devices, const Source& source,
                                           std::string_view name, const KernelOptions& options) {
    std::map<ComputeCapability, std::shared_ptr<const Image>> images;
    std::vector<UntypedKernel> kernels;
    for (const Device& device : devices) {
        auto& image = images[device.cc()];  // Devices of one capability have one target.
        auto kernel = image == nullptr
                          ? device.load(source, name, options)
                          : device.load(image, options.load).and_then([&](const Library& loaded) {
                                return loaded.kernel(name);
                            });
        LODE_TRY_ASSIGN(auto found, std::move(kernel));
        image = found.state().library->image;
        kernels.push_back(std::move(found));
    }
    return kernels;
}

}  // namespace LODE_NAMESPACE
