/// \file
/// Reading fat binaries: files with code for several architectures, as made by nvcc -fatbin.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// One part of a fat binary. A plain value; the code stays in the file's bytes.
struct FatbinEntry {
    /// What the part holds.
    enum class Kind : std::uint8_t {
        ptx,     ///< PTX text.
        cubin,   ///< Machine code.
        lto_ir,  ///< LTO-IR.
        other,   ///< Anything else.
    };
    /// How the part is stored.
    enum class Compression : std::uint8_t {
        none,  ///< As it is.
        lz4,   ///< nvcc --compress-mode=speed, and releases before 12.4.
        zstd,  ///< The others.
    };

    Kind kind = Kind::other;                      ///< What the part holds.
    Arch arch = {};                               ///< Its target; virtual for PTX.
    Compression compression = Compression::none;  ///< How it is stored.
    std::size_t stored_bytes = 0;                 ///< Its size in the file.
    std::size_t plain_bytes = 0;                  ///< Its size when decompressed.
    std::size_t offset = 0;                       ///< Where it is in the file, in bytes.
};

/// "PTX", "machine code", "LTO-IR", "other".
std::string_view to_string(FatbinEntry::Kind kind) noexcept;
/// "none", "LZ4", "zstd".
std::string_view to_string(FatbinEntry::Compression compression) noexcept;

/// Whether images_of_fatbin() gives an image for the part: PTX and machine code.
[[nodiscard]] bool has_image(const FatbinEntry& entry) noexcept;

/// Whether bytes begin as a fat binary.
[[nodiscard]] bool is_fatbin(std::span<const std::byte> bytes) noexcept;

/// The parts of a fat binary, in the file's order; `name` is for messages. Accepts any bytes.
/// Errors: invalid_image for bytes that aren't a complete fat binary.
[[nodiscard]] Result<std::vector<FatbinEntry>> fatbin_entries(std::span<const std::byte> bytes,
                                                              std::string_view name);

/// One image per PTX text and cubin of a fat binary, decompressed. choose_image() finds the one for
/// a device, and Device::load() loads it; the software device runs those with PTX. Other parts are
/// left out. Errors: those of fatbin_entries(); invalid_image for a part that can't be
/// decompressed or isn't what its entry says.
[[nodiscard]] Result<std::vector<Image>> images_of_fatbin(std::span<const std::byte> bytes,
                                                          const std::string& name);

/// The same for the PTX texts alone; other parts aren't examined.
[[nodiscard]] Result<std::vector<Image>> ptx_of_fatbin(std::span<const std::byte> bytes,
                                                       const std::string& name);

/// The image with the newest PTX that runs on a device; nullptr if there is none.
[[nodiscard]] const Image* newest_ptx_for(std::span<const Image> images,
                                          ComputeCapability device) noexcept;

}  // namespace LODE_NAMESPACE

LODE_API_END
