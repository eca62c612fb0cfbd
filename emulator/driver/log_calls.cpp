// cuLogs…
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/log.hpp"

#include <cstring>
#include <fstream>

namespace lode::emulator::driver {

LODE_ENTRY cuLogsRegisterCallback(CUlogsCallback callbackFunc, void* userData,
                                  CUlogsCallbackHandle* callback_out) {
    return enter_early(__func__, [&]() -> CUresult {
        if (callbackFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
        void* handle = log::add_callback(
            [callbackFunc](void* data, int level, char* message, std::size_t length) {
                callbackFunc(data, static_cast<CUlogLevel>(level), message, length);
            },
            userData);
        if (callback_out != nullptr) *callback_out = static_cast<CUlogsCallbackHandle>(handle);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuLogsUnregisterCallback(CUlogsCallbackHandle callback) {
    return enter_release(__func__, [&]() -> CUresult {
        return log::remove_callback(callback) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuLogsCurrent(CUlogIterator* iterator_out, unsigned int flags) {
    return enter_early(__func__, [&]() -> CUresult {
        if (iterator_out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        *iterator_out = log::next_line();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuLogsDumpToFile(CUlogIterator* iterator, const char* pathToFile, unsigned int flags) {
    return enter_early(__func__, [&]() -> CUresult {
        if (pathToFile == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        std::uint32_t next = 0;
        const std::string text = log::lines_from(iterator == nullptr ? 0 : *iterator, next);
        std::ofstream file(pathToFile, std::ios::binary | std::ios::app);
        if (!(file << text)) return CUDA_ERROR_INVALID_VALUE;
        if (iterator != nullptr) *iterator = next;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuLogsDumpToMemory(CUlogIterator* iterator, char* buffer, size_t* size,
                              unsigned int flags) {
    return enter_early(__func__, [&]() -> CUresult {
        if (buffer == nullptr || size == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        std::uint32_t next = 0;
        std::string text = log::lines_from(iterator == nullptr ? 0 : *iterator, next);
        // Drops the oldest lines if there isn't room for all.
        while (text.size() + 1 > *size && !text.empty())
            text.erase(0, text.find('\n') + 1);
        if (text.empty() && *size == 0) return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(buffer, text.c_str(), text.size() + 1);
        *size = text.size();
        if (iterator != nullptr) *iterator = next;
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
