// cuLink…: linking PTX, also that of fat binaries. The result is PTX too, which cuModuleLoadData
// and cuLibraryLoadData accept.
#include "emulator/decode/ptx/link_input.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/log.hpp"
#include "emulator/driver/version.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

template <class Body>
CUresult enter_link(const char* symbol, CUlinkState handle, Body&& body) noexcept {
    return enter_context(symbol, [&](Context& context) -> CUresult {
        const auto state = driver().links.find(handle);
        if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        const std::lock_guard lock(state->mutex);
        return body(context, *state);
    });
}

CUresult refuse_link(const LinkState& state, CUresult code, std::string_view why) {
    state.logs.write(why, true, state.watch.milliseconds());
    log::report(std::string(why));
    return code;
}

CUresult add_input(const Context& context, LinkState& state, CUjitInputType type,
                   std::string_view bytes, const char* name, unsigned count,
                   const CUjit_option* options, void** values) {
    if (type >= CU_JIT_NUM_INPUT_TYPES || state.is_complete) return CUDA_ERROR_INVALID_VALUE;
    JitLogs unused;
    if (const CUresult wrong = read_jit_options(count, options, values, unused);
        wrong != CUDA_SUCCESS)
        return wrong;
    const std::string named = name != nullptr && *name != '\0' ? name : "unnamed";
    if (ptx::is_device_runtime(bytes, named)) {
        state.link.add_device_runtime();
        return CUDA_SUCCESS;
    }
    std::string text(bytes);
    if (type != CU_JIT_INPUT_PTX) {
        auto ptx = ptx::ptx_of_link_input(bytes, context.device().profile.cc, named);
        if (!ptx) return refuse_link(state, CUDA_ERROR_NO_BINARY_FOR_GPU, ptx.error().message);
        text = *std::move(ptx);
    }
    const std::string error = state.link.add(text, named);
    return error.empty() ? CUDA_SUCCESS : refuse_link(state, CUDA_ERROR_INVALID_PTX, error);
}

}  // namespace

LODE_ENTRY cuLinkCreate_v2(unsigned int numOptions, CUjit_option* options, void** optionValues,
                           CUlinkState* stateOut) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        if (stateOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
        JitLogs logs;
        if (const CUresult wrong = read_jit_options(numOptions, options, optionValues, logs);
            wrong != CUDA_SUCCESS)
            return wrong;
        *stateOut = driver().links.add(std::make_shared<LinkState>(newest_ptx(), logs));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size,
                            const char* name, unsigned int numOptions, CUjit_option* options,
                            void** optionValues) {
    return enter_link(__func__, state, [&](const Context& context, LinkState& link) -> CUresult {
        if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
        return add_input(context, link, type, {static_cast<const char*>(data), size}, name,
                         numOptions, options, optionValues);
    });
}

LODE_ENTRY cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path,
                            unsigned int numOptions, CUjit_option* options, void** optionValues) {
    return enter_link(__func__, state, [&](const Context& context, LinkState& link) -> CUresult {
        std::string content;
        if (const CUresult failed = read_file(path, content); failed != CUDA_SUCCESS) return failed;
        return add_input(context, link, type, content, path, numOptions, options, optionValues);
    });
}

LODE_ENTRY cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) {
    return enter_link(__func__, state, [&](const Context&, LinkState& link) -> CUresult {
        if (cubinOut == nullptr || sizeOut == nullptr || link.link.empty())
            return CUDA_ERROR_INVALID_VALUE;
        if (!link.is_complete) {
            if (const std::string errors = link.link.complete(); !errors.empty())
                return refuse_link(link, CUDA_ERROR_NO_BINARY_FOR_GPU, errors);
            link.is_complete = true;
            link.logs.write({}, false, link.watch.milliseconds());
        }
        // Callers get a pointer to writable bytes, which the state owns; the size includes the NUL.
        const std::string& text = link.link.result();
        *cubinOut = const_cast<char*>(text.c_str());
        *sizeOut = text.size() + 1;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuLinkDestroy(CUlinkState state) {
    return enter_release(__func__, [&]() -> CUresult {
        return driver().links.remove(state) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
