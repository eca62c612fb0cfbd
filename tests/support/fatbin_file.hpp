// Fat binaries without compression, made by hand.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

namespace lode::test {

/// A part without compression, as fatbinary writes it.
inline void append_part(std::vector<std::byte>& file, unsigned short kind, unsigned sm,
                        unsigned long long flags, std::string_view payload) {
    constexpr std::size_t header_bytes = 64;
    const std::size_t begin = file.size();
    file.resize(begin + header_bytes + payload.size());
    const auto put = [&](std::size_t at, auto value) {
        std::memcpy(file.data() + begin + at, &value, sizeof(value));
    };
    put(0, kind);
    put(2, static_cast<unsigned short>(0x101));
    put(4, static_cast<unsigned>(header_bytes));
    put(8, static_cast<unsigned long long>(payload.size()));
    put(28, sm);
    put(40, flags);
    std::memcpy(file.data() + begin + header_bytes, payload.data(), payload.size());
}

/// A fat binary of the parts that append(file) appends.
inline std::vector<std::byte> file_of_parts(auto&& append) {
    constexpr std::size_t header_bytes = 16;
    std::vector<std::byte> file(header_bytes);
    append(file);
    const unsigned magic = 0xba55ed50;
    const unsigned short numbers[] = {1, header_bytes};
    const unsigned long long size = file.size() - header_bytes;
    std::memcpy(file.data(), &magic, sizeof(magic));
    std::memcpy(file.data() + 4, numbers, sizeof(numbers));
    std::memcpy(file.data() + 8, &size, sizeof(size));
    return file;
}

}  // namespace lode::test
