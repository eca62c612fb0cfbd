#include "jit/nvrtc/linux/import_table.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace LODE_NAMESPACE {
namespace {

#if defined(__x86_64__)
constexpr bool is_import(std::uint64_t type) noexcept {
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}
#elif defined(__aarch64__)
constexpr bool is_import(std::uint64_t type) noexcept {
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
}
#else
constexpr bool is_import(std::uint64_t) noexcept {
    return false;
}
#endif

/// The tables that a library's dynamic section points to.
struct Dynamic {
    const ElfW(Sym) * symbols = nullptr;
    const char* names = nullptr;
    std::span<const ElfW(Rela)> jumps;
    std::span<const ElfW(Rela)> data;  ///< Without the relative relocations at the front.
};

Dynamic read_dynamic(const link_map& library) noexcept {
    Dynamic dynamic;
    // The loader makes most addresses absolute; some systems leave them relative.
    const auto at = [&](ElfW(Addr) address) {
        return address < library.l_addr ? address + library.l_addr : address;
    };
    std::size_t jump_bytes = 0;
    std::size_t data_bytes = 0;
    std::size_t relative = 0;
    const ElfW(Rela)* jumps = nullptr;
    const ElfW(Rela)* data = nullptr;
    for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
        const auto value = entry->d_un.d_val;
        switch (entry->d_tag) {
            case DT_SYMTAB:
                dynamic.symbols = reinterpret_cast<const ElfW(Sym)*>(at(value));
                break;
            case DT_STRTAB:
                dynamic.names = reinterpret_cast<const char*>(at(value));
                break;
            case DT_JMPREL:
                jumps = reinterpret_cast<const ElfW(Rela)*>(at(value));
                break;
            case DT_PLTRELSZ:
                jump_bytes = value;
                break;
            case DT_RELA:
                data = reinterpret_cast<const ElfW(Rela)*>(at(value));
                break;
            case DT_RELASZ:
                data_bytes = value;
                break;
            case DT_RELACOUNT:
                relative = value;
                break;
            default:
                break;
        }
    }
    if (jumps != nullptr) dynamic.jumps = {jumps, jump_bytes / sizeof *jumps};
    if (data != nullptr) dynamic.data = {data, data_bytes / sizeof *data};
    dynamic.data = dynamic.data.subspan(std::min(relative, dynamic.data.size()));
    return dynamic;
}

/// Makes one slot writable, even if the loader has made its page read-only after relocation.
bool unprotect(void** slot) noexcept {
    const auto page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<std::uintptr_t>(slot);
    void* const page = reinterpret_cast<void*>(address / page_size * page_size);
    // The page stays writable: it may share its protection with data that must be writable.
    return ::mprotect(page, page_size, PROT_READ | PROT_WRITE) == 0;
}

}  // namespace

std::optional<std::vector<std::string_view>> replace_imports(
    const void* symbol, std::span<const ImportedFunction> functions,
    std::span<const std::string_view> forbidden) {
    Dl_info info{};
    void* found = nullptr;
    if (::dladdr1(symbol, &info, &found, RTLD_DL_LINKMAP) == 0 || found == nullptr) {
        return std::nullopt;
    }
    const auto& library = *static_cast<const link_map*>(found);
    const Dynamic dynamic = read_dynamic(library);
    if (dynamic.symbols == nullptr || dynamic.names == nullptr) return std::nullopt;

    struct Slot {
        void** place;
        const ImportedFunction* function;
    };
    std::vector<Slot> slots;
    std::vector<std::string_view> names;
    for (const auto& table : {dynamic.jumps, dynamic.data}) {
        for (const ElfW(Rela) & entry : table) {
            const auto index = ELF64_R_SYM(entry.r_info);
            if (index == 0 || !is_import(ELF64_R_TYPE(entry.r_info))) continue;
            const std::string_view name = dynamic.names + dynamic.symbols[index].st_name;
            if (std::ranges::find(forbidden, name) != forbidden.end()) return std::nullopt;
            const auto function = std::ranges::find_if(
                functions, [&](const ImportedFunction& one) { return name == one.name; });
            if (function == functions.end()) continue;
            slots.push_back({reinterpret_cast<void**>(library.l_addr + entry.r_offset),
                             std::to_address(function)});
            names.push_back(name);
        }
    }
    // A slot that has been replaced is left alone: by now another copy of this code may have
    // replaced it again, and forwards to this one, so to forward to that one would never end.
    static std::mutex mutex;
    static auto& replaced = *new std::vector<void**>;  // Until the process has ended.
    const std::lock_guard guard(mutex);
    for (const auto& slot : slots) {
        if (std::ranges::find(replaced, slot.place) != replaced.end()) continue;
        if (!unprotect(slot.place)) return std::nullopt;
        replaced.push_back(slot.place);
        const std::atomic_ref<void*> place(*slot.place);
        void* now = place.load(std::memory_order_acquire);
        do {
            // An unbound slot points into the library itself.
            Dl_info target{};
            if (::dladdr(now, &target) != 0 && target.dli_fbase != info.dli_fbase)
                slot.function->next->store(now, std::memory_order_release);
        } while (!place.compare_exchange_weak(now, slot.function->replacement,
                                              std::memory_order_acq_rel));
    }
    return names;
}

}  // namespace LODE_NAMESPACE
