#include "base/cubin.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <elf.h>

namespace LODE_NAMESPACE {
namespace {

/// A struct at an offset; nullopt if it doesn't lie within the bytes.
template <class Struct>
std::optional<Struct> struct_at(std::span<const std::byte> bytes, std::uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(Struct)) return std::nullopt;
    Struct value;
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
}

/// The bytes of a section; empty if it doesn't lie within the file.
std::span<const std::byte> section_bytes(std::span<const std::byte> file,
                                         const Elf64_Shdr& section) {
    if (section.sh_offset > file.size() || section.sh_size > file.size() - section.sh_offset)
        return {};
    return file.subspan(section.sh_offset, section.sh_size);
}

std::string_view text_at(std::span<const std::byte> strings, std::uint64_t offset) {
    if (offset >= strings.size()) return {};
    const auto rest = strings.subspan(offset);
    const auto end = std::ranges::find(rest, std::byte{0});
    return {reinterpret_cast<const char*>(rest.data()),
            static_cast<std::size_t>(end - rest.begin())};
}

/// Calls visit(symbol, name) for every symbol of a cubin that is defined and has a name.
template <class Visit>
void for_each_symbol(std::span<const std::byte> cubin, Visit&& visit) {
    const auto header = struct_at<Elf64_Ehdr>(cubin, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_CUDA)
        return;
    const auto section_at = [&](std::uint64_t index) {
        return struct_at<Elf64_Shdr>(cubin, header->e_shoff + index * sizeof(Elf64_Shdr));
    };
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
        const auto section = section_at(i);
        if (!section || section->sh_type != SHT_SYMTAB) continue;
        const auto strings_section = section_at(section->sh_link);
        if (!strings_section) continue;
        const auto strings = section_bytes(cubin, *strings_section);
        const auto symbols = section_bytes(cubin, *section);
        for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size();
             at += sizeof(Elf64_Sym)) {
            const auto symbol = *struct_at<Elf64_Sym>(symbols, at);
            const auto name = text_at(strings, symbol.st_name);
            if (symbol.st_shndx != SHN_UNDEF && !name.empty()) visit(symbol, name);
        }
    }
}

}  // namespace

std::vector<std::string> cubin_definitions(std::span<const std::byte> cubin) {
    std::vector<std::string> names;
    for_each_symbol(cubin, [&](const Elf64_Sym& symbol, std::string_view name) {
        if (ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL) names.emplace_back(name);
    });
    return names;
}

std::vector<std::string> cubin_kernels(std::span<const std::byte> cubin) {
    constexpr unsigned char kernel_mark = 0x10;  // In st_other: the host may launch the function.
    std::vector<std::string> names;
    for_each_symbol(cubin, [&](const Elf64_Sym& symbol, std::string_view name) {
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & kernel_mark) != 0)
            names.emplace_back(name);
    });
    return names;
}

}  // namespace LODE_NAMESPACE
