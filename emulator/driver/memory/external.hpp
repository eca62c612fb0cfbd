// Memory and semaphores of graphics APIs, which come as file descriptors.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/driver/memory/memory_file.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace lode::emulator::driver {

class Context;

/// Memory from cuImportExternalMemory: a file that can be mapped.
struct ExternalMemory : Handled {
    ExternalMemory(std::shared_ptr<Context> its_context, MemoryFile its_file,
                   std::size_t its_bytes) noexcept
        : owner(std::move(its_context)), file(std::move(its_file)), bytes(its_bytes) {}
    [[nodiscard]] Context& context() const noexcept { return *owner; }

    const std::shared_ptr<Context> owner;
    const MemoryFile file;
    const std::size_t bytes;  ///< As imported; the file may be longer.
};

/// A semaphore from cuImportExternalSemaphore: a file whose first eight bytes are its counter, in
/// the processor's byte order. A timeline semaphore's waits end once the counter has at least their
/// value. A binary semaphore is 1 while it is signalled, and a wait sets it to 0 again.
/// Thread-safe.
class ExternalSemaphore : public Handled {
public:
    ExternalSemaphore(std::shared_ptr<Context> context,
                      std::shared_ptr<std::atomic<std::uint64_t>> counter, bool timeline) noexcept
        : context_(std::move(context)), counter_(std::move(counter)), timeline_(timeline) {}
    [[nodiscard]] Context& context() const noexcept { return *context_; }

    void signal(std::uint64_t value) noexcept;
    /// Blocks. Notices signals of this driver immediately, and values that a program stores itself
    /// within 100 ms.
    void wait(std::uint64_t value) noexcept;

private:
    [[nodiscard]] bool try_wait(std::uint64_t value) noexcept;

    const std::shared_ptr<Context> context_;
    const std::shared_ptr<std::atomic<std::uint64_t>> counter_;
    const bool timeline_;
};

}  // namespace lode::emulator::driver
