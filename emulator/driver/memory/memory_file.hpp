// Files without a name, whose pages can be memory in several places and processes.
#pragma once

#include "base/os/descriptor.hpp"
#include "base/os/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lode::emulator::driver {

/// Owns a descriptor of such a file.
class MemoryFile {
public:
    /// `label` becomes part of the name under which the system lists the descriptor. Invalid if
    /// the system refuses.
    static MemoryFile create(std::size_t bytes, const std::string& label);
    /// A duplicate of a descriptor, from this process or another; invalid if it isn't one of
    /// create() with this label.
    static MemoryFile import(int descriptor, const std::string& label);
    /// A duplicate of any other descriptor of a file; invalid if it can't be read and written, and
    /// for this driver's own files.
    static MemoryFile import_foreign(int descriptor);
    /// The file of a process of the same user. Invalid if the process has ended or closed it, or
    /// has opened something else under this number.
    static MemoryFile open(int process, int descriptor, const std::string& label);

    explicit operator bool() const noexcept { return bool{descriptor_}; }
    [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    /// A new descriptor, which the caller closes; -1 if the system refuses.
    [[nodiscard]] int duplicate() const noexcept;

    /// The start of the file as a T, of which all zeros are a value; nullptr if the file is shorter
    /// or the system refuses. It may outlive the descriptor.
    template <class T>
    [[nodiscard]] std::shared_ptr<T> view() const {
        if (bytes_ < sizeof(T)) return nullptr;
        void* const at = os::map_file(descriptor_.get(), 0, sizeof(T));
        if (at == nullptr) return nullptr;
        return {static_cast<T*>(at), [](T* mapped) { os::unmap(mapped, sizeof(T)); }};
    }

private:
    static MemoryFile import_any(int descriptor);

    Descriptor descriptor_;
    std::size_t bytes_ = 0;
};

/// Which file a descriptor is of, as long as the file is open.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t node = 0;

    /// All zeros for a descriptor that isn't open.
    static FileIdentity of(int descriptor) noexcept;
    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

}  // namespace lode::emulator::driver
