#include "base/message_text.hpp"

#include <lode/runtime/variants.hpp>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

std::string names_of(const KernelFamily& family) {
    std::vector<std::string> names;
    std::ranges::transform(family.rows, std::back_inserter(names),
                           [](const auto& row) { return row.name; });
    return listed(names);
}

std::string arch_sentence(const Arch& arch, ComputeCapability device) {
    const auto built_for = arch.cc().to_string();
    switch (arch.suffix()) {
        case ArchSuffix::specific:
            return fmt::format("it needs exactly {}, but the device is {}", built_for,
                               device.to_string());
        case ArchSuffix::family:
            return fmt::format("it needs the family of {}, but the device is {}", built_for,
                               device.to_string());
        case ArchSuffix::none:
            break;
    }
    return fmt::format("it needs {} or newer, but the device is {}", built_for, device.to_string());
}

Status broken(const KernelFamily& family, const VariantRow& row, std::string_view why) {
    return fail(Errc::invalid_argument,
                fmt::format("Row '{}' of kernel family '{}' {}.", row.name, family.name, why));
}

/// The indices of all rows, best first.
std::vector<std::size_t> order_of(const KernelFamily& family,
                                  const VariantDeviceProperties& properties,
                                  const std::optional<Problem>& problem) {
    const auto& rows = family.rows;
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0);
    if (!problem) return order;
    std::vector<double> estimates(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].estimate) estimates[i] = rows[i].estimate(*problem, properties);
    }
    const auto has_estimate = [&](std::size_t i) { return rows[i].estimate != nullptr; };
    for (auto first = order.begin(); first != order.end();) {
        first = std::find_if(first, order.end(), has_estimate);
        const auto last = std::find_if_not(first, order.end(), has_estimate);
        std::ranges::stable_sort(first, last, {}, [&](std::size_t i) { return estimates[i]; });
        first = last;
    }
    return order;
}

}  // namespace

VariantDeviceProperties assumed_device_properties(ComputeCapability cc) noexcept {
    constexpr std::size_t kib = 1024;
    constexpr ComputeCapability hopper{9, 0};
    std::size_t shared = 227 * kib;  // 9.0, 10.x, 11.0
    if (cc < ComputeCapability{8, 0}) {
        shared = 64 * kib;
    } else if (cc == ComputeCapability{8, 6} || cc == ComputeCapability{8, 9} ||
               cc.cc_major() == 12) {
        shared = 99 * kib;
    } else if (cc < hopper) {
        shared = 163 * kib;
    }
    return {.cc = cc,
            .shared_bytes_per_block = shared,
            .max_threads_per_block = 1024,
            .multiprocessors = 100,
            .cluster_launch = cc >= hopper,
            .cooperative_launch = true,
            .tensor_maps = cc >= hopper};
}

SuffixPolicy VariantRow::suffix() const noexcept {
    switch (needs.arch.suffix()) {
        case ArchSuffix::specific:
            return SuffixPolicy::specific;
        case ArchSuffix::family:
            return SuffixPolicy::family;
        case ArchSuffix::none:
            break;
    }
    return SuffixPolicy::none;
}

const VariantRow* KernelFamily::row(std::string_view row_name) const noexcept {
    const auto found =
        std::ranges::find(rows, row_name, [](const auto& r) { return std::string_view(r.name); });
    return found == rows.end() ? nullptr : &*found;
}

const EmbeddedFile* KernelFamily::file(std::string_view file_name) const noexcept {
    const auto found = std::ranges::find(files, file_name, &EmbeddedFile::name);
    return found == files.end() ? nullptr : &*found;
}

Status check_family(const KernelFamily& family) {
    if (family.name.empty() || family.rows.empty()) {
        return fail(
            Errc::invalid_argument,
            fmt::format("Kernel family '{}' needs a name and at least one row.", family.name));
    }
    std::set<std::string_view> seen;
    for (const auto& row : family.rows) {
        if (row.name.find_first_of(":,") != std::string::npos || row.name.empty())
            return broken(family, row, "has no usable name: it is empty or contains ':' or ','");
        if (!seen.insert(row.name).second)
            return broken(family, row, "has the name of an earlier row");
        if (!row.shape) return broken(family, row, "has no launch shape");
        if (family.file(row.source) == nullptr)
            return broken(family, row,
                          fmt::format("names a file that isn't embedded: '{}'", row.source));
    }
    const auto& last = family.rows.back();
    const auto& needs = last.needs;
    if (needs.arch.suffix() != ArchSuffix::none || needs.cluster_launch ||
        needs.cooperative_launch || needs.tensor_maps || last.refuses || !last.caveat.empty()) {
        return broken(family, last, "is the last row but isn't portable");
    }
    return {};
}

std::optional<std::string> refusal_of(const VariantRow& row,
                                      const VariantDeviceProperties& properties,
                                      const std::optional<Problem>& problem) {
    const auto& needs = row.needs;
    if (!needs.arch.as_virtual().runs_on(properties.cc))
        return arch_sentence(needs.arch, properties.cc);
    if (needs.shared_bytes_per_block > properties.shared_bytes_per_block) {
        return fmt::format("it needs {} bytes of shared memory per block, but the device has {}",
                           needs.shared_bytes_per_block, properties.shared_bytes_per_block);
    }
    if (needs.threads_per_block > properties.max_threads_per_block) {
        return fmt::format("it needs {} threads per block, but the device has {}",
                           needs.threads_per_block, properties.max_threads_per_block);
    }
    if (needs.cluster_launch && !properties.cluster_launch)
        return "the device doesn't support cluster launches";
    if (needs.cooperative_launch && !properties.cooperative_launch)
        return "the device doesn't support cooperative launches";
    if (needs.tensor_maps && !properties.tensor_maps)
        return "the driver can't encode tensor maps (cuTensorMapEncodeTiled)";
    if (problem && row.refuses) return row.refuses(*problem);
    return std::nullopt;
}

std::vector<std::size_t> eligible_rows(const KernelFamily& family,
                                       const VariantDeviceProperties& properties,
                                       const std::optional<Problem>& problem) {
    std::vector<std::size_t> rows;
    for (const auto i : order_of(family, properties, problem)) {
        if (family.rows[i].caveat.empty() && !refusal_of(family.rows[i], properties, problem))
            rows.push_back(i);
    }
    return rows;
}

std::string VariantChoice::describe() const {
    return lode::describe(steps);
}

Result<VariantChoice> select(const KernelFamily& family, const VariantDeviceProperties& properties,
                             const VariantRequest& request) {
    const auto index_of = [&](const VariantRow* row) {
        return static_cast<std::size_t>(row - family.rows.data());
    };
    if (!request.forced.empty()) {
        const VariantRow* const row = family.row(request.forced);
        if (row == nullptr) {
            return fail(Errc::not_found,
                        fmt::format("Kernel family '{}' has no row '{}'. Its rows are: {}.",
                                    family.name, shortened(request.forced), names_of(family)));
        }
        if (auto why = refusal_of(*row, properties, request.problem)) {
            return fail(Errc::not_supported,
                        fmt::format("Row '{}' of kernel family '{}' is forced but can't run: {}.",
                                    row->name, family.name, *why));
        }
        std::string reason = "it is forced";
        if (!row->caveat.empty()) reason += ", although " + row->caveat;
        return VariantChoice{index_of(row), {{row->name, true, std::move(reason)}}};
    }

    VariantChoice choice;
    if (const VariantRow* const row = family.row(request.preferred)) {
        auto why = refusal_of(*row, properties, request.problem);
        choice.steps.push_back(
            {row->name, !why, why.value_or("tuning found it to be the fastest")});
        choice.row = index_of(row);
        if (!why) return choice;
    }
    for (const auto i : order_of(family, properties, request.problem)) {
        const auto& row = family.rows[i];
        if (row.name == request.preferred) continue;
        auto why = refusal_of(row, properties, request.problem);
        if (!why && !row.caveat.empty()) why = row.caveat;
        choice.steps.push_back({row.name, !why, why.value_or("it is the best row that can run")});
        choice.row = i;
        if (choice.steps.back().taken) return choice;
    }
    return fail(Errc::unsupported_arch,
                fmt::format("No row of kernel family '{}' runs on a device of compute capability "
                            "{}.\n{}",
                            family.name, properties.cc.to_string(), choice.describe()));
}

Result<std::vector<ForcedRow>> forced_rows(std::string_view text) {
    std::vector<ForcedRow> rows;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto item = text.substr(0, comma);
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
        const auto colon = item.find(':');
        if (colon == std::string_view::npos || colon == 0 || colon + 1 == item.size()) {
            return fail(Errc::invalid_argument,
                        fmt::format("'{}' doesn't name a kernel variant: write family:row, several "
                                    "separated by commas.",
                                    item));
        }
        rows.push_back({std::string(item.substr(0, colon)), std::string(item.substr(colon + 1))});
    }
    return rows;
}

Result<std::string> forced_row(std::string_view text, std::string_view family) {
    return forced_rows(text).map([&](const std::vector<ForcedRow>& rows) {
        const auto last = std::find_if(rows.rbegin(), rows.rend(),
                                       [&](const auto& row) { return row.family == family; });
        return last == rows.rend() ? std::string() : last->row;
    });
}

}  // namespace LODE_NAMESPACE
