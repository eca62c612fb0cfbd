#include "c/handles.hpp"

#include <lode/jit/image_file.hpp>

#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

using lode::Errc;
using lode::fail;
using lode::Result;
using lode::Status;
using lode::c::guarded;
using lode::c::read_struct;
using lode::c::require;

namespace {

/// What code in memory is called without a name, by language: the order of LODE_LANGUAGE_….
constexpr const char* usual_names[] = {"source.cu", "source.ptx", "source.ll", "source.ll"};
static_assert(static_cast<int>(lode::Source::Language::cuda) == LODE_LANGUAGE_CUDA &&
              static_cast<int>(lode::Source::Language::ptx) == LODE_LANGUAGE_PTX &&
              static_cast<int>(lode::Source::Language::nvvm_ir) == LODE_LANGUAGE_NVVM_IR &&
              static_cast<int>(lode::Source::Language::llvm_ir) == LODE_LANGUAGE_LLVM_IR);

lode::Source in_memory(lode::Source::Language language, std::string_view code, const char* name) {
    const bool is_named = name != nullptr && *name != '\0';
    return lode::Source::of(language, std::string(code),
                            is_named ? name : usual_names[static_cast<int>(language)]);
}

Result<lode::Source> to_source(const lode_source* given) {
    LODE_TRY_ASSIGN(const auto source, read_struct("lode_source", given));
    const int set =
        static_cast<int>(source.file != nullptr) + static_cast<int>(source.cuda != nullptr) +
        static_cast<int>(source.ptx != nullptr) + static_cast<int>(source.code != nullptr);
    if (set != 1) {
        return fail(
            Errc::invalid_argument,
            fmt::format("lode_source has {} of the members file, cuda, ptx and code; exactly "
                        "one must be set.",
                        set));
    }
    if (source.file != nullptr) return lode::Source::file(source.file);
    if (source.cuda != nullptr)
        return in_memory(lode::Source::Language::cuda, source.cuda, source.name);
    if (source.ptx != nullptr)
        return in_memory(lode::Source::Language::ptx, source.ptx, source.name);
    if (source.language < 0 || source.language >= static_cast<int>(std::size(usual_names))) {
        return fail(
            Errc::invalid_argument,
            fmt::format("lode_source.language ({}) is none of LODE_LANGUAGE_….", source.language));
    }
    return in_memory(static_cast<lode::Source::Language>(source.language),
                     {static_cast<const char*>(source.code), source.code_size}, source.name);
}

/// A list of strings, none of which may be NULL.
Result<std::vector<std::string>> to_texts(const char* what, const char* const* texts,
                                          std::size_t count) {
    std::vector<std::string> list;
    if (count != 0) LODE_TRY(require({{what, texts}}));
    for (std::size_t i = 0; i < count; ++i) {
        if (texts[i] == nullptr)
            return fail(Errc::invalid_argument, fmt::format("{}[{}] is NULL.", what, i));
        list.emplace_back(texts[i]);
    }
    return list;
}

Result<lode::KernelOptions> to_options(const lode_compile_options* given) {
    LODE_TRY_ASSIGN(const auto from, read_struct("lode_compile_options", given));
    LODE_TRY_ASSIGN(const auto flags,
                    to_texts("lode_compile_options.flags", from.flags, from.flag_count));
    lode::KernelOptions options;
    LODE_TRY_ASSIGN(options.compile, lode::CompileOptions::parse(flags));
    LODE_TRY_ASSIGN(options.name_expressions,
                    to_texts("lode_compile_options.names", from.names, from.name_count));
    if (from.header_count != 0) LODE_TRY(require({{"lode_compile_options.headers", from.headers}}));
    for (std::size_t i = 0; i < from.header_count; ++i) {
        const lode_header& header = from.headers[i];
        if (header.name == nullptr || header.text == nullptr) {
            return fail(Errc::invalid_argument,
                        fmt::format("The {} of lode_compile_options.headers[{}] is NULL.",
                                    header.name == nullptr ? "name" : "text", i));
        }
        options.compile.headers.push_back({header.name, header.text});
    }
    switch (from.suffix) {
        case LODE_SUFFIX_NONE:
            options.suffix = lode::SuffixPolicy::none;
            break;
        case LODE_SUFFIX_SPECIFIC:
            options.suffix = lode::SuffixPolicy::specific;
            break;
        case LODE_SUFFIX_FAMILY:
            options.suffix = lode::SuffixPolicy::family;
            break;
        default:
            return fail(Errc::invalid_argument,
                        fmt::format("lode_compile_options.suffix is {}; it must be 0, 1 or 2.",
                                    from.suffix));
    }
    return options;
}

lode_image* new_image(std::shared_ptr<const lode::Image> image) {
    std::string arch = image->arch.to_string();
    return new lode_image{std::move(image), std::move(arch)};
}

}  // namespace

lode_status lode_compile(const lode_runtime* runtime, const lode_source* source, const char* arch,
                         const lode_compile_options* options, lode_image** image) {
    return guarded([&]() -> Status {
        LODE_TRY(
            require({{"runtime", runtime}, {"source", source}, {"arch", arch}, {"image", image}}));
        LODE_TRY_ASSIGN(const auto code, to_source(source));
        LODE_TRY_ASSIGN(const auto target, lode::Arch::parse(arch));
        LODE_TRY_ASSIGN(const auto how, to_options(options));
        LODE_TRY_ASSIGN(auto compiled, runtime->runtime.compiler().compile(
                                           code, target, how.compile, how.name_expressions));
        *image = new_image(std::move(compiled.image));
        return {};
    });
}

lode_status lode_device_compile(const lode_device* device, const lode_source* source,
                                const lode_compile_options* options, lode_image** image) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"device", device}, {"source", source}, {"image", image}}));
        LODE_TRY_ASSIGN(const auto code, to_source(source));
        LODE_TRY_ASSIGN(const auto how, to_options(options));
        LODE_TRY_ASSIGN(auto compiled, device->device.compile_cached(code, how));
        *image = new_image(std::move(compiled.image));
        return {};
    });
}

lode_status lode_image_from_bytes(const void* bytes, size_t size, const char* name,
                                  lode_image** image) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"bytes", bytes}, {"name", name}, {"image", image}}));
        LODE_TRY_ASSIGN(auto images,
                        lode::images_of_bytes({static_cast<const std::byte*>(bytes), size}, name));
        if (images.size() != 1) {
            return fail(Errc::invalid_argument,
                        fmt::format("{} holds {} images; a fat binary's must be chosen from, which "
                                    "the C interface doesn't do.",
                                    name, images.size()));
        }
        *image = new_image(std::make_shared<const lode::Image>(std::move(images.front())));
        return {};
    });
}

void lode_image_free(lode_image* image) {
    delete image;
}

lode_status lode_image_part(const lode_image* image, int32_t part, const void** bytes,
                            size_t* size) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"image", image}, {"bytes", bytes}, {"size", size}}));
        const auto give = [&](const auto& content) {
            *bytes = content.data();
            *size = content.size();
            return Status();
        };
        switch (part) {
            case LODE_IMAGE_CUBIN:
                return give(image->image->cubin);
            case LODE_IMAGE_PTX:
                return give(image->image->ptx);
            case LODE_IMAGE_LTO_IR:
                return give(image->image->lto_ir);
            case LODE_IMAGE_OPTIX_IR:
                return give(image->image->optix_ir);
            default:
                return fail(
                    Errc::invalid_argument,
                    fmt::format("The part {} doesn't exist; it must be 0, 1, 2 or 3.", part));
        }
    });
}

lode_status lode_device_code(const lode_device* device, const lode_image* image, const void** bytes,
                             size_t* size) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"device", device}, {"image", image}, {"bytes", bytes}, {"size", size}}));
        LODE_TRY_ASSIGN(const auto code, device->device.code_for_driver(*image->image));
        *bytes = code.data();
        *size = code.size();
        return {};
    });
}

const char* lode_image_symbol(const lode_image* image, const char* name) {
    if (image == nullptr || name == nullptr) return nullptr;
    // The view is of a whole string: a lowered name or `name`.
    return image->image->symbol_of(name).data();
}

const char* lode_image_arch(const lode_image* image) {
    return image == nullptr ? nullptr : image->arch.c_str();
}

const char* lode_image_log(const lode_image* image) {
    return image == nullptr ? nullptr : image->image->log.c_str();
}

lode_status lode_kernel_load(const lode_device* device, const lode_source* source, const char* name,
                             const lode_compile_options* options, lode_kernel** kernel) {
    return guarded([&]() -> Status {
        LODE_TRY(
            require({{"device", device}, {"source", source}, {"name", name}, {"kernel", kernel}}));
        LODE_TRY_ASSIGN(const auto code, to_source(source));
        LODE_TRY_ASSIGN(const auto how, to_options(options));
        LODE_TRY_ASSIGN(auto loaded, device->device.load(code, name, how));
        *kernel = lode::c::new_kernel(std::move(loaded), device->device);
        return {};
    });
}
