#include "emulator/driver/memory/memory_file.hpp"

#include "base/os/file.hpp"

#include <string_view>

namespace lode::emulator::driver {
namespace {

/// Begins the name of every file of this driver.
constexpr std::string_view own_prefix = "lode_emulator_";

std::string memory_file_name(const std::string& label) {
    return std::string(own_prefix) + label;
}

}  // namespace

MemoryFile MemoryFile::create(std::size_t bytes, const std::string& label) {
    MemoryFile file;
    file.descriptor_ = os::make_memory_file(memory_file_name(label).c_str(), bytes);
    file.bytes_ = bytes;
    return file;
}

MemoryFile MemoryFile::import(int descriptor, const std::string& label) {
    if (os::label_of_memory_file(descriptor) != memory_file_name(label)) return {};
    return import_any(descriptor);
}

MemoryFile MemoryFile::import_foreign(int descriptor) {
    if (os::label_of_memory_file(descriptor).starts_with(own_prefix)) return {};
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
    const Descriptor opened = os::open_memory_file(process, descriptor, memory_file_name(label));
    return opened ? import_any(opened.get()) : MemoryFile();
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
