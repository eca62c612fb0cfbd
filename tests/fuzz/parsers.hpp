// The parsers under fuzzing, each as one function that takes any bytes.
//
// A parser that accepts bytes, and returns true, has understood them: what it gives formats to
// bytes that parse to the same again, or the fuzzer stops.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace lode::fuzz {

using Bytes = std::span<const std::byte>;

/// Entry files as they are: mostly about headers, tables and seals.
bool entry(Bytes bytes);
/// The sections of an entry, under seals that are right: about what is inside.
bool entry_sections(Bytes bytes);
bool manifest(Bytes bytes);
bool manifest_sections(Bytes bytes);
bool toolchain_sections(Bytes bytes);
bool pack_sections(Bytes bytes);
bool key_text(Bytes bytes);
bool include_scan(Bytes bytes);

/// One row per parser; the name is its corpus folder.
struct Parser {
    std::string_view name;
    bool (*parse)(Bytes);
};

inline constexpr Parser parsers[] = {
    {"entry", entry},
    {"entry_sections", entry_sections},
    {"manifest", manifest},
    {"manifest_sections", manifest_sections},
    {"toolchain_sections", toolchain_sections},
    {"pack_sections", pack_sections},
    {"key_text", key_text},
    {"include_scan", include_scan},
};

}  // namespace lode::fuzz
