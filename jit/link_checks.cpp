#include "jit/link_checks.hpp"

#include "base/cubin.hpp"
#include "base/cxx_names.hpp"
#include "base/message_text.hpp"
#include "base/ptx_scan.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::link {
namespace {

/// The names in single quotes that follow a phrase in the linker's text, without duplicates.
std::vector<std::string> names_after(std::string_view log, std::string_view phrase) {
    std::vector<std::string> names;
    for (auto at = log.find(phrase); at != std::string_view::npos; at = log.find(phrase, at)) {
        at += phrase.size();
        const auto line = log.substr(at, log.find('\n', at) - at);
        const auto begin = line.find('\'');
        if (begin == std::string_view::npos) continue;
        const auto end = line.find('\'', begin + 1);
        if (end == std::string_view::npos) continue;
        std::string name(line.substr(begin + 1, end - begin - 1));
        if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    return names;
}

/// Whether the target can run an input: machine code of a target not above it in the same major
/// version, PTX and LTO-IR of any target not above it.
Status check_input_arch(const LinkInput& input, const Arch& target) {
    if (!input.arch) return {};
    const bool is_code = input.kind == LinkInput::Kind::cubin;
    const Arch needed = is_code ? *input.arch : input.arch->as_virtual();
    if (needed.runs_on(target.cc())) return {};
    return fail(Errc::unsupported_arch,
                fmt::format("'{}' is {} for {}, which doesn't run on {}, the target of the link.",
                            input.name, to_string(input.kind), input.arch->to_string(),
                            target.to_string()));
}

Status check_definitions(std::span<const LinkInput> inputs) {
    std::unordered_map<std::string, const LinkInput*> first;
    for (const auto& input : inputs) {
        std::vector<std::string> names;
        if (input.kind == LinkInput::Kind::ptx) {
            names = ptx_definitions(
                {reinterpret_cast<const char*>(input.bytes.data()), input.bytes.size()});
        } else if (input.kind == LinkInput::Kind::cubin) {
            names = cubin_definitions(input.bytes);
        }
        for (auto& name : names) {
            const auto [known, is_new] = first.try_emplace(std::move(name), &input);
            if (is_new) continue;
            return fail(Errc::link_failed,
                        fmt::format("Both '{}' and '{}' define {}.", known->second->name,
                                    input.name, with_readable_symbols("'" + known->first + "'")));
        }
    }
    return {};
}

}  // namespace

Status check_inputs(std::span<const LinkInput> inputs, const Arch& target) {
    if (inputs.empty()) return fail(Errc::invalid_argument, "Linking needs at least one input.");
    for (const auto& input : inputs) {
        LODE_TRY(check_input_arch(input, target));
    }
    return check_definitions(inputs);
}

Status check_options(const LinkOptions& options) {
    constexpr int most_registers = 255;
    if (options.max_registers < 0 || options.max_registers > most_registers) {
        return fail(Errc::invalid_argument,
                    fmt::format("LinkOptions::max_registers ({}) is outside the range 0 to {}.",
                                options.max_registers, most_registers));
    }
    if (options.split_compile < 0) {
        return fail(Errc::invalid_argument,
                    fmt::format("LinkOptions::split_compile ({}) must not be negative.",
                                options.split_compile));
    }
    return {};
}

std::string explain(std::string_view log) {
    const auto list = [](std::vector<std::string> names) {
        for (auto& name : names)
            name = with_readable_symbols(fmt::format("'{}'", name));
        return listed(names);
    };
    auto undefined = names_after(log, "Undefined reference to");
    std::ranges::move(names_after(log, "Unresolved extern"), std::back_inserter(undefined));
    if (!undefined.empty()) return fmt::format(" No input defines {}.", list(undefined));
    const auto twice = names_after(log, "Linking globals named");
    if (!twice.empty()) return fmt::format(" Several inputs define {}.", list(twice));
    return {};
}

void describe(const LinkInput& input, Image& linked) {
    linked.name += (linked.name.empty() ? "" : " + ") + input.name;
    linked.lowered_names.insert(input.lowered_names.begin(), input.lowered_names.end());
    linked.kernels.insert(linked.kernels.end(), input.kernels.begin(), input.kernels.end());
}

std::vector<std::byte> terminated(const LinkInput& input) {
    std::vector<std::byte> bytes = input.bytes;
    if (input.kind == LinkInput::Kind::ptx) bytes.push_back(std::byte{0});
    return bytes;
}

}  // namespace LODE_NAMESPACE::link
