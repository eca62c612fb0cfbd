// The driver's JIT interface: images, options, logs.
#include "base/cubin.hpp"
#include "base/os/memory.hpp"
#include "base/ptx_scan.hpp"
#include "emulator/decode/ptx/link.hpp"
#include "emulator/driver/code/code.hpp"
#include "emulator/driver/code/machine_code.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/journal.hpp"
#include "emulator/driver/log.hpp"
#include "emulator/driver/version.hpp"

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

namespace {

/// The last option that the reported driver knows.
CUjit_option last_option() noexcept {
    constexpr int first_with_loader_threads = 13010;
    return reported_version() >= first_with_loader_threads ? jit_binary_loader_threads
                                                           : CU_JIT_SPLIT_COMPILE;
}

}  // namespace

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
                if (options[i] > last_option()) return CUDA_ERROR_INVALID_VALUE;
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

PtxTexts::PtxTexts(std::vector<lode::Image> images, std::string place)
    : texts_(std::move(images)), place_(std::move(place)) {}

const std::string* PtxTexts::for_device(ComputeCapability cc) const noexcept {
    const lode::Image* const best = place_.empty() ? texts_.data() : newest_ptx_for(texts_, cc);
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

/// The bytes of a fat binary in memory.
Result<std::span<const std::byte>> fat_binary_at(const std::byte* bytes) {
    constexpr std::size_t header = 16;
    if (!os::may_access(bytes, header, false))
        return fail(Errc::invalid_image, "The fat binary isn't in memory.");
    std::uint32_t magic = 0;
    std::uint16_t header_bytes = 0;
    std::uint64_t entries_bytes = 0;
    constexpr std::size_t header_bytes_at = 6;
    constexpr std::size_t entries_bytes_at = 8;
    std::memcpy(&magic, bytes, sizeof(magic));
    std::memcpy(&header_bytes, bytes + header_bytes_at, sizeof(header_bytes));
    std::memcpy(&entries_bytes, bytes + entries_bytes_at, sizeof(entries_bytes));
    if (magic != fatbin_magic)
        return fail(Errc::invalid_image,
                    "The image is of an unknown format; the software device loads PTX.");
    std::uint64_t size = 0;
    if (__builtin_add_overflow(entries_bytes, header_bytes, &size) ||
        !os::may_access(bytes, size, false)) {
        return fail(
            Errc::invalid_image,
            fmt::format("The fat binary's size ({} bytes) exceeds the memory that it lies in.",
                        entries_bytes));
    }
    return std::span(bytes, size);
}

CUresult ptx_of_fat_binary(const std::byte* bytes, std::vector<lode::Image>& texts,
                           const JitLogs& logs) {
    const auto fat_binary = fat_binary_at(bytes);
    if (!fat_binary)
        return refuse_image(CUDA_ERROR_INVALID_IMAGE, fat_binary.error().message, logs);
    auto images = ptx_of_fatbin(*fat_binary, "the image");
    if (!images) return refuse_image(CUDA_ERROR_INVALID_IMAGE, images.error().message, logs);
    if (images->empty()) {
        return machine_code::refuse(bytes, "a fat binary with machine code and no PTX",
                                    kernels_of(*fat_binary), logs);
    }
    texts = *std::move(images);
    return CUDA_SUCCESS;
}

/// What nvcc registers: the toolkit's fatbinary_section.h declares it.
struct Wrapper {
    std::uint32_t magic;
    std::uint32_t version;
    const std::byte* data;
    /// With `linked_version`, the fat binaries that nvlink has linked; nullptr after the last.
    const std::byte* const* parts;
};
constexpr std::uint32_t linked_version = 2;

/// Whether a part is libcudadevrt.a, which alone calls these functions of the driver.
bool is_device_runtime(const std::vector<lode::Image>& part) {
    return std::ranges::any_of(part, [](const lode::Image& image) {
        return image.ptx.find("__cuda_syscall_cnpv2") != std::string::npos;
    });
}

/// A program of several parts (nvcc -rdc=true) has machine code alone where it is linked. As the
/// driver does for other architectures, this links the PTX of the parts, for each device.
CUresult link_parts(const std::byte* const* parts, PtxTexts& texts, const JitLogs& logs) {
    std::string place = machine_code::place_of(*parts, logs);
    std::vector<std::vector<lode::Image>> inputs;
    for (; os::may_access(parts, sizeof(*parts), false) && *parts != nullptr; ++parts) {
        if (const CUresult state = ptx_of_fat_binary(*parts, inputs.emplace_back(), logs);
            state != CUDA_SUCCESS)
            return state;
        if (is_device_runtime(inputs.back())) inputs.pop_back();
    }
    if (inputs.empty()) {
        return refuse_image(CUDA_ERROR_NO_BINARY_FOR_GPU, "The program has no part with kernels.",
                            logs);
    }
    std::vector<lode::Image> linked;
    for (const auto& device : driver().devices) {
        ptx::Link link(newest_ptx());
        link.add_device_runtime();  // nvcc links it by default.
        std::vector<Arch> targets;
        std::string errors;
        for (const auto& input : inputs) {
            const lode::Image* const best = newest_ptx_for(input, device->profile.cc);
            if (best == nullptr) break;
            targets.push_back(best->arch);
            errors += link.add(best->ptx, fmt::format("part {}", targets.size()));
        }
        if (targets.size() < inputs.size()) continue;
        if (errors.empty()) errors = link.complete();
        if (!errors.empty()) {
            kind_of_load_error(errors);
            return refuse_image(CUDA_ERROR_INVALID_PTX, errors, logs, journal::Kind::unusable);
        }
        lode::Image& image = linked.emplace_back();
        image.ptx = link.result();
        image.arch = *std::ranges::max_element(targets, {}, [](Arch arch) { return arch.cc(); });
    }
    texts = PtxTexts(linked.empty() ? inputs.front() : std::move(linked), std::move(place));
    return CUDA_SUCCESS;
}

CUresult choice_of_fat_binary(const std::byte* bytes, PtxTexts& texts, const JitLogs& logs) {
    std::vector<lode::Image> images;
    const CUresult state = ptx_of_fat_binary(bytes, images, logs);
    if (state == CUDA_SUCCESS)
        texts = PtxTexts(std::move(images), machine_code::place_of(bytes, logs));
    return state;
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
        Wrapper wrapper{};
        if (!os::may_access(bytes, sizeof(wrapper), false))
            return refuse(CUDA_ERROR_INVALID_IMAGE, "cut off");
        std::memcpy(&wrapper, bytes, sizeof(wrapper));
        if (wrapper.version == linked_version &&
            os::may_access(wrapper.parts, sizeof(*wrapper.parts), false) &&
            *wrapper.parts != nullptr)
            return link_parts(wrapper.parts, texts, logs);
        return choice_of_fat_binary(wrapper.data, texts, logs);
    }
    if (magic == fatbin_magic)
        return choice_of_fat_binary(static_cast<const std::byte*>(image), texts, logs);
    if (magic == lto_ir_magic) return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "LTO-IR");
    std::string text = bytes;
    if (!begins_as_ptx(text))
        return refuse(CUDA_ERROR_INVALID_IMAGE, "text that doesn't begin with .version");
    texts = PtxTexts(std::move(text));
    return CUDA_SUCCESS;
}

}  // namespace lode::emulator::driver
