/// \file
/// Loading a file with device code of any format.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/library.hpp>

#include <filesystem>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Loads a PTX, cubin or fatbin file, whose format is recognised by its content; of a fat binary,
/// the image that suits the device best (choose_image). The software device loads PTX only. Blocks.
///
/// Errors: those of images_of_file(); unsupported_arch if the device can run none of the images,
/// with the reason for each; those of Device::load().
[[nodiscard]] Result<Library> load_file(const Device& device, const std::filesystem::path& path,
                                        const LoadOptions& options = {});

}  // namespace LODE_NAMESPACE

LODE_API_END
