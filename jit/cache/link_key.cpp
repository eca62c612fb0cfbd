#include "jit/cache/link_key.hpp"

#include "base/foreign_environment.hpp"
#include "jit/cache/request_key.hpp"
#include "jit/headers/other_inputs.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/request/link_call.hpp"
#include "jit/store/sealed_file.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::string_view variables_of_links[] = {
    "AS_SECURE_LOG_FILE",     "LIBNVVM_DISABLE_CONCURRENT_API", "LIBNVVM_NVVM_VERSION",
    "LLVM_OVERRIDE_PRODUCER", "NVJITLINK_TRACE_MESSAGES",       "NV_NVVM_VERSION"};

/// The digest of an input's names and signatures, which the result repeats.
Digest digest_of_properties(const LinkInput& input) {
    Hasher hasher;
    for (const auto& [expression, symbol] : input.lowered_names)
        hasher.field(expression).field(symbol);
    hasher.field(std::uint64_t{input.kernels.size()});
    for (const auto& kernel : input.kernels) {
        hasher.field(kernel.kernel).field(std::uint64_t{kernel.parameters.size()});
        for (const auto& parameter : kernel.parameters) {
            hasher.field(static_cast<std::uint64_t>(parameter.kind))
                .field(std::uint64_t{parameter.offset})
                .field(std::uint64_t{parameter.size})
                .field(std::uint64_t{parameter.align});
        }
    }
    return hasher.finish();
}

}  // namespace

Key link_key(const LinkerInfo& linker, std::span<const LinkInput> inputs, const Arch& target,
             const LinkOptions& options) {
    KeyWriter key;
    key.field("format", format_version).field("lode", LODE_VERSION);
    key.field("compiler", linker.name());
    key.field("linker.build", linker.build);
    key.field("arch", target.to_string());
    key.field("output", target.is_real() ? "cubin" : "ptx");
    if (options.keep_lto_ir) key.field("output", "lto-ir");
    for (const auto& input : inputs) {
        key.field("input.name", input.name);
        key.field("input.kind", to_string(input.kind));
        key.field("input.arch", input.arch ? input.arch->to_string() : "");
        key.field("input.sha256", sha256(input.bytes).to_hex());
        key.field("input.properties", digest_of_properties(input).to_hex());
    }
    for (const auto& flag : nvjitlink::flags_of(inputs, target, options))
        key.field("flag", flag);
    const auto add_variable = [&](std::string_view name) {
        if (const auto value = foreign_environment(name))
            key.field("variable", fmt::format("{}={}", name, *value));
    };
    std::ranges::for_each(key_variables(), add_variable);
    std::ranges::for_each(link_variables(), add_variable);
    return entry_key(key.finish(), sha256(""));
}

std::span<const std::string_view> link_variables() noexcept {
    return variables_of_links;
}

std::string uncacheable_link_reason(const LinkOptions& options) {
    for (const std::string_view flag : options.extra_flags) {
        if (is_opaque_link_flag(flag))
            return fmt::format("the flag {} has effects that the cache's key doesn't cover", flag);
    }
    return {};
}

}  // namespace LODE_NAMESPACE::cache
