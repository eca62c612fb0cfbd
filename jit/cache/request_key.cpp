#include "jit/cache/request_key.hpp"

#include "base/foreign_environment.hpp"
#include "base/try.hpp"
#include "jit/cache/link_key.hpp"
#include "jit/compile_ir.hpp"
#include "jit/compile_ptx.hpp"
#include "jit/headers/other_inputs.hpp"
#include "jit/headers/search_folders.hpp"
#include "jit/request/options_fields.hpp"
#include "jit/request/shims.hpp"
#include "jit/request/text_words.hpp"
#include "jit/store/entry_format.hpp"
#include "jit/store/sealed_file.hpp"
#include "jit/translation_unit.hpp"

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

/// Flags whose effect isn't a function of the key: they read a file that no header list shows, or
/// write one. Without leading dashes; a prefix covers the flag with and without a value.
constexpr std::string_view opaque_flags[] = {"pch",  "create-pch",   "use-pch",
                                             "optf", "options-file", "time"};

/// The digest of lode's own headers for kernel source, which change between versions.
const std::string& shims_digest() {
    // Never destroyed: other threads may use it while the process ends.
    static const auto& digest = *new std::string([] {
        Hasher hasher;
        for (const auto& shim : shims())
            hasher.field(shim.name).field(shim.text);
        return hasher.finish().to_hex();
    }());
    return digest;
}

/// Adds what has no flag to the key; a visitor of each_field().
struct FlaglessWriter {
    KeyWriter& key;

    void operator()(const char* /*name*/, const auto& /*value*/, Flag) const {}
    void operator()(const char* /*name*/, const auto& /*value*/, OwnFlags) const {}
    void operator()(std::string_view name, std::same_as<bool> auto value, NoFlag) const {
        if (name == "source_files") return;  // prepare() adds the files' names.
        key.field(name, value ? "yes" : "no");
        if (name == "toolkit_headers" && value) key.field("shims", shims_digest());
    }
    void operator()(const char* /*name*/, const std::vector<Header>& headers, NoFlag) const {
        for (const auto& header : headers) {
            key.field("header.name", header.name);
            key.field("header.sha256", sha256(header.text).to_hex());
        }
    }
};

/// Other languages have no headers and no macros, and nvJitLink makes their machine code.
bool is_cuda(const CompileRequest& request) noexcept {
    return request.source.language() == Source::Language::cuda;
}

/// All flags that decide the result, without include folders.
Result<std::vector<std::string>> flags_of(const CompileRequest& request) {
    if (is_cuda(request)) {
        CompileOptions canonical = request.options;
        canonical.include_folders.clear();
        return compile_flags(canonical);
    }
    if (request.source.language() == Source::Language::ptx) {
        LODE_TRY_ASSIGN(const LinkOptions options, ptx_options(request));
        return nvjitlink::flags_of({}, request.arch, options);
    }
    LODE_TRY_ASSIGN(IrFlags flags, ir_flags(request));
    std::ranges::move(nvjitlink::flags_of({}, request.arch, flags.link),
                      std::back_inserter(flags.compiler));
    return std::move(flags.compiler);
}

}  // namespace

Result<Key> request_key(const CompileRequest& request, const KnownCompiler& compiler,
                        const SearchFolders& folders) {
    LODE_TRY_ASSIGN(const auto flags, flags_of(request));

    KeyWriter key;
    key.field("format", format_version).field("lode", LODE_VERSION);
    key.field("compiler", compiler.info().name());
    key.field("compiler.sha256", compiler.digest);
    key.field("arch", request.arch.to_string());
    key.field("output", request.options.lto                  ? lto_ir_output
                        : request.options.optix_ir           ? optix_ir_output
                        : request.options.tile == Tile::only ? tile_ir_output
                        : request.arch.is_real()             ? "cubin+ptx"
                                                             : "ptx");
    // The symbols of anonymous namespaces contain the last part of the name.
    key.field("source.name", std::filesystem::path(request.source.name()).filename().string());
    // Code in memory has no folder in which quoted includes are searched.
    key.field("source.kind", request.source.folder().empty() ? "memory" : "file");
    key.field("source.size", request.source.code().size());
    key.field("source.sha256", sha256(request.source.code()).to_hex());
    for (const auto& flag : flags)
        key.field("flag", flag);
    key.field("int128", "yes");
    each_field(request.options, FlaglessWriter{key});
    auto names = request.name_expressions;
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const auto& name : names)
        key.field("name_expression", name);
    // The folders' contents enter with the headers; their number and layout decide what a header
    // list stands for.
    key.field("include_folders", folders.include.size());
    key.field("toolkit_folders", folders.toolkit.size());
    key.field("folder_layout", folder_layout(folders, request.options));
    for (const auto name : key_variables()) {
        if (const auto value = foreign_environment(name)) {
            key.field("variable", fmt::format("{}={}", name, *value));
        }
    }
    if (!is_cuda(request)) {
        key.field("language", to_string(request.source.language()));
        for (const auto name : link_variables()) {
            if (const auto value = foreign_environment(name))
                key.field("variable", fmt::format("{}={}", name, *value));
        }
    }
    return key.finish();
}

Key entry_key(const Key& request, const Digest& header_list) {
    KeyWriter key(request.text);
    key.field("headers.sha256", header_list.to_hex());
    return key.finish();
}

std::string uncacheable_reason(const CompileRequest& request) {
    // Only NVRTC is given such flags.
    if (!is_cuda(request)) return {};
    for (const auto& flag : request.options.extra_flags) {
        std::string_view name = flag;
        name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
        if (std::ranges::any_of(opaque_flags,
                                [&](auto prefix) { return name.starts_with(prefix); })) {
            return fmt::format("the flag {} has effects that the cache's key doesn't cover", flag);
        }
    }
    if (mentions_time(request)) return std::string(time_obstacle);
    return {};
}

}  // namespace LODE_NAMESPACE::cache
