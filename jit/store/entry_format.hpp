// One entry of the cache: an Image with everything needed to trust it, as bytes.
//
// A sealed file (sealed_file.hpp) of kind entry with the sections
//
//   1 key         the full key text
//   2 headers     the header list whose digest the key text holds
//   3 properties  name, arch, compiler, milliseconds that the compilation took
//   4 cubin       machine code, as the compiler gave it
//   5 ptx         PTX, as the compiler gave it
//   6 symbols     lowered names, kernel signatures, resource reports
//   7 messages    the log and the parsed diagnostics
//   8 LTO-IR      as the compiler gave it; empty unless the key's output is lto-ir
//   9 Tile IR     as the compiler gave it; empty unless tile kernels were asked for
//   10 answer     the answer to a call by a program; only where the key's output is nvrtc
//   11 OptiX IR   as the compiler gave it; only where the key's output is optix-ir
#pragma once

#include "jit/request/bytes.hpp"
#include "jit/request/nvrtc_call.hpp"
#include "jit/store/key.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE::cache {

/// The key field "output" of a compilation to LTO-IR.
inline constexpr std::string_view lto_ir_output = "lto-ir";
/// That of a compilation of tile kernels alone.
inline constexpr std::string_view tile_ir_output = "tile-ir";
/// That of a compilation to OptiX IR.
inline constexpr std::string_view optix_ir_output = "optix-ir";
/// That of a call by a program (nvrtc_call.hpp): the answer has all outputs.
inline constexpr std::string_view answer_output = "nvrtc";

/// The contents of an entry file.
struct Entry {
    std::string key_text;
    std::string header_list;  ///< For display; empty after parse_entry_for.
    double compile_ms = 0;    ///< The time that a hit saves.
    Image image;              ///< Without code where there is an answer.
    std::optional<NvrtcAnswer> answer = std::nullopt;

    friend bool operator==(const Entry&, const Entry&) = default;
};

/// Serialises an entry. The same entry always gives the same bytes.
Bytes format_entry(const Entry& entry);

/// Reads an entry and verifies that it is consistent: checksums, and the key text's header digest,
/// arch and compiler against the contents. Accepts any bytes; fuzzed. Errors: invalid_image, with
/// the reason.
[[nodiscard]] Result<Entry> parse_entry(std::span<const std::byte> bytes);

/// Reads what a hit needs, without the header list, and verifies that the key text equals that of
/// `key` and that every byte matches its checksum. Errors: as parse_entry.
[[nodiscard]] Result<Entry> parse_entry_for(std::span<const std::byte> bytes, const Key& key);

}  // namespace LODE_NAMESPACE::cache
