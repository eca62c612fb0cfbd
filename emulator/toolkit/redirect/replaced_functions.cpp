#include "emulator/toolkit/redirect/replaced_functions.hpp"

#include "emulator/toolkit/redirect/elf_file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

// Functions of all objects together: CUDA 12.9 has 435, 13.5 has 458.
#define LODE_STUBS 16384
#define LODE_TEXT_OF(word) #word
#define LODE_TEXT(word) LODE_TEXT_OF(word)

#if defined(__x86_64__)

extern "C" {
__attribute__((visibility("hidden"))) extern const unsigned char lode_stubs[][16];
/// Where each stub jumps to.
__attribute__((visibility("hidden"))) const void* lode_targets[LODE_STUBS];
}

// A stub for each function jumps to its target, which is the stub's second half at first. That
// calls `lode_bind` with the function's number, while the arguments are saved, and goes on where it
// says, or returns cudaErrorNotSupported.
asm(R"(
    .text
    .balign 16
lode_stubs:
    .set index, 0
    .rept )" LODE_TEXT(LODE_STUBS) R"(
    jmp *lode_targets + 8 * index(%rip)
    .byte 0x68                              # push
    .long index
    .byte 0xe9                              # jmp
    .long lode_bind_with_arguments - . - 4
    .set index, index + 1
    .endr
lode_bind_with_arguments:
    push %rax
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    push %r10
    sub $128, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    mov 192(%rsp), %edi
    call lode_bind
    mov %rax, %r11
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    add $128, %rsp
    pop %r10
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %rax
    add $8, %rsp
    test %r11, %r11
    jz 1f
    jmp *%r11
1:
    mov $801, %eax
    ret
)");

namespace {

using namespace lode::emulator::redirect;

/// What the second half of a stub follows.
constexpr std::size_t first_half = 6;

struct Function {
    const char* name;
    unsigned object;
};
Function functions[LODE_STUBS];
std::size_t function_count;
/// The names of all versions, each of them once.
constexpr std::size_t most_names = 1024;
const char* names[most_names];
std::size_t name_count;
char name_room[most_names * 48];
std::size_t name_bytes;

/// The objects with a runtime.
constexpr std::size_t most_objects = 64;
struct Object {
    unsigned major;
    void* stand_in;
};
Object objects[most_objects];
std::size_t object_count;

/// The folder of the stand-ins, with the slash.
const char* stand_ins;

/// What has dlmopen and dlsym: libdl before glibc 2.34.
constexpr const char* library_names[] = {"libc.so.6", "libdl.so.2"};
const link_map* libraries[2];

/// A function that a library exports, or nullptr.
const void* find_function(const link_map& library, const char* name) noexcept {
    const ElfFile file(library.l_name);
    if (!file.is_file_of(library)) return nullptr;
    const SymbolTable table = file.symbols(SHT_DYNSYM);
    for (const Elf64_Sym& symbol : table)
        if (is_function(symbol) && equals(table.name(symbol), name))
            return reinterpret_cast<const void*>(library.l_addr + symbol.st_value);
    return nullptr;
}

/// Sets a pointer to a function of the C library, unless it is set.
template <class Signature>
bool find_function(Signature*& function, const char* name) noexcept {
    for (const link_map* library : libraries) {
        if (function != nullptr || library == nullptr) continue;
        void* found = const_cast<void*>(find_function(*library, name));
        function = reinterpret_cast<Signature*>(found);
    }
    return function != nullptr;
}

/// Appends a number in decimal.
bool append_number(char (&room)[path_size], std::size_t& at, unsigned long number) noexcept {
    char digits[20];
    std::size_t from = sizeof(digits);
    do {
        digits[--from] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return append(room, at, digits + from, sizeof(digits) - from);
}

/// A copy of a file in memory; negative without one. The caller closes it.
long copy_of(const char* path) noexcept {
    const long file = system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return file;
    long copy = system_call(SYS_memfd_create, "libcudart", MFD_CLOEXEC);
    if (copy >= 0) {
        constexpr std::size_t most = std::size_t{1} << 30;
        long moved = 1;
        while (moved > 0)
            moved = system_call(SYS_sendfile, copy, file, nullptr, most);
        if (moved < 0) {
            system_call(SYS_close, copy);
            copy = moved;
        }
    }
    system_call(SYS_close, file);
    return copy;
}

/// dlopen of the stand-in for an object. It is loaded from a copy of the file: each object has a
/// runtime with a state of its own, such as the last error.
void* open_stand_in(void* (*open)(Lmid_t, const char*, int), std::size_t object) noexcept {
    char path[path_size];
    std::size_t at = 0;
    if (!append(path, at, stand_ins) ||
        !append(path, at, objects[object].major == 12 ? "libcudart.so.12" : "libcudart.so.13"))
        return nullptr;
    void* opened = nullptr;
    if (const long copy = copy_of(path); copy >= 0) {
        char copied[path_size];
        at = 0;
        bool fits = append(copied, at, "/proc/self/fd/");
        // Another spelling for each: the loader knows loaded files by their paths.
        for (std::size_t i = 0; i < object; ++i)
            fits = fits && append(copied, at, "./");
        if (fits && append_number(copied, at, static_cast<unsigned long>(copy)))
            opened = open(LM_ID_BASE, copied, RTLD_NOW);
        system_call(SYS_close, copy);
    }
    return opened != nullptr ? opened : open(LM_ID_BASE, path, RTLD_NOW);
}

/// dlsym in the stand-in for an object. nullptr if the stand-in can't be opened.
void* symbol_of(std::size_t object, const char* name) noexcept {
    static void* (*find)(void*, const char*);
    static void* (*open)(Lmid_t, const char*, int);
    if (!find_function(find, "dlsym") || !find_function(open, "dlmopen")) return nullptr;
    void* stand_in = __atomic_load_n(&objects[object].stand_in, __ATOMIC_ACQUIRE);
    if (stand_in == nullptr) {
        // No lock: another thread may hold the loader's, and wait here. One of two copies is used.
        void* const opened = open_stand_in(open, object);
        if (__atomic_compare_exchange_n(&objects[object].stand_in, &stand_in, opened, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            stand_in = opened;
    }
    return stand_in != nullptr ? find(stand_in, name) : nullptr;
}

}  // namespace

/// Where the call of a function goes on: nullptr if the stand-in lacks it.
extern "C" __attribute__((visibility("hidden"), used)) const void* lode_bind(unsigned index) {
    const Function& function = functions[index];
    if (const void* found = symbol_of(function.object, function.name)) {
        __atomic_store_n(&lode_targets[index], found, __ATOMIC_RELEASE);
        return found;
    }
    if (void* refuse = symbol_of(function.object, "lode_emulator_refuse"))
        reinterpret_cast<void (*)(const char*)>(refuse)(function.name);
    return nullptr;
}

namespace lode::emulator::redirect {

void watch_library(const link_map& object) noexcept {
    const char* name = object.l_name + directory_length(object.l_name);
    for (std::size_t i = 0; i < 2; ++i)
        if (equals(name, library_names[i])) libraries[i] = &object;
}

bool add_object(unsigned major, const char* folder) noexcept {
    stand_ins = folder;
    if (object_count == most_objects) return false;
    objects[object_count++] = {major, nullptr};
    return true;
}

const void* entry_of(const char* name) noexcept {
    std::size_t which = 0;
    while (which < name_count && !equals(names[which], name))
        ++which;
    if (which == name_count) {
        char* const copy = name_room + name_bytes;
        std::size_t length = 0;
        while (name[length] != '\0')
            ++length;
        if (name_count == most_names || name_bytes + length + 1 > sizeof(name_room)) return nullptr;
        for (std::size_t i = 0; i < length; ++i)
            copy[i] = name[i];
        name_bytes += length + 1;
        names[name_count++] = copy;
    }
    if (object_count == 0 || function_count == LODE_STUBS) return nullptr;
    const std::size_t index = function_count++;
    functions[index] = {names[which], static_cast<unsigned>(object_count - 1)};
    lode_targets[index] = lode_stubs[index] + first_half;
    return lode_stubs[index];
}

void write_jump(unsigned char* place, const void* target) noexcept {
    constexpr unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip)
    for (const unsigned char byte : jump)
        *place++ = byte;
    const auto address = reinterpret_cast<std::uintptr_t>(target);
    for (unsigned i = 0; i < sizeof(address); ++i)
        *place++ = static_cast<unsigned char>(address >> (8 * i));
}

}  // namespace lode::emulator::redirect

#endif
