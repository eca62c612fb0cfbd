/// \file
/// Reading files with device code of any format: PTX, machine code and fat binaries.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// The images in bytes whose format is recognised by how they begin: PTX and a cubin are one image,
/// a fat binary has one for each PTX text and cubin in it. Device::load() loads an image,
/// choose_image() finds the best of several for a device, and load_file() does both. `name` is for
/// messages and becomes part of Image::name.
///
/// Errors: invalid_image for an unknown or damaged format, for a fat binary with neither PTX nor
/// machine code, and for LTO-IR, host objects and archives, which need Linker first.
[[nodiscard]] Result<std::vector<Image>> images_of_bytes(std::span<const std::byte> bytes,
                                                         const std::string& name);

/// The same for a whole file. Errors also: not_found; file_failed.
[[nodiscard]] Result<std::vector<Image>> images_of_file(const std::filesystem::path& path);

}  // namespace LODE_NAMESPACE

LODE_API_END
