#include "base/cubin.hpp"

#include "base/elf.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

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
                                         const elf::Section& section) {
    if (section.offset > file.size() || section.bytes > file.size() - section.offset) return {};
    return file.subspan(section.offset, section.bytes);
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
    const auto header = struct_at<elf::Header>(cubin, 0);
    if (!header || !header->is_cubin()) return;
    const auto section_at = [&](std::uint64_t index) {
        return struct_at<elf::Section>(cubin, header->sections_at + index * sizeof(elf::Section));
    };
    for (std::uint64_t i = 0; i < header->sections; ++i) {
        const auto section = section_at(i);
        if (!section || section->type != elf::symbol_table) continue;
        const auto strings_section = section_at(section->link);
        if (!strings_section) continue;
        const auto strings = section_bytes(cubin, *strings_section);
        const auto symbols = section_bytes(cubin, *section);
        for (std::uint64_t at = 0; at + sizeof(elf::Symbol) <= symbols.size();
             at += sizeof(elf::Symbol)) {
            const auto symbol = *struct_at<elf::Symbol>(symbols, at);
            const auto name = text_at(strings, symbol.name);
            if (symbol.section != elf::undefined_section && !name.empty()) visit(symbol, name);
        }
    }
}

}  // namespace

std::vector<std::string> cubin_definitions(std::span<const std::byte> cubin) {
    std::vector<std::string> names;
    for_each_symbol(cubin, [&](const elf::Symbol& symbol, std::string_view name) {
        if (symbol.binding() == elf::global_binding) names.emplace_back(name);
    });
    return names;
}

std::vector<std::string> cubin_kernels(std::span<const std::byte> cubin) {
    constexpr unsigned char kernel_mark =
        0x10;  // In Symbol::other: the host may launch the function.
    std::vector<std::string> names;
    for_each_symbol(cubin, [&](const elf::Symbol& symbol, std::string_view name) {
        if (symbol.type() == elf::function_type && (symbol.other & kernel_mark) != 0)
            names.emplace_back(name);
    });
    return names;
}

}  // namespace LODE_NAMESPACE
