// The driver's JIT interface: images, options, logs.
#include "base/cubin.hpp"
#include "base/os/memory.hpp"
#include "base/ptx_scan.hpp"
#include "emulator/driver/code/code.hpp"
#include "emulator/driver/code/machine_code.hpp"
#include "emulator/driver/journal.hpp"
#include "emulator/driver/log.hpp"

#include <lode/base/fatbin.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

constexpr std::uint32_t fatbin_wrapper_magic = 0x466243b1;
constexpr std::uint32_t fatbin_magic = 0xba55ed50;
constexpr std::uint32_t lto_ir_magic = 0x7f4e43ed;
constexpr std::string_view elf_magic = "\177ELF";

/// Copies as much as fits, NUL-terminated. Returns the bytes written, without the NUL.
std::size_t copy_text(std::string_view text, char* room, std::size_t size) noexcept {
    if (room == nullptr || size == 0) return 0;
    const std::size_t length = std::min(text.size(), size - 1);
    std::copy_n(text.data(), length, room);
    room[length] = '\0';
    return length;
}

std::size_t number_in(void* slot) noexcept {
    return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(slot) & 0xffffffff);
}

}  // namespace

void JitLogs::write(std::string_view text, bool failed, float milliseconds) const noexcept {
    const std::size_t errors = copy_text(failed ? text : std::string_view(), error, error_room);
    const std::size_t infos =
        copy_text(failed ? std::string_view() : text, information, information_room);
    if (error_size != nullptr) *error_size = reinterpret_cast<void*>(errors);
    if (information_size != nullptr) *information_size = reinterpret_cast<void*>(infos);
    if (wall_time != nullptr)
        *wall_time =
            reinterpret_cast<void*>(std::uintptr_t{std::bit_cast<std::uint32_t>(milliseconds)});
}

CUresult read_jit_options(unsigned count, const CUjit_option* options, void** values,
                          JitLogs& logs) {
    if (count > 0 && (options == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
        switch (options[i]) {
            case CU_JIT_ERROR_LOG_BUFFER:
                logs.error = static_cast<char*>(values[i]);
                break;
            case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
                logs.error_room = number_in(values[i]);
                logs.error_size = &values[i];
                break;
            case CU_JIT_INFO_LOG_BUFFER:
                logs.information = static_cast<char*>(values[i]);
                break;
            case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
                logs.information_room = number_in(values[i]);
                logs.information_size = &values[i];
                break;
            case CU_JIT_WALL_TIME:
                logs.wall_time = &values[i];
                break;
            case CU_JIT_OPTIMIZATION_LEVEL:
                if (number_in(values[i]) > 4) return CUDA_ERROR_INVALID_VALUE;
                break;
            default:
                // The other options control a code generator, which the emulator doesn't have.
                if (options[i] >= CU_JIT_NUM_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

CUresult read_file(const char* path, std::string& content) {
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // Reading a pipe or a device might not end.
    std::error_code problem;
    if (!std::filesystem::is_regular_file(path, problem)) return CUDA_ERROR_FILE_NOT_FOUND;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    content.assign(std::istreambuf_iterator<char>(file), {});
    return file.bad() ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

PtxTexts::PtxTexts(std::string text) {
    texts_.emplace_back().ptx = std::move(text);
}

PtxTexts::PtxTexts(std::vector<lode::Image> images) : texts_(std::move(images)), is_choice_(true) {}

const std::string* PtxTexts::for_device(ComputeCapability cc) const noexcept {
    const lode::Image* const best = is_choice_ ? newest_ptx_for(texts_, cc) : texts_.data();
    return best == nullptr ? nullptr : &best->ptx;
}

std::string PtxTexts::targets() const {
    std::string text;
    for (const lode::Image& image : texts_)
        text += fmt::format("{}{}", text.empty() ? "" : ", ", image.arch.as_virtual().to_string());
    return text;
}

CUresult refuse_image(CUresult code, std::string_view why, const JitLogs& logs,
                      journal::Kind kind) {
    logs.write(why, true, 0);
    log::note(why);
    journal::add(kind, {}, why);
    return code;
}

namespace {

std::vector<std::string> kernels_of(std::span<const std::byte> fat_binary) {
    std::vector<std::string> kernels;
    const auto images = images_of_fatbin(fat_binary, "the image");
    if (!images) return kernels;
    for (const auto& image : *images) {
        for (auto& name : cubin_kernels(image.cubin)) {
            if (std::ranges::find(kernels, name) == kernels.end())
                kernels.push_back(std::move(name));
        }
    }
    return kernels;
}

CUresult ptx_of_fat_binary(const std::byte* bytes, PtxTexts& texts, const JitLogs& logs) {
    constexpr std::size_t header = 16;
    if (!os::may_access(bytes, header, false))
        return refuse_image(CUDA_ERROR_INVALID_IMAGE, "The fat binary isn't in memory.", logs);
    std::uint16_t header_bytes = 0;
    std::uint64_t entries_bytes = 0;
    constexpr std::size_t header_bytes_at = 6;
    constexpr std::size_t entries_bytes_at = 8;
    std::memcpy(&header_bytes, bytes + header_bytes_at, sizeof(header_bytes));
    std::memcpy(&entries_bytes, bytes + entries_bytes_at, sizeof(entries_bytes));
    std::uint64_t size = 0;
    if (__builtin_add_overflow(entries_bytes, header_bytes, &size) ||
        !os::may_access(bytes, size, false)) {
        return refuse_image(
            CUDA_ERROR_INVALID_IMAGE,
            fmt::format("The fat binary's size ({} bytes) exceeds the memory that it lies in.",
                        entries_bytes),
            logs);
    }
    auto images = ptx_of_fatbin({bytes, size}, "the image");
    if (!images) return refuse_image(CUDA_ERROR_INVALID_IMAGE, images.error().message, logs);
    if (images->empty()) {
        return machine_code::refuse(bytes, "a fat binary with machine code and no PTX",
                                    kernels_of({bytes, size}), logs);
    }
    texts = PtxTexts(*std::move(images));
    return CUDA_SUCCESS;
}

}  // namespace

CUresult ptx_of_image(const void* image, PtxTexts& texts, const JitLogs& logs) {
    if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto* bytes = static_cast<const char*>(image);
    const auto refuse = [&](CUresult code, std::string_view what) {
        return refuse_image(
            code, fmt::format("The image is {}; the software device loads PTX.", what), logs);
    };
    // The text is NUL-terminated; for a shorter image, the comparison ends at its NUL.
    if (std::strncmp(bytes, elf_magic.data(), elf_magic.size()) == 0)
        return machine_code::refuse(bytes, "a cubin, which is machine code for a GPU",
                                    machine_code::kernels_at(bytes), logs);
    if (bytes[0] == '\0') return refuse(CUDA_ERROR_INVALID_IMAGE, "empty");
    std::uint32_t magic = 0;
    if (std::memchr(bytes, 0, sizeof(magic)) == nullptr) std::memcpy(&magic, bytes, sizeof(magic));
    if (magic == fatbin_wrapper_magic) {
        // The toolkit's fatbinary_section.h declares it.
        const std::byte* inner = nullptr;
        constexpr std::size_t data_at = 8;
        if (!os::may_access(bytes, data_at + sizeof(inner), false))
            return refuse(CUDA_ERROR_INVALID_IMAGE, "cut off");
        std::memcpy(&inner, bytes + data_at, sizeof(inner));
        if (!os::may_access(inner, sizeof(magic), false))
            return refuse(CUDA_ERROR_INVALID_IMAGE, "a fat binary that isn't in memory");
        std::memcpy(&magic, inner, sizeof(magic));
        if (magic != fatbin_magic) return refuse(CUDA_ERROR_INVALID_IMAGE, "of an unknown format");
        return ptx_of_fat_binary(inner, texts, logs);
    }
    if (magic == fatbin_magic)
        return ptx_of_fat_binary(static_cast<const std::byte*>(image), texts, logs);
    if (magic == lto_ir_magic) return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "LTO-IR");
    std::string text = bytes;
    if (!begins_as_ptx(text))
        return refuse(CUDA_ERROR_INVALID_IMAGE, "text that doesn't begin with .version");
    texts = PtxTexts(std::move(text));
    return CUDA_SUCCESS;
}

}  // namespace lode::emulator::driver
