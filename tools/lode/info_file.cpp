#include "tools/lode/info_file.hpp"

#include "base/cubin.hpp"
#include "base/cxx_names.hpp"
#include "base/ir_container.hpp"
#include "base/tile_ir.hpp"
#include "base/try.hpp"
#include "tools/lode/input.hpp"

#include <lode/base/fatbin.hpp>
#include <lode/jit/image_file.hpp>
#include <lode/jit/linker.hpp>
#include <lode/jit/target.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lode::tool {
namespace {

/// One part of a file.
struct FilePart {
    std::string kind;
    std::optional<Arch> arch;
    FatbinEntry::Compression compression = FatbinEntry::Compression::none;
    std::size_t stored_bytes = 0;
    std::size_t plain_bytes = 0;
    std::optional<std::vector<std::string>> kernels;  ///< Absent if they can't be read.
};

std::vector<std::string> kernels_of(const Image& image) {
    if (image.ptx.empty()) return cubin_kernels(image.cubin);
    std::vector<std::string> names;
    for (const auto& kernel : image.kernels)
        names.push_back(kernel.kernel);
    return names;
}

/// The parts of a fat binary; images_of_fatbin() has those with PTX and machine code, in order.
Result<std::vector<FilePart>> parts_of_fatbin(std::span<const std::byte> bytes,
                                              const std::string& name) {
    LODE_TRY_ASSIGN(const auto entries, fatbin_entries(bytes, name));
    LODE_TRY_ASSIGN(const auto images, images_of_fatbin(bytes, name));
    std::vector<FilePart> parts;
    auto image = images.begin();
    for (const auto& entry : entries) {
        parts.push_back({std::string(to_string(entry.kind)), entry.arch, entry.compression,
                         entry.stored_bytes, entry.plain_bytes, std::nullopt});
        if (has_image(entry)) parts.back().kernels = kernels_of(*image++);
    }
    return parts;
}

Result<std::vector<FilePart>> parts_of(const LinkInput& input) {
    const std::size_t size = input.bytes.size();
    FilePart part{std::string(to_string(input.kind)),
                  input.arch,
                  FatbinEntry::Compression::none,
                  size,
                  size,
                  std::nullopt};
    switch (input.kind) {
        case LinkInput::Kind::fatbin:
            return parts_of_fatbin(input.bytes, input.name);
        case LinkInput::Kind::ptx:
        case LinkInput::Kind::cubin: {
            LODE_TRY_ASSIGN(const auto images, images_of_bytes(input.bytes, input.name));
            part.kernels = kernels_of(images.front());
            break;
        }
        case LinkInput::Kind::lto_ir:
            break;
        case LinkInput::Kind::object:
        case LinkInput::Kind::archive:
            return fail(Errc::invalid_image,
                        fmt::format("'{}' is {}; only its compiler's tools list its device code.",
                                    input.name, to_string(input.kind)));
    }
    return std::vector{std::move(part)};
}

std::string text_of(const FilePart& part) {
    const bool is_plain = part.compression == FatbinEntry::Compression::none;
    std::string text = fmt::format(
        "  {:<12}  {:<12}  {} bytes{}\n", part.kind, part.arch ? part.arch->to_string() : "",
        part.stored_bytes,
        is_plain ? ""
                 : fmt::format(", {} without {}", part.plain_bytes, to_string(part.compression)));
    if (!part.kernels) return text;
    for (const auto& kernel : *part.kernels)
        text += fmt::format("    {}\n", readable_name(kernel));
    return part.kernels->empty() ? text + "    no kernels\n" : text;
}

Json json_of(const FilePart& part) {
    return {{"kind", part.kind},
            {"arch", part.arch ? Json(part.arch->to_string()) : Json()},
            {"compression", to_string(part.compression)},
            {"stored_bytes", part.stored_bytes},
            {"plain_bytes", part.plain_bytes},
            {"kernels", part.kernels ? Json(*part.kernels) : Json()}};
}

/// A file that isn't an input for linkers, and whose target and kernels can't be read.
Answer info_opaque(const std::string& file, std::size_t size, const std::string& format,
                   const std::string& title) {
    const FilePart part{format, std::nullopt, FatbinEntry::Compression::none,
                        size,   size,         std::nullopt};
    Answer answer;
    answer.text =
        fmt::format("{}, {}, {} bytes\n\n{}", input_name(file), title, size, text_of(part));
    answer.fields = {{"file", file},
                     {"format", format},
                     {"bytes", size},
                     {"parts", Json::array({json_of(part)})}};
    return answer;
}

Result<Answer> info_file(const std::string& file) {
    LODE_TRY_ASSIGN(const auto bytes, read_input(file));
    if (const auto version = tile_ir_version(bytes))
        return info_opaque(file, bytes.size(), "Tile IR", "Tile IR " + cuda_version_text(*version));
    if (ir_kind(bytes) == IrKind::optix)
        return info_opaque(file, bytes.size(), "OptiX IR", "OptiX IR");
    LODE_TRY_ASSIGN(const auto input,
                    LinkInput::from_bytes(bytes, input_name(file)).map_error([&](Error error) {
                        if (file.ends_with(".cu"))
                            error.message +=
                                " `lode info --kernels` shows what a source's kernels cost.";
                        return error;
                    }));
    LODE_TRY_ASSIGN(const auto parts, parts_of(input));
    Answer answer;
    answer.text =
        fmt::format("{}, {}, {} bytes\n\n", input.name, to_string(input.kind), input.bytes.size());
    Json list = Json::array();
    for (const auto& part : parts) {
        answer.text += text_of(part);
        list.push_back(json_of(part));
    }
    if (parts.empty()) answer.text += "  no parts\n";
    answer.fields = {{"file", file},
                     {"format", to_string(input.kind)},
                     {"bytes", input.bytes.size()},
                     {"parts", std::move(list)}};
    return answer;
}

}  // namespace

Result<Answer> info_files(const std::vector<std::string>& files) {
    if (files.size() == 1) return info_file(files.front());
    Answer all;
    Json list = Json::array();
    for (const auto& file : files) {
        LODE_TRY_ASSIGN(auto answer, info_file(file));
        all.text += (all.text.empty() ? "" : "\n") + answer.text;
        list.push_back(std::move(answer.fields));
    }
    all.fields = {{"files", std::move(list)}};
    return all;
}

}  // namespace lode::tool
