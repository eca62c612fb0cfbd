// The functions of NVIDIA's library in a stand-in that depends on it. liblode_redirect.so gives the
// loader its file.
#pragma once

#include <dlfcn.h>

namespace lode::emulator::toolkit {

/// A function of the original, or nullptr.
template <class Function>
Function* original(const char* name) noexcept {
    // It is loaded, and the loader knows it by this name.
    void* const library = ::dlopen(LODE_ORIGINAL, RTLD_NOW | RTLD_LOCAL);
    return library != nullptr ? reinterpret_cast<Function*>(::dlsym(library, name)) : nullptr;
}

}  // namespace lode::emulator::toolkit
