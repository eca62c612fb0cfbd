// A program that knows nothing of lode: it opens the CUDA driver by its name and prints the names
// of the devices. With a second argument it behaves like NVIDIA's runtime library, which asks for
// an undocumented table first and fails every call when it doesn't get it.
#include <cstdio>

#include <dlfcn.h>

namespace {

template <class Function>
Function* entry_of(void* library, const char* name) {
    return reinterpret_cast<Function*>(::dlsym(library, name));
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
    if (argc > 2) {
        auto* const table_of =
            entry_of<int(const void**, const void*)>(library, "cuGetExportTable");
        const void* table = nullptr;
        const unsigned char id[16] = {};
        if (table_of(&table, id) != 0) return 0;
    }
    int count = 0;
    if (initialise(0) != 0 || count_devices(&count) != 0) return 4;
    for (int i = 0; i < count; ++i) {
        char name[256] = "";
        if (device_name(name, sizeof(name), i) != 0) return 5;
        std::puts(name);
    }
    return 0;
}
