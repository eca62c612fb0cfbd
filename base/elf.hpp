// The parts of the ELF format that lode reads of device code, which has it on every system.
#pragma once

#include <lode/base/api.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace LODE_NAMESPACE::elf {

inline constexpr std::string_view magic = "\177ELF";
inline constexpr std::uint16_t machine_cuda = 190;     ///< Header::machine
inline constexpr std::uint32_t symbol_table = 2;       ///< Section::type
inline constexpr std::uint16_t undefined_section = 0;  ///< Symbol::section
inline constexpr unsigned global_binding = 1;          ///< Symbol::binding()
inline constexpr unsigned function_type = 2;           ///< Symbol::type()

struct Header {
    std::array<unsigned char, 16> ident;
    std::uint16_t type;
    std::uint16_t machine;
    std::uint32_t version;
    std::uint64_t entry;
    std::uint64_t segments_at;
    std::uint64_t sections_at;
    std::uint32_t flags;
    std::uint16_t header_bytes;
    std::uint16_t segment_bytes;
    std::uint16_t segments;
    std::uint16_t section_bytes;
    std::uint16_t sections;
    std::uint16_t names_section;

    [[nodiscard]] unsigned abi_version() const noexcept { return ident[8]; }
    /// Whether it begins a cubin.
    [[nodiscard]] bool is_cubin() const noexcept {
        constexpr unsigned char class_64 = 2;
        const std::string_view text(reinterpret_cast<const char*>(ident.data()), magic.size());
        return text == magic && ident[magic.size()] == class_64 && machine == machine_cuda;
    }
};

struct Section {
    std::uint32_t name;
    std::uint32_t type;
    std::uint64_t flags;
    std::uint64_t address;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint32_t link;
    std::uint32_t info;
    std::uint64_t align;
    std::uint64_t entry_bytes;
};

struct Symbol {
    std::uint32_t name;
    std::uint8_t info;
    std::uint8_t other;
    std::uint16_t section;
    std::uint64_t value;
    std::uint64_t bytes;

    [[nodiscard]] unsigned binding() const noexcept { return info >> 4U; }
    [[nodiscard]] unsigned type() const noexcept { return info & 15U; }
};

static_assert(sizeof(Header) == 64 && sizeof(Section) == 64 && sizeof(Symbol) == 24);

}  // namespace LODE_NAMESPACE::elf
