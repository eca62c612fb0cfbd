// A small writer of PNG files: grey pixels of 8 bits, without compression.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

/// `value` as bytes, the highest first.
inline std::string big_endian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
}

/// A chunk: length, type, data and the checksum of both (CRC-32).
inline std::string png_chunk(const std::string& type, const std::string& data) {
    std::uint32_t crc = 0xffffffffU;
    for (const char character : type + data) {
        crc ^= static_cast<unsigned char>(character);
        for (int bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
    }
    return big_endian(static_cast<std::uint32_t>(data.size())) + type + data + big_endian(~crc);
}

/// A zlib stream of stored blocks, with its checksum (Adler-32).
inline std::string stored(const std::string& data) {
    constexpr std::size_t largest = 65535;
    std::string stream = "\x78\x01";
    for (std::size_t start = 0; start < data.size(); start += largest) {
        const std::size_t size = std::min(largest, data.size() - start);
        stream += static_cast<char>(start + size == data.size());  // The last block.
        for (const std::size_t number : {size, ~size}) {
            stream += static_cast<char>(number & 0xff);
            stream += static_cast<char>(number >> 8 & 0xff);
        }
        stream += data.substr(start, size);
    }
    std::uint32_t a = 1, b = 0;
    for (const char character : data) {
        a = (a + static_cast<unsigned char>(character)) % 65521;
        b = (b + a) % 65521;
    }
    return stream + big_endian(b << 16 | a);
}

/// Writes pixels from 0 (black) to 1 (white), row by row.
inline void write_png(const std::filesystem::path& path, std::span<const float> pixels,
                      std::uint32_t width, std::uint32_t height) {
    std::string rows;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        if (i % width == 0) rows += '\0';  // No filter in this row.
        rows += static_cast<char>(std::lround(std::clamp(pixels[i], 0.0F, 1.0F) * 255));
    }
    const std::string format{8, 0, 0, 0, 0};  // Bits per pixel, grey.
    std::ofstream file(path, std::ios::binary);
    file << "\x89PNG\r\n\x1a\n"
         << png_chunk("IHDR", big_endian(width) + big_endian(height) + format)
         << png_chunk("IDAT", stored(rows)) << png_chunk("IEND", "");
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.flush();
}
