// libNVVM and nvJitLink called by hand, in a program that has nothing of lode's way to them: the
// judge of what lode makes of IR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace lode::test {

inline std::string text_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A library that stays open.
class DirectLibrary {
public:
    explicit DirectLibrary(const std::filesystem::path& file)
        : handle_(::dlopen(file.c_str(), RTLD_NOW)) {}

    template <class... Arguments>
    int call(const char* name, Arguments... arguments) const {
        void* const function = ::dlsym(handle_, name);
        return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
    }
    /// Two calls: one for the size, one for the bytes.
    [[nodiscard]] std::string fetch(void* from, const char* size_of, const char* get) const {
        std::size_t size = 0;
        call(size_of, from, &size);
        std::string bytes(size, '\0');
        call(get, from, bytes.data());
        return bytes;
    }

private:
    void* handle_;
};

inline std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<const char*> pointers;
    for (const auto& text : texts)
        pointers.push_back(text.c_str());
    return pointers;
}

/// The PTX of a module, or LTO-IR; empty if libNVVM refuses it.
inline std::string nvvm_compile(const DirectLibrary& nvvm, const std::string& code,
                                const std::string& name, const std::string& libdevice,
                                const std::vector<std::string>& flags) {
    void* program = nullptr;
    nvvm.call("nvvmCreateProgram", &program);
    nvvm.call("nvvmAddModuleToProgram", program, code.c_str(), code.size(), name.c_str());
    if (!libdevice.empty()) {
        nvvm.call("nvvmLazyAddModuleToProgram", program, libdevice.c_str(), libdevice.size(),
                  "libdevice");
    }
    auto pointers = pointers_to(flags);
    std::string made;
    if (nvvm.call("nvvmCompileProgram", program, static_cast<int>(pointers.size()),
                  pointers.data()) == 0) {
        made = nvvm.fetch(program, "nvvmGetCompiledResultSize", "nvvmGetCompiledResult");
        if (made.starts_with("//")) made.pop_back();  // PTX has a NUL at its end.
    }
    nvvm.call("nvvmDestroyProgram", &program);
    return made;
}

/// Machine code of PTX; empty if nvJitLink refuses it.
inline std::string nvjitlink_assemble(const DirectLibrary& linker, const std::string& ptx,
                                      const std::string& name,
                                      const std::vector<std::string>& flags) {
    void* link = nullptr;
    auto pointers = pointers_to(flags);
    constexpr int ptx_input = 2;
    std::string made;
    if (linker.call("nvJitLinkCreate", &link, static_cast<std::uint32_t>(pointers.size()),
                    pointers.data()) == 0 &&
        linker.call("nvJitLinkAddData", link, ptx_input, ptx.c_str(), ptx.size() + 1,
                    name.c_str()) == 0 &&
        linker.call("nvJitLinkComplete", link) == 0)
        made = linker.fetch(link, "nvJitLinkGetLinkedCubinSize", "nvJitLinkGetLinkedCubin");
    linker.call("nvJitLinkDestroy", &link);
    return made;
}

}  // namespace lode::test
