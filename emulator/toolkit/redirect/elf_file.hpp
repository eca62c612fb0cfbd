// The file of an object that the loader has mapped: its sections and symbols, which aren't all in
// memory.
#pragma once

#include "emulator/toolkit/redirect/freestanding.hpp"

#include <cstddef>
#include <cstdint>

#include <elf.h>
#include <link.h>

namespace lode::emulator::redirect {

/// A file in memory, for reading. Closed with the object.
class MappedFile {
public:
    explicit MappedFile(const char* path) noexcept;
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    /// Elements of the file, or nullptr if it has no room for them or can't be read.
    template <class T>
    [[nodiscard]] const T* at(std::uint64_t offset, std::uint64_t count = 1) const noexcept {
        if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return nullptr;
        return reinterpret_cast<const T*>(start_ + offset);
    }

private:
    const unsigned char* start_ = nullptr;
    std::size_t bytes_ = 0;
};

/// The symbols of one table. Empty if there is none.
struct SymbolTable {
    const Elf64_Sym* first = nullptr;
    std::size_t count = 0;
    const char* names = nullptr;
    std::size_t name_bytes = 0;  ///< The last one is zero.

    [[nodiscard]] const Elf64_Sym* begin() const noexcept { return first; }
    [[nodiscard]] const Elf64_Sym* end() const noexcept { return first + count; }
    [[nodiscard]] const char* name(const Elf64_Sym& symbol) const noexcept {
        return symbol.st_name < name_bytes ? names + symbol.st_name : "";
    }
};

inline bool is_function(const Elf64_Sym& symbol) noexcept {
    return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
}

/// An ELF file for this processor.
class ElfFile {
public:
    explicit ElfFile(const char* path) noexcept;

    /// Whether the loader has mapped this very file as `object`.
    [[nodiscard]] bool is_file_of(const link_map& object) const noexcept;
    /// The table of a type, SHT_SYMTAB or SHT_DYNSYM.
    [[nodiscard]] SymbolTable symbols(std::uint32_t type) const noexcept;
    /// The bytes of a range of addresses that is executed, or nullptr.
    [[nodiscard]] const unsigned char* code(std::uint64_t address,
                                            std::uint64_t bytes) const noexcept;

    [[nodiscard]] const Elf64_Phdr* begin() const noexcept { return segments_; }
    [[nodiscard]] const Elf64_Phdr* end() const noexcept { return segments_ + segment_count_; }

private:
    MappedFile file_;
    const Elf64_Phdr* segments_ = nullptr;
    std::size_t segment_count_ = 0;
    const Elf64_Shdr* sections_ = nullptr;
    std::size_t section_count_ = 0;
};

}  // namespace lode::emulator::redirect
