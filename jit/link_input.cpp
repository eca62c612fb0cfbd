#include "base/elf.hpp"
#include "base/file.hpp"
#include "base/ir_container.hpp"
#include "base/ptx_scan.hpp"
#include "base/text_encoding.hpp"
#include "base/tile_ir.hpp"
#include "base/try.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/linker.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace LODE_NAMESPACE {
namespace {

constexpr std::string_view archive_magic = "!<arch>\n";
constexpr std::string_view fatbin_magic = "\x50\xed\x55\xba";

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Whether an ELF file is a host object, not a cubin.
bool is_host_elf(std::string_view text) noexcept {
    elf::Header header;
    if (text.size() < sizeof(header) || !text.starts_with(elf::magic)) return false;
    std::memcpy(&header, text.data(), sizeof(header));
    return header.machine != elf::machine_cuda;
}

LinkInput plain_input(LinkInput::Kind kind, std::span<const std::byte> bytes, std::string name) {
    LinkInput input;
    input.kind = kind;
    input.name = std::move(name);
    input.bytes.assign(bytes.begin(), bytes.end());
    return input;
}

}  // namespace

std::string_view to_string(LinkInput::Kind kind) noexcept {
    switch (kind) {
        case LinkInput::Kind::ptx:
            return "PTX";
        case LinkInput::Kind::cubin:
            return "machine code";
        case LinkInput::Kind::lto_ir:
            return "LTO-IR";
        case LinkInput::Kind::fatbin:
            return "a fat binary";
        case LinkInput::Kind::object:
            return "a host object";
        case LinkInput::Kind::archive:
            return "an archive";
    }
    return "unknown";
}

Result<LinkInput> LinkInput::from_image(const Image& image) {
    const auto input = [&]() -> std::optional<LinkInput> {
        if (!image.lto_ir.empty()) return plain_input(Kind::lto_ir, image.lto_ir, image.name);
        if (!image.ptx.empty())
            return plain_input(Kind::ptx, std::as_bytes(std::span(image.ptx)), image.name);
        if (!image.cubin.empty()) return plain_input(Kind::cubin, image.cubin, image.name);
        return std::nullopt;
    };
    auto made = input();
    if (!made) {
        return fail(Errc::invalid_argument,
                    fmt::format("'{}' holds neither PTX nor machine code nor LTO-IR.", image.name));
    }
    made->arch = made->kind == Kind::ptx ? ptx_target_of(image.ptx) : std::optional(image.arch);
    made->lowered_names = image.lowered_names;
    made->kernels = image.kernels;
    return *std::move(made);
}

Result<LinkInput> LinkInput::from_bytes(std::span<const std::byte> bytes, std::string name) {
    const auto text = text_of(bytes);
    if (text.starts_with(archive_magic)) return plain_input(Kind::archive, bytes, std::move(name));
    if (text.starts_with(fatbin_magic)) return plain_input(Kind::fatbin, bytes, std::move(name));
    const auto ir = ir_kind(bytes);
    if (ir == IrKind::lto) return plain_input(Kind::lto_ir, bytes, std::move(name));
    if (ir == IrKind::optix) {
        return fail(
            Errc::invalid_image,
            fmt::format("'{}' is OptiX IR, which only OptiX takes (optixModuleCreate).", name));
    }
    if (is_host_elf(text)) return plain_input(Kind::object, bytes, std::move(name));
    if (text.starts_with(elf::magic)) {
        LODE_TRY_ASSIGN(const Image image, Image::from_cubin(bytes, std::move(name)));
        return from_image(image);
    }
    if (tile_ir_version(bytes)) {
        return fail(Errc::invalid_image,
                    fmt::format("'{}' is Tile IR, which can't be linked and isn't read from files: "
                                "load the image that CompileOptions::tile gives.",
                                name));
    }
    LODE_TRY(check_encoding(text, name, Errc::invalid_image));
    auto ptx = text.substr(0, text.find('\0'));
    ptx.remove_prefix(byte_order_mark_size(ptx));
    if (begins_as_ptx(ptx)) {
        LODE_TRY_ASSIGN(const Image image, Image::from_ptx(std::string(ptx), std::move(name)));
        return from_image(image);
    }
    return fail(Errc::invalid_image,
                fmt::format("'{}' ({} bytes) is neither PTX nor a cubin, LTO-IR, a fat binary, a "
                            "host object or an archive.",
                            name, bytes.size()));
}

Result<LinkInput> LinkInput::from_file(const std::filesystem::path& path) {
    LODE_TRY_ASSIGN(const auto bytes, read_bytes(path));
    return from_bytes(bytes, path.filename().string());
}

Result<LinkInput> LinkInput::device_runtime() {
    constexpr const char* file_name = "libcudadevrt.a";
    std::vector<std::filesystem::path> toolkits;
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        if (const auto folder = environment(variable)) toolkits.emplace_back(*folder);
    }
    toolkits.emplace_back("/usr/local/cuda");
    std::vector<std::string> tried;
    for (const auto& toolkit : toolkits) {
        for (const char* below : {"lib64", "lib"}) {
            const auto path = toolkit / below / file_name;
            auto input = from_file(path);
            if (input || input.error().code != Errc::not_found) return input;
            tried.push_back(path.string());
        }
    }
    return fail(Errc::not_found,
                fmt::format("CUDA's device runtime, {}, can't be found. It comes with a toolkit; "
                            "set CUDA_HOME to one. Places tried:\n  {}",
                            file_name, fmt::join(tried, "\n  ")));
}

}  // namespace LODE_NAMESPACE
