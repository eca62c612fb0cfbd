#include "emulator/toolkit/redirect/replaced_functions.hpp"

#include "emulator/toolkit/redirect/elf_file.hpp"

#include <dlfcn.h>

// CUDA 12.9 has 435 functions, 13.5 has 458.
#define LODE_STUBS 1536
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
    unsigned major;
};
Function functions[LODE_STUBS];
std::size_t function_count;
char name_room[LODE_STUBS * 48];
std::size_t name_bytes;

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

/// dlsym in the stand-in of a version. nullptr if the stand-in can't be opened.
void* symbol_of(unsigned major, const char* name) noexcept {
    static void* (*find)(void*, const char*);
    static void* (*open)(Lmid_t, const char*, int);
    static void* handles[2];
    const unsigned which = major == 12 ? 0 : 1;
    if (!find_function(find, "dlsym") || !find_function(open, "dlmopen")) return nullptr;
    if (handles[which] == nullptr) {
        char path[path_size];
        std::size_t at = 0;
        if (append(path, at, stand_ins) &&
            append(path, at, which == 0 ? "libcudart.so.12" : "libcudart.so.13"))
            handles[which] = open(LM_ID_BASE, path, RTLD_NOW);
    }
    return handles[which] != nullptr ? find(handles[which], name) : nullptr;
}

}  // namespace

/// Where the call of a function goes on: nullptr if the stand-in lacks it.
extern "C" __attribute__((visibility("hidden"), used)) const void* lode_bind(unsigned index) {
    const Function& function = functions[index];
    if (const void* found = symbol_of(function.major, function.name)) {
        __atomic_store_n(&lode_targets[index], found, __ATOMIC_RELEASE);
        return found;
    }
    if (void* refuse = symbol_of(function.major, "lode_emulator_refuse"))
        reinterpret_cast<void (*)(const char*)>(refuse)(function.name);
    return nullptr;
}

namespace lode::emulator::redirect {

void watch_library(const link_map& object) noexcept {
    const char* name = object.l_name + directory_length(object.l_name);
    for (std::size_t i = 0; i < 2; ++i)
        if (equals(name, library_names[i])) libraries[i] = &object;
}

const void* entry_of(const char* name, unsigned major, const char* folder) noexcept {
    stand_ins = folder;
    for (std::size_t i = 0; i < function_count; ++i)
        if (functions[i].major == major && equals(functions[i].name, name)) return lode_stubs[i];
    char* const copy = name_room + name_bytes;
    std::size_t length = 0;
    for (; name[length] != '\0'; ++length) {
        if (name_bytes + length + 1 >= sizeof(name_room)) return nullptr;
        copy[length] = name[length];
    }
    if (function_count == LODE_STUBS) return nullptr;
    name_bytes += length + 1;
    const std::size_t index = function_count++;
    functions[index] = {copy, major};
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
