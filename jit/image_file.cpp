#include "base/file.hpp"
#include "base/try.hpp"

#include <lode/base/fatbin.hpp>
#include <lode/jit/image_file.hpp>
#include <lode/jit/linker.hpp>

#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

Result<std::vector<Image>> images_of_bytes(std::span<const std::byte> bytes,
                                           const std::string& name) {
    LODE_TRY_ASSIGN(const LinkInput input, LinkInput::from_bytes(bytes, name));
    std::vector<Image> images;
    switch (input.kind) {
        case LinkInput::Kind::ptx: {
            std::string text(reinterpret_cast<const char*>(input.bytes.data()), input.bytes.size());
            LODE_TRY_ASSIGN(images.emplace_back(), Image::from_ptx(std::move(text), name));
            return images;
        }
        case LinkInput::Kind::cubin: {
            LODE_TRY_ASSIGN(images.emplace_back(), Image::from_cubin(bytes, name));
            return images;
        }
        case LinkInput::Kind::fatbin: {
            LODE_TRY_ASSIGN(images, images_of_fatbin(bytes, name));
            if (!images.empty()) return images;
            return fail(Errc::invalid_image,
                        fmt::format("The fat binary '{}' has neither PTX nor machine code.", name));
        }
        case LinkInput::Kind::lto_ir:
        case LinkInput::Kind::object:
        case LinkInput::Kind::archive:
            break;
    }
    return fail(Errc::invalid_image,
                fmt::format("'{}' is {}, which no driver loads. Link it to machine code with "
                            "lode::Linker.",
                            name, to_string(input.kind)));
}

Result<std::vector<Image>> images_of_file(const std::filesystem::path& path) {
    LODE_TRY_ASSIGN(const auto bytes, read_bytes(path));
    return images_of_bytes(bytes, path.filename().string());
}

}  // namespace LODE_NAMESPACE
