#include "base/elf.hpp"
#include "base/ptx_scan.hpp"
#include "base/text_encoding.hpp"
#include "base/try.hpp"

#include <lode/base/image.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

std::string_view severity_name(Diagnostic::Severity severity) noexcept {
    switch (severity) {
        case Diagnostic::Severity::remark:
            return "remark";
        case Diagnostic::Severity::warning:
            return "warning";
        case Diagnostic::Severity::error:
            return "error";
    }
    return "unknown";
}

/// The ELF header of a cubin; nullopt for anything else.
std::optional<elf::Header> cubin_header_of(std::span<const std::byte> bytes) {
    elf::Header header;
    if (bytes.size() < sizeof(header)) return std::nullopt;
    std::memcpy(&header, bytes.data(), sizeof(header));
    return header.is_cubin() ? std::optional(header) : std::nullopt;
}

/// Whether a table of `count` entries lies within the first `size` bytes.
bool table_fits(std::uint64_t offset, std::uint64_t count, std::uint64_t entry,
                std::uint64_t size) {
    return offset <= size && count * entry <= size - offset;  // Both factors are 16 bits wide.
}

bool is_whole(const elf::Header& header, std::size_t size) {
    return table_fits(header.sections_at, header.sections, header.section_bytes, size) &&
           table_fits(header.segments_at, header.segments, header.segment_bytes, size);
}

/// The SM number in the header's flags: bits 8 … 15 since ABI version 8 (CUDA 13), else 0 … 7.
int sm_number_of(const elf::Header& header) {
    constexpr unsigned abi_with_shifted_number = 8;
    const unsigned shift = header.abi_version() >= abi_with_shifted_number ? 8 : 0;
    return static_cast<int>((header.flags >> shift) & 0xffU);
}

template <class Entries>
auto find_kernel(const Entries& entries, std::string_view symbol) {
    const auto found = std::ranges::find(
        entries, symbol, [](const auto& e) -> std::string_view { return e.kernel; });
    return found == entries.end() ? nullptr : &*found;
}

}  // namespace

std::string Diagnostic::to_string() const {
    std::string place = file;
    if (line > 0) place += fmt::format(":{}", line);
    if (column > 0) place += fmt::format(":{}", column);
    if (!place.empty()) place += ": ";
    const std::string number = code.empty() ? "" : " #" + code;
    return fmt::format("{}{}{}: {}", place, severity_name(severity), number, text);
}

std::string_view Image::symbol_of(std::string_view kernel) const noexcept {
    // Linear search: an image has few names, and std::map's lookup would need a std::string.
    for (const auto& [expression, symbol] : lowered_names) {
        if (expression == kernel) return symbol;
    }
    return kernel;
}

const KernelResources* Image::resources_of(std::string_view kernel) const noexcept {
    return find_kernel(resources, symbol_of(kernel));
}

const KernelSignature* Image::signature_of(std::string_view kernel) const noexcept {
    return find_kernel(kernels, symbol_of(kernel));
}

Result<Image> Image::from_cubin(std::span<const std::byte> bytes, std::string name,
                                std::optional<Arch> arch) {
    const auto header = cubin_header_of(bytes);
    if (!header) {
        return fail(Errc::invalid_image,
                    fmt::format("'{}' ({} bytes) isn't a cubin: it has no CUDA ELF header.", name,
                                bytes.size()));
    }
    if (!is_whole(*header, bytes.size())) {
        return fail(Errc::invalid_image,
                    fmt::format("Cubin '{}' is cut off: its tables end past its {} bytes.", name,
                                bytes.size()));
    }
    const auto built_for = ComputeCapability::from_number(sm_number_of(*header));
    if (arch && arch->cc() != built_for) {
        return fail(Errc::invalid_argument,
                    fmt::format("'{}' is built for sm_{}, not for {}.", name, built_for.number(),
                                arch->to_string()));
    }
    Image image;
    image.name = std::move(name);
    image.arch = arch.value_or(Arch(built_for));
    image.cubin.assign(bytes.begin(), bytes.end());
    return image;
}

Result<Image> Image::from_ptx(std::string text, std::string name) {
    LODE_TRY(check_encoding(text, name, Errc::invalid_image));
    text.erase(0, byte_order_mark_size(text));  // Drivers don't take it.
    const auto target = ptx_target_of(text);
    if (!target) {
        return fail(Errc::invalid_image,
                    fmt::format("'{}' isn't PTX: it has no readable .target line.", name));
    }
    Image image;
    image.name = std::move(name);
    image.arch = *target;
    image.kernels = kernels_of_ptx(text);
    image.ptx = std::move(text);
    return image;
}

}  // namespace LODE_NAMESPACE
