// Where the code of a row comes from: a precompiled file, or a compilation.
#pragma once

#include <lode/base/image.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <optional>

namespace LODE_NAMESPACE::detail {

/// A row's precompiled machine code that runs on the device; nullopt if there is none, or if
/// definitions or options make it another code.
std::optional<Image> precompiled_image(const KernelFamily& family, const VariantRow& row,
                                       ComputeCapability device, const CompileOptions& options);

/// What load() compiles for a row of a family that check_family() accepts.
VariantCompilation compilation_of(const KernelFamily& family, const VariantRow& row,
                                  const CompileOptions& options);

}  // namespace LODE_NAMESPACE::detail
