#include "emulator/driver/memory/memory_file.hpp"

#include "base/os/file.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

/// Begins the name of every file of this driver.
constexpr std::string_view own_prefix = "lode_emulator_";

std::string memory_file_name(const std::string& label) {
    return std::string(own_prefix) + label;
}

/// What a link below /proc says; empty if there is none. Nothing is opened: that could block or
/// have effects.
std::string target_of(const std::string& link) {
    std::error_code none;
    return std::filesystem::read_symlink(link, none).string();
}

/// Whether a link below /proc names a file of MemoryFile::create() with this label.
bool links_to_memory_file(const std::string& link, const std::string& label) {
    return target_of(link) == fmt::format("/memfd:{} (deleted)", memory_file_name(label));
}

std::string link_of(int descriptor) {
    return fmt::format("/proc/self/fd/{}", descriptor);
}

}  // namespace

MemoryFile MemoryFile::create(std::size_t bytes, const std::string& label) {
    MemoryFile file;
    file.descriptor_ = os::make_memory_file(memory_file_name(label).c_str(), bytes);
    file.bytes_ = bytes;
    return file;
}

MemoryFile MemoryFile::import(int descriptor, const std::string& label) {
    if (!links_to_memory_file(link_of(descriptor), label)) return {};
    return import_any(descriptor);
}

MemoryFile MemoryFile::import_foreign(int descriptor) {
    if (target_of(link_of(descriptor)).starts_with(fmt::format("/memfd:{}", own_prefix))) return {};
    return import_any(descriptor);
}

MemoryFile MemoryFile::import_any(int descriptor) {
    os::FileAttributes attributes;
    if (!os::attributes_of(descriptor, attributes) || attributes.kind != os::FileKind::regular ||
        !os::may_update(descriptor))
        return {};
    MemoryFile file;
    file.descriptor_ = os::duplicate(descriptor);
    file.bytes_ = attributes.size;
    return file;
}

MemoryFile MemoryFile::open(int process, int descriptor, const std::string& label) {
    const std::string link = fmt::format("/proc/{}/fd/{}", process, descriptor);
    if (!links_to_memory_file(link, label)) return {};
    const Descriptor opened = os::open_file(link, os::Open::updating);
    // Between the two calls the process may have put another file there.
    return opened ? import(opened.get(), label) : MemoryFile();
}

int MemoryFile::duplicate() const noexcept {
    return os::duplicate(descriptor_.get()).release();
}

FileIdentity FileIdentity::of(int descriptor) noexcept {
    os::FileAttributes attributes;
    if (!os::attributes_of(descriptor, attributes)) return {};
    return {attributes.device, attributes.number};
}

}  // namespace lode::emulator::driver
