#include "emulator/decode/ptx/link_input.hpp"

#include "base/ptx_scan.hpp"
#include "base/try.hpp"

#include <lode/base/fatbin.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include <fmt/format.h>

namespace lode::emulator::ptx {
namespace {

std::string_view kind_of(std::string_view bytes) noexcept {
    constexpr std::uint32_t lto_ir_magic = 0x7f4e43ed;
    std::uint32_t magic = 0;
    std::memcpy(&magic, bytes.data(), std::min(bytes.size(), sizeof(magic)));
    if (magic == lto_ir_magic) return "LTO-IR";
    if (bytes.starts_with("!<arch>")) return "an archive";
    if (bytes.starts_with("\177ELF")) return "machine code or a host object";
    return "of an unknown format";
}

}  // namespace

bool is_device_runtime(std::string_view bytes, std::string_view name) noexcept {
    return bytes.starts_with("!<arch>") && name.find("cudadevrt") != name.npos;
}

Result<std::string> ptx_of_link_input(std::string_view bytes, ComputeCapability device,
                                      const std::string& name) {
    const auto raw = std::as_bytes(std::span(bytes));
    if (is_fatbin(raw)) {
        LODE_TRY_ASSIGN(const auto images, ptx_of_fatbin(raw, name));
        const lode::Image* const best = newest_ptx_for(images, device);
        if (best != nullptr) return best->ptx;
        return fail(Errc::invalid_image,
                    fmt::format("'{}' is a fat binary without PTX that runs on {}.", name,
                                Arch(device).to_string()));
    }
    const auto text = bytes.substr(0, bytes.find('\0'));
    if (begins_as_ptx(text)) return std::string(text);
    return fail(Errc::invalid_image, fmt::format("'{}' is {}; the software device only links PTX.",
                                                 name, kind_of(bytes)));
}

}  // namespace lode::emulator::ptx
