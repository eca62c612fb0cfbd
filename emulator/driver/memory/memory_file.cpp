#include "emulator/driver/memory/memory_file.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
    std::array<char, 256> target{};
    const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
    return {target.data(), length <= 0 ? 0 : static_cast<std::size_t>(length)};
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
    file.descriptor_ = ::memfd_create(memory_file_name(label).c_str(), MFD_CLOEXEC);
    if (file && ::ftruncate(file.descriptor_, static_cast<off_t>(bytes)) != 0) return {};
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
    struct stat properties {};
    if (::fstat(descriptor, &properties) != 0 || !S_ISREG(properties.st_mode)) return {};
    if ((::fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_RDWR) return {};
    MemoryFile file;
    file.descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    file.bytes_ = static_cast<std::size_t>(properties.st_size);
    return file;
}

MemoryFile MemoryFile::open(int process, int descriptor, const std::string& label) {
    const std::string link = fmt::format("/proc/{}/fd/{}", process, descriptor);
    if (!links_to_memory_file(link, label)) return {};
    MemoryFile opened;
    opened.descriptor_ = ::open(link.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    // Between the two calls the process may have put another file there.
    return opened ? import(opened.descriptor_, label) : MemoryFile();
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryFile& MemoryFile::operator=(MemoryFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

MemoryFile::~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

int MemoryFile::duplicate() const noexcept {
    return ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
}

void* MemoryFile::map(std::size_t bytes) const noexcept {
    if (descriptor_ < 0 || bytes > bytes_) return nullptr;
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    return at == MAP_FAILED ? nullptr : at;
}

void MemoryFile::unmap(void* at, std::size_t bytes) noexcept {
    ::munmap(at, bytes);
}

FileIdentity FileIdentity::of(int descriptor) noexcept {
    struct stat properties {};
    if (::fstat(descriptor, &properties) != 0) return {};
    return {properties.st_dev, properties.st_ino};
}

}  // namespace lode::emulator::driver
