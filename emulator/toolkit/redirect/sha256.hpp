// SHA-256 (FIPS 180-4) without the C library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lode::emulator::redirect {

class Sha256 {
public:
    static constexpr std::size_t block_bytes = 64;

    /// Adds a block of 64 bytes.
    void add(const unsigned char* block) noexcept {
        std::uint32_t w[64];
        for (std::size_t i = 0; i < 16; ++i)
            w[i] = std::uint32_t{block[4 * i]} << 24U | std::uint32_t{block[4 * i + 1]} << 16U |
                   std::uint32_t{block[4 * i + 2]} << 8U | block[4 * i + 3];
        for (unsigned i = 16; i < 64; ++i) {
            const std::uint32_t a = w[i - 15];
            const std::uint32_t b = w[i - 2];
            w[i] = w[i - 16] + w[i - 7] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3U) +
                   (turned(b, 17) ^ turned(b, 19) ^ b >> 10U);
        }
        std::uint32_t s[8];
        for (unsigned i = 0; i < 8; ++i)
            s[i] = state_[i];
        for (unsigned i = 0; i < 64; ++i) {
            const std::uint32_t e = s[4];
            const std::uint32_t a = s[0];
            const std::uint32_t first = s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                                        ((e & s[5]) ^ (~e & s[6])) + constants[i] + w[i];
            const std::uint32_t second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +
                                         ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
            for (unsigned j = 7; j > 0; --j)
                s[j] = s[j - 1];
            s[4] += first;
            s[0] = first + second;
        }
        for (unsigned i = 0; i < 8; ++i)
            state_[i] += s[i];
        bytes_ += block_bytes;
    }

    /// Adds the last bytes, fewer than 64, and compares the digest.
    [[nodiscard]] bool ends_as(const unsigned char* rest, std::size_t count,
                               const unsigned char* digest) noexcept {
        const std::uint64_t bits = (bytes_ + count) * 8;
        unsigned char block[block_bytes];
        for (std::size_t i = 0; i < block_bytes; ++i)
            block[i] = i < count ? rest[i] : i == count ? 0x80 : 0;
        if (count + 9 > block_bytes) {
            add(block);
            for (unsigned char& byte : block)
                byte = 0;
        }
        for (unsigned i = 0; i < 8; ++i)
            block[block_bytes - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
        add(block);
        for (unsigned i = 0; i < 32; ++i)
            if (digest[i] != static_cast<unsigned char>(state_[i / 4] >> (24 - i % 4 * 8)))
                return false;
        return true;
    }

private:
    static std::uint32_t turned(std::uint32_t value, unsigned bits) noexcept {
        return value >> bits | value << (32 - bits);
    }

    static constexpr std::uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    };
    std::uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::uint64_t bytes_ = 0;
};

}  // namespace lode::emulator::redirect
