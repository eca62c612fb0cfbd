// Fat binaries made by hand, with the headers that CUDA 13.0's fatbinary writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lode::test {

inline constexpr std::uint16_t fat_ptx = 1;
inline constexpr std::uint16_t fat_cubin = 2;

template <class Number>
void append_number(std::string& bytes, Number value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// One uncompressed part for an architecture, such as 90.
inline std::string fat_part(std::uint16_t kind, std::uint32_t sm, const std::string& content) {
    constexpr std::uint32_t header = 64;
    constexpr std::size_t word = 8;
    std::string padded = content;
    padded.resize((padded.size() + word) / word * word);  // At least one NUL.
    std::string bytes;
    append_number<std::uint16_t>(bytes, kind);
    append_number<std::uint16_t>(bytes, 0x0101);
    append_number<std::uint32_t>(bytes, header);
    append_number<std::uint64_t>(bytes, padded.size());
    bytes.resize(bytes.size() + 3 * sizeof(std::uint32_t));  // Compression, options, version.
    append_number<std::uint32_t>(bytes, sm);
    bytes.resize(header);
    return bytes + padded;
}

inline std::string fat_binary(const std::vector<std::string>& parts) {
    std::string all;
    for (const auto& part : parts)
        all += part;
    std::string bytes;
    append_number<std::uint32_t>(bytes, 0xba55ed50);
    append_number<std::uint16_t>(bytes, 1);
    append_number<std::uint16_t>(bytes, 16);
    append_number<std::uint64_t>(bytes, all.size());
    return bytes + all;
}

/// What the toolkit's fatbinary_section.h declares.
struct FatWrapper {
    int magic = 0x466243b1;
    int version = 1;
    const void* data = nullptr;
    void* name = nullptr;
};

}  // namespace lode::test
