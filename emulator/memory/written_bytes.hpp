// WrittenBytes: which bytes of the address space have been written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace lode::emulator {

/// One bit per byte of a range of addresses; all bytes start unwritten. Addresses outside the range
/// count as written, and marking them does nothing. The system only commits memory for the parts
/// that are marked. Thread-safe: kernels may mark and query concurrently.
class WrittenBytes {
public:
    /// nullptr when there is no address space for the map.
    static std::unique_ptr<WrittenBytes> over(std::uint64_t address, std::size_t bytes);
    ~WrittenBytes();
    WrittenBytes(const WrittenBytes&) = delete;
    WrittenBytes& operator=(const WrittenBytes&) = delete;

    void mark(std::uint64_t address, std::size_t bytes) noexcept;
    void unmark(std::uint64_t address, std::size_t bytes) noexcept;
    /// Copies the state of the bytes at `from` to those at `to`; the ranges may overlap.
    void copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept;

    [[nodiscard]] bool written(std::uint64_t address) const noexcept;
    /// Whether all bytes are written.
    [[nodiscard]] bool all_written(std::uint64_t address, std::size_t bytes) const noexcept {
        std::uint64_t at = address - first_;
        if (at >= bytes_ || bytes > bytes_ - at) return unwritten(address, bytes) == 0;
        std::uint64_t missing = 0;
        for (const std::uint64_t end = at + bytes; at < end;) {
            const std::uint64_t next = std::min(end, at / 64 * 64 + 64);
            const std::uint64_t bits = (~std::uint64_t{0} >> (64 - (next - at))) << at % 64;
            missing |= ~__atomic_load_n(words_ + at / 64, __ATOMIC_RELAXED) & bits;
            at = next;
        }
        return missing == 0;
    }
    /// The number of unwritten bytes.
    [[nodiscard]] std::size_t unwritten(std::uint64_t address, std::size_t bytes) const noexcept;

private:
    WrittenBytes(std::uint64_t first, std::size_t bytes, std::uint64_t* words) noexcept
        : first_(first), bytes_(bytes), words_(words) {}

    /// Clips a range to the covered range and calls f(word, its bits) for each word of the map.
    template <class F>
    void each_word(std::uint64_t address, std::size_t bytes, F&& f) const noexcept;

    std::uint64_t first_;
    std::size_t bytes_;
    std::uint64_t* words_;  ///< Bit k of word w is byte 64 * w + k.
};

}  // namespace lode::emulator
