// Fat binaries whose parts are NUL-terminated texts, as CUDA 13.0's fatbinary writes them.
#pragma once

#include "tests/support/fatbin_file.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace lode::test {

inline constexpr unsigned short fat_ptx = 1;
inline constexpr unsigned short fat_cubin = 2;

/// One uncompressed part for an architecture, such as 90.
inline std::string fat_part(unsigned short kind, unsigned sm, const std::string& content) {
    constexpr std::size_t word = 8;
    std::string padded = content;
    padded.resize((padded.size() + word) / word * word);  // At least one NUL.
    std::vector<std::byte> part;
    append_part(part, kind, sm, 0, padded);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
}

inline std::string fat_binary(const std::vector<std::string>& parts) {
    const std::vector<std::byte> file = file_of_parts([&](std::vector<std::byte>& to) {
        for (const auto& part : parts)
            for (const char c : part)
                to.push_back(static_cast<std::byte>(c));
    });
    return {reinterpret_cast<const char*>(file.data()), file.size()};
}

/// What the toolkit's fatbinary_section.h declares.
struct FatWrapper {
    int magic = 0x466243b1;
    int version = 1;
    const void* data = nullptr;
    const void* name = nullptr;  ///< In version 2: the fat binaries that nvlink has linked.
};

}  // namespace lode::test
