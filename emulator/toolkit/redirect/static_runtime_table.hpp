// The table of NVIDIA's static runtime libraries, which scripts/static_runtime_table makes:
// static_runtimes.bin beside the stand-ins.
#pragma once

#include "emulator/toolkit/redirect/elf_file.hpp"

#include <cstddef>
#include <cstdint>

namespace lode::emulator::redirect {

/// A release: the .text section of its libcudart_static.
struct RuntimeRow {
    std::uint32_t version;
    std::uint32_t bytes;
    std::uint32_t window_at;  ///< In the section: 32 bytes that occur once.
    std::uint32_t functions_at;
    std::uint32_t function_count;
    std::uint32_t mask_at;
    std::uint32_t mask_bytes;
    std::uint32_t unused;
    std::uint64_t window_hash;
    unsigned char digest[32];  ///< SHA-256 of the section with zeros for the masked bytes.
};

/// Where a public function begins.
struct FunctionRow {
    std::uint16_t name;
    std::uint16_t sixteenth;  ///< Its offset in the section, divided by 16.
};

class RuntimeTable {
public:
    explicit RuntimeTable(const char* folder) noexcept;

    /// Calls `found(row, address)` for each place in the object's code that is a release's section.
    template <class Found>
    void find_in(const ElfFile& object, Found&& found) const noexcept {
        for (const Elf64_Phdr& segment : object) {
            if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
            const unsigned char* code = object.code(segment.p_vaddr, segment.p_filesz);
            if (code == nullptr) continue;
            std::uint64_t at = (step - segment.p_vaddr % step) % step;
            for (; at + window <= segment.p_filesz; at += step) {
                const std::uint64_t hash = hash_of(code + at);
                for (const RuntimeRow& row : *this) {
                    if (row.window_hash != hash || at < row.window_at) continue;
                    const std::uint64_t start = at - row.window_at;
                    if (row.bytes <= segment.p_filesz - start && is_section(row, code + start))
                        found(row, segment.p_vaddr + start);
                }
            }
        }
    }

    [[nodiscard]] const FunctionRow* functions(const RuntimeRow& row) const noexcept {
        return file_.at<FunctionRow>(row.functions_at, row.function_count);
    }
    /// The text of a number in a row; empty if there is none.
    [[nodiscard]] const char* name(std::size_t number) const noexcept;

private:
    static constexpr std::size_t window = 32;
    static constexpr std::size_t step = 16;  ///< The alignment of the section.

    [[nodiscard]] const RuntimeRow* begin() const noexcept { return rows_; }
    [[nodiscard]] const RuntimeRow* end() const noexcept { return rows_ + row_count_; }

    static std::uint64_t hash_of(const unsigned char* bytes) noexcept;
    [[nodiscard]] bool is_section(const RuntimeRow& row, const unsigned char* code) const noexcept;

    MappedFile file_;
    const RuntimeRow* rows_ = nullptr;
    std::size_t row_count_ = 0;
    const char* names_ = nullptr;
    std::size_t name_count_ = 0;
};

}  // namespace lode::emulator::redirect
