// A program that knows nothing of lode: it opens the CUDA driver by its name and prints the names
// of the devices. With a second argument, each of whose letters is a step, it also behaves as
// others do, and ends with 0:
//
//   i  calls cuInit
//   r  asks for a table that isn't documented and gives up, as NVIDIA's runtime library does
//   n  asks for another one and goes on, as NVRTC does
//   m  loads machine code
//   p  loads the same kernel as PTX
#include "base/elf.hpp"

#include <array>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>

namespace {

template <class Function>
Function* entry_of(void* library, const char* name) {
    return reinterpret_cast<Function*>(::dlsym(library, name));
}

/// A cubin with one kernel, `k`.
struct Cubin {
    lode::elf::Header header{};
    lode::elf::Symbol symbol{};
    std::array<char, 8> names{'\0', 'k', '\0'};
    std::array<lode::elf::Section, 3> sections{};

    Cubin() {
        std::memcpy(header.ident.data(), "\177ELF\2", 5);
        header.machine = lode::elf::machine_cuda;
        header.sections_at = sizeof(header) + sizeof(symbol) + sizeof(names);
        header.section_bytes = sizeof(lode::elf::Section);
        header.sections = static_cast<std::uint16_t>(sections.size());
        sections[1].type = lode::elf::symbol_table;
        sections[1].offset = sizeof(header);
        sections[1].bytes = sizeof(symbol);
        sections[1].link = 2;
        sections[2].offset = sizeof(header) + sizeof(symbol);
        sections[2].bytes = names.size();
        symbol.name = 1;
        symbol.info = lode::elf::global_binding << 4U | lode::elf::function_type;
        symbol.other = 0x10;  // A kernel.
        symbol.section = 1;
    }
};

void load(void* library, const void* image) {
    void* context = nullptr;
    void* module = nullptr;
    entry_of<int(void**, int)>(library, "cuDevicePrimaryCtxRetain")(&context, 0);
    entry_of<int(void*)>(library, "cuCtxSetCurrent")(context);
    entry_of<int(void**, const void*)>(library, "cuModuleLoadData")(&module, image);
}

/// Returns whether the program goes on.
bool take(char step, void* library) {
    static const Cubin cubin;
    static const unsigned char runtime_table[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                  0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
    static const unsigned char other_table[16] = {};
    const void* table = nullptr;
    auto* const table_of = entry_of<int(const void**, const void*)>(library, "cuGetExportTable");
    switch (step) {
        case 'i':
            return entry_of<int(unsigned)>(library, "cuInit")(0) == 0;
        case 'r':
            return table_of(&table, runtime_table) == 0;
        case 'n':
            return table_of(&table, other_table) != 0;
        case 'm':
            load(library, &cubin);
            return true;
        default:
            load(library, ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { ret; }\n");
            return true;
    }
}

}  // namespace

int main(int argc, char** argv) {
    void* const library = ::dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
        std::puts("no driver");
        return 3;
    }
    auto* const initialise = entry_of<int(unsigned)>(library, "cuInit");
    auto* const count_devices = entry_of<int(int*)>(library, "cuDeviceGetCount");
    auto* const device_name = entry_of<int(char*, int, int)>(library, "cuDeviceGetName");
    for (const char* step = argc > 2 ? argv[2] : ""; *step != '\0'; ++step)
        if (!take(*step, library)) return 0;
    int count = 0;
    if (initialise(0) != 0 || count_devices(&count) != 0) return 4;
    for (int i = 0; i < count; ++i) {
        char name[256] = "";
        if (device_name(name, sizeof(name), i) != 0) return 5;
        std::puts(name);
    }
    return 0;
}
