// cuImportExternalMemory, cuImportExternalSemaphore and what is done with their results.
#include "base/os/descriptor.hpp"
#include "base/os/memory.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/memory/external.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <bit>
#include <vector>

namespace lode::emulator::driver {
namespace {

/// The half of a counter that every increment changes, as the word of a futex.
const std::atomic<std::uint32_t>& low_word(const std::atomic<std::uint64_t>& counter) noexcept {
    static_assert(std::endian::native == std::endian::little);
    return reinterpret_cast<const std::atomic<std::uint32_t>&>(counter);
}

/// Checks the arguments that signals and waits share, and finds the semaphores.
template <class Parameters>
CUresult find_semaphores(const CUexternalSemaphore* handles, const Parameters* parameters,
                         unsigned count, std::vector<std::shared_ptr<ExternalSemaphore>>& found) {
    if (handles == nullptr || parameters == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
        auto semaphore = driver().external_semaphores.find(handles[i]);
        if (semaphore == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (parameters[i].flags != 0) return CUDA_ERROR_INVALID_VALUE;
        found.push_back(std::move(semaphore));
    }
    return CUDA_SUCCESS;
}

/// Enqueues operation(semaphore, value) for each of the semaphores.
template <class Parameters, class Operation>
CUresult enqueue_for_each(const char* symbol, const CUexternalSemaphore* handles,
                          const Parameters* parameters, unsigned count, CUstream stream,
                          DefaultStream null_means, Operation operation) {
    return enter(symbol, [&]() -> CUresult {
        StreamUse use;
        if (const CUresult state = resolve_stream(stream, null_means, use); state != CUDA_SUCCESS)
            return state;
        std::vector<std::shared_ptr<ExternalSemaphore>> semaphores;
        if (const CUresult wrong = find_semaphores(handles, parameters, count, semaphores);
            wrong != CUDA_SUCCESS)
            return wrong;
        if (const auto refused = driver().graph_tables.captures.refuse_by_name(
                use, "external semaphores in a stream capture"))
            return *refused;
        if (driver().order != nullptr) driver().order->learn_all();  // What others do isn't known.
        for (unsigned i = 0; i < count; ++i) {
            use.submit([semaphore = semaphores[i], value = parameters[i].params.fence.value,
                        operation] { operation(*semaphore, value); });
        }
        return CUDA_SUCCESS;
    });
}

}  // namespace

void ExternalSemaphore::signal(std::uint64_t value) noexcept {
    *counter_ = timeline_ ? value : 1;
    os::wake_waiters(low_word(*counter_));
}

bool ExternalSemaphore::try_wait(std::uint64_t value) noexcept {
    if (timeline_) return *counter_ >= value;
    std::uint64_t signalled = 1;
    return counter_->compare_exchange_strong(signalled, 0);
}

void ExternalSemaphore::wait(std::uint64_t value) noexcept {
    while (true) {
        const std::uint32_t seen = low_word(*counter_);
        if (try_wait(value)) return;
        os::wait_for_change(low_word(*counter_), seen);
    }
}

LODE_ENTRY cuImportExternalMemory(CUexternalMemory* extMem_out,
                                  const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* memHandleDesc) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (extMem_out == nullptr || memHandleDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto& desc = *memHandleDesc;
        if (desc.type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
            return gate::refuse("external memory that isn't a file descriptor");
        MemoryFile file = MemoryFile::import_foreign(desc.handle.fd);
        if (!file || desc.size == 0 || desc.size > file.bytes() ||
            (desc.flags & ~unsigned{CUDA_EXTERNAL_MEMORY_DEDICATED}) != 0)
            return CUDA_ERROR_INVALID_VALUE;
        *extMem_out = driver().external_memory.add(std::make_shared<ExternalMemory>(
            context.shared_from_this(), std::move(file), static_cast<std::size_t>(desc.size)));
        os::close_file(desc.handle.fd);  // The driver owns it from now on.
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuExternalMemoryGetMappedBuffer(CUdeviceptr* devPtr, CUexternalMemory extMem,
                                           const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* bufferDesc) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        const auto memory = driver().external_memory.find(extMem);
        if (memory == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (devPtr == nullptr || bufferDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto& desc = *bufferDesc;
        if (desc.flags != 0 || desc.size == 0 || desc.offset > memory->bytes ||
            desc.size > memory->bytes - desc.offset)
            return CUDA_ERROR_INVALID_VALUE;
        std::uint64_t address = 0;
        const CUresult mapped =
            driver().imports.map(memory->file, desc.offset, desc.size, Imports::Origin::external,
                                 context, "cuExternalMemoryGetMappedBuffer", address);
        if (mapped == CUDA_SUCCESS) *devPtr = address;
        return mapped;
    });
}

LODE_ENTRY cuDestroyExternalMemory(CUexternalMemory extMem) {
    return enter_release(__func__, [&]() -> CUresult {
        return driver().external_memory.remove(extMem) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                                  : CUDA_SUCCESS;
    });
}

LODE_ENTRY cuImportExternalSemaphore(CUexternalSemaphore* extSem_out,
                                     const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* semHandleDesc) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (extSem_out == nullptr || semHandleDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto& desc = *semHandleDesc;
        const bool timeline = desc.type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
        if (!timeline && desc.type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD)
            return gate::refuse("external semaphores that aren't file descriptors");
        auto counter =
            MemoryFile::import_foreign(desc.handle.fd).view<std::atomic<std::uint64_t>>();
        if (counter == nullptr || desc.flags != 0) return CUDA_ERROR_INVALID_VALUE;
        *extSem_out = driver().external_semaphores.add(std::make_shared<ExternalSemaphore>(
            context.shared_from_this(), std::move(counter), timeline));
        os::close_file(desc.handle.fd);  // The driver owns it from now on.
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDestroyExternalSemaphore(CUexternalSemaphore extSem) {
    return enter_release(__func__, [&]() -> CUresult {
        return driver().external_semaphores.remove(extSem) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                                      : CUDA_SUCCESS;
    });
}

LODE_ENTRY_TWINS(cuSignalExternalSemaphoresAsync, _ptsz,
                 (const CUexternalSemaphore* extSemArray,
                  const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* paramsArray, unsigned int numExtSems,
                  CUstream stream),
                 {
                     return enqueue_for_each(__func__, extSemArray, paramsArray, numExtSems, stream,
                                             default_stream,
                                             [](ExternalSemaphore& semaphore, std::uint64_t value) {
                                                 semaphore.signal(value);
                                             });
                 })

LODE_ENTRY_TWINS(cuWaitExternalSemaphoresAsync, _ptsz,
                 (const CUexternalSemaphore* extSemArray,
                  const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* paramsArray, unsigned int numExtSems,
                  CUstream stream),
                 {
                     return enqueue_for_each(__func__, extSemArray, paramsArray, numExtSems, stream,
                                             default_stream,
                                             [](ExternalSemaphore& semaphore, std::uint64_t value) {
                                                 semaphore.wait(value);
                                             });
                 })

}  // namespace lode::emulator::driver
