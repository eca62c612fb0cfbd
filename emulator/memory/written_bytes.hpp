// WrittenBytes: which bytes of the address space somebody has written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lode::emulator {

/// A bit for each byte of a range of addresses; at first nothing is written. Addresses outside of
/// the range count as written and marks there do nothing. The system gives memory only to the parts
/// that are marked. Thread-safe: kernels mark and ask at the same time.
class WrittenBytes {
public:
    /// nullptr when the system has no address space for the account.
    static std::unique_ptr<WrittenBytes> over(std::uint64_t address, std::size_t bytes);
    ~WrittenBytes();
    WrittenBytes(const WrittenBytes&) = delete;
    WrittenBytes& operator=(const WrittenBytes&) = delete;

    void mark(std::uint64_t address, std::size_t bytes) noexcept;
    void unmark(std::uint64_t address, std::size_t bytes) noexcept;
    /// The bytes at `to` become as written as those at `from`; the ranges may overlap.
    void copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept;

    [[nodiscard]] bool written(std::uint64_t address) const noexcept;
    /// How many of the bytes nobody has written.
    [[nodiscard]] std::size_t unwritten(std::uint64_t address, std::size_t bytes) const noexcept;

private:
    WrittenBytes(std::uint64_t first, std::size_t bytes, std::uint64_t* words) noexcept
        : first_(first), bytes_(bytes), words_(words) {}

    /// Clips a range to the account's and calls f(word, its bits) for each word of it.
    template <class F>
    void each_word(std::uint64_t address, std::size_t bytes, F&& f) const noexcept;

    std::uint64_t first_;
    std::size_t bytes_;
    std::uint64_t* words_;  ///< Bit k of word w is byte 64 * w + k.
};

}  // namespace lode::emulator
