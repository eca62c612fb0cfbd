#include "base/ptx_scan.hpp"

#include <lode/base/image.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace lode {
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

/// The fields of an ELF header that a cubin is known by.
struct CubinHeader {
    static constexpr std::size_t size = 64;
    static constexpr unsigned machine_cuda = 190;

    std::uint8_t abi_version;
    std::uint16_t machine;
    std::uint32_t flags;

    static std::optional<CubinHeader> read(std::span<const std::byte> bytes) {
        constexpr std::size_t abi_version_at = 8;
        constexpr std::size_t machine_at = 18;
        constexpr std::size_t flags_at = 48;
        if (bytes.size() < size || std::memcmp(bytes.data(), "\177ELF", 4) != 0) return {};
        CubinHeader header{};
        header.abi_version = static_cast<std::uint8_t>(bytes[abi_version_at]);
        std::memcpy(&header.machine, bytes.data() + machine_at, sizeof(header.machine));
        std::memcpy(&header.flags, bytes.data() + flags_at, sizeof(header.flags));
        return header.machine == machine_cuda ? std::optional(header) : std::nullopt;
    }

    /// The SM number: bits 8 … 15 since ABI version 8 (CUDA 13), bits 0 … 7 before.
    [[nodiscard]] int number() const noexcept {
        constexpr std::uint8_t abi_with_shifted_number = 8;
        const unsigned shift = abi_version >= abi_with_shifted_number ? 8 : 0;
        return static_cast<int>((flags >> shift) & 0xffU);
    }
};

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
    // A linear walk: an image has few names, and std::map's look-up would need a std::string.
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
    const auto header = CubinHeader::read(bytes);
    if (!header) {
        return fail(Errc::invalid_image,
                    fmt::format("'{}' ({} bytes) isn't a cubin: it has no CUDA ELF header.", name,
                                bytes.size()));
    }
    const auto built_for = ComputeCapability::from_number(header->number());
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

}  // namespace lode
