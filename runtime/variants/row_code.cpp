#include "runtime/variants/row_code.hpp"

#include "base/try.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// "reduce_sm80.sm_80.cubin" belongs to "reduce_sm80.cu" and holds sm_80 code.
std::optional<Arch> precompiled_arch(std::string_view file, std::string_view source) {
    constexpr std::string_view extension = ".cubin";
    const auto stem = source.substr(0, source.rfind('.'));
    if (!file.starts_with(stem) || !file.ends_with(extension)) return std::nullopt;
    file.remove_prefix(stem.size());
    file.remove_suffix(extension.size());
    if (!file.starts_with('.')) return std::nullopt;
    const auto arch = Arch::parse(file.substr(1));
    return arch ? std::optional(*arch) : std::nullopt;
}

}  // namespace

std::optional<Image> detail::precompiled_image(const KernelFamily& family, const VariantRow& row,
                                               ComputeCapability device,
                                               const CompileOptions& options) {
    if (!row.definitions.empty() || options != CompileOptions{}) return std::nullopt;
    std::vector<const EmbeddedFile*> files;
    std::vector<ImageProperties> properties;
    for (const auto& file : family.files) {
        const auto arch = precompiled_arch(file.name, row.source);
        if (!arch || arch->suffix() != row.needs.arch.suffix()) continue;
        files.push_back(&file);
        properties.push_back({.name = std::string(file.name), .arch = *arch, .has_cubin = true});
    }
    if (files.empty()) return std::nullopt;
    const auto choice = choose_image(device, properties);
    if (!choice) return std::nullopt;
    const auto& content = files[choice->index]->content;
    const auto bytes = std::as_bytes(std::span(content.data(), content.size()));
    auto image =
        Image::from_cubin(bytes, properties[choice->index].name, properties[choice->index].arch);
    return image ? std::optional(*std::move(image)) : std::nullopt;
}

VariantCompilation detail::compilation_of(const KernelFamily& family, const VariantRow& row,
                                          const CompileOptions& options) {
    const auto* const file = family.file(row.source);
    VariantCompilation compilation{row.name, Source::text(std::string(file->content), row.source),
                                   options, name_expressions_for(row.kernel), row.suffix()};
    auto& definitions = compilation.options.definitions;
    definitions.insert(definitions.end(), row.definitions.begin(), row.definitions.end());
    for (const auto& header : family.files) {
        if (header.name.ends_with(".cuh"))
            compilation.options.headers.push_back(
                {std::string(header.name), std::string(header.content)});
    }
    return compilation;
}

Result<std::vector<VariantCompilation>> compilations_of(const KernelFamily& family,
                                                        const VariantDeviceProperties& properties,
                                                        const CompileOptions& options,
                                                        std::span<const std::string> rows) {
    LODE_TRY(check_family(family));
    for (const auto& name : rows) {
        if (family.row(name) != nullptr) continue;
        return fail(Errc::not_found,
                    fmt::format("Kernel family '{}' has no row '{}'.", family.name, name));
    }
    std::vector<VariantCompilation> compilations;
    for (const auto& row : family.rows) {
        const bool is_named = std::ranges::find(rows, row.name) != rows.end();
        if (!is_named && (!rows.empty() || !row.caveat.empty())) continue;
        if (refusal_of(row, properties)) continue;
        if (detail::precompiled_image(family, row, properties.cc, options)) continue;
        compilations.push_back(detail::compilation_of(family, row, options));
    }
    return compilations;
}

}  // namespace LODE_NAMESPACE
