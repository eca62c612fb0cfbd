#include "emulator/toolkit/redirect/static_runtime.hpp"

#include "emulator/toolkit/redirect/elf_file.hpp"
#include "emulator/toolkit/redirect/replaced_functions.hpp"
#include "emulator/toolkit/redirect/static_runtime_table.hpp"

#include <sys/mman.h>

namespace lode::emulator::redirect {

#if defined(__x86_64__)

namespace {

/// Where an object has the code of the static runtime.
struct StaticRuntime {
    std::uint64_t start = 0;  ///< Addresses in the object's file.
    std::uint64_t end = 0;
    unsigned version = 0;  ///< As cudaRuntimeGetVersion gives it; 0 if it isn't known.
};

/// Symbols by which an object is told from the many that have nothing of it: what libcudart_static
/// takes from the C library, and few others do.
bool may_contain_runtime(const ElfFile& file) noexcept {
    constexpr const char* names[] = {"nftw", "dlvsym", "get_nprocs"};
    constexpr unsigned all = (1U << (sizeof(names) / sizeof(*names))) - 1;
    const SymbolTable table = file.symbols(SHT_DYNSYM);
    unsigned found = 0;
    for (const Elf64_Sym& symbol : table) {
        if (symbol.st_shndx != SHN_UNDEF) continue;
        for (unsigned i = 0; (all >> i) != 0; ++i)
            if (equals(table.name(symbol), names[i])) found |= 1U << i;
    }
    return found == all;
}

/// Whether a text has only characters of `allowed`, and how many.
bool consists_of(const char* text, const char* allowed, std::size_t& count) noexcept {
    for (count = 0; text[count] != '\0'; ++count) {
        const char* one = allowed;
        while (*one != '\0' && *one != text[count])
            ++one;
        if (*one == '\0') return false;
    }
    return true;
}

/// Whether it is one of the names that libcudart_static gives its private functions: a digest since
/// CUDA 12.4, a number before.
bool is_private_name(const char* name) noexcept {
    std::size_t count = 0;
    if (const char* digits = after(name, "libcudart_static_"))
        return consists_of(digits, "0123456789abcdef", count) && count == 40;
    const char* number = after(name, "__cudart");
    return number != nullptr && consists_of(number, "0123456789", count) && count > 0;
}

bool is_public_name(const char* name) noexcept {
    const char* rest = after(name, "__");
    rest = after(rest != nullptr ? rest : name, "cuda");
    return rest != nullptr && *rest >= 'A' && *rest <= 'Z';
}

/// The version that the runtime's code gives: its only instruction of this form with such a number.
unsigned version_of(const unsigned char* code, std::uint64_t bytes) noexcept {
    unsigned version = 0;
    for (std::uint64_t i = 0; i + 6 <= bytes; ++i) {
        if (code[i] != 0xc7 || code[i + 1] != 0x07) continue;  // movl $number, (%rdi)
        const unsigned number = code[i + 2] | code[i + 3] << 8U | code[i + 4] << 16U |
                                static_cast<unsigned>(code[i + 5]) << 24U;
        if (number < 10000 || number >= 20000 || number % 10 != 0) continue;
        if (version != 0 && version != number) return 0;
        version = number;
    }
    return version;
}

/// Whether lode has a stand-in for this version.
bool is_known_version(unsigned version) noexcept {
    return version / 1000 == 12 || version / 1000 == 13;
}

/// The functions of a runtime, and what they jump to.
class Replacement {
public:
    Replacement(const link_map& object, const ElfFile& file, const StaticRuntime& runtime,
                const char* folder) noexcept
        : object_(object), file_(file), runtime_(runtime), folder_(folder) {}

    /// False if the object isn't what it should be. Nothing has been written then.
    bool add(const char* name, std::uint64_t address) noexcept {
        if (address % 16 != 0) return false;  // So that there is room for a jump.
        const unsigned char* code = file_.code(address, jump_bytes);
        if (code == nullptr || count_ == most) return false;
        const auto* place = reinterpret_cast<const unsigned char*>(object_.l_addr + address);
        for (std::size_t i = 0; i < jump_bytes; ++i)
            if (place[i] != code[i]) return false;
        for (std::size_t i = 0; i < count_; ++i)
            if (rows_[i].address == address || equals(rows_[i].name, name)) return false;
        rows_[count_++] = {address, name};
        return true;
    }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// Writes the jumps, unless there is no room for more of them.
    void write() noexcept {
        if (!add_object(runtime_.version / 1000, folder_)) return;
        const void* targets[most];
        for (std::size_t i = 0; i < count_; ++i)
            if ((targets[i] = entry_of(rows_[i].name)) == nullptr) return;
        constexpr std::uint64_t page = 4096;
        const std::uint64_t from = (object_.l_addr + runtime_.start) & ~(page - 1);
        const auto bytes =
            static_cast<std::intptr_t>(object_.l_addr + runtime_.end + page - 1 - from);
        auto* const start = reinterpret_cast<const void*>(from);
        if (system_call(SYS_mprotect, start, bytes & ~std::intptr_t{page - 1},
                        PROT_READ | PROT_WRITE) != 0)
            return;
        for (std::size_t i = 0; i < count_; ++i)
            write_jump(reinterpret_cast<unsigned char*>(object_.l_addr + rows_[i].address),
                       targets[i]);
        system_call(SYS_mprotect, start, bytes & ~std::intptr_t{page - 1}, PROT_READ | PROT_EXEC);
    }

private:
    static constexpr std::size_t most = 768;
    struct Row {
        std::uint64_t address;
        const char* name;
    };

    const link_map& object_;
    const ElfFile& file_;
    const StaticRuntime& runtime_;
    const char* folder_;
    Row rows_[most];
    std::size_t count_ = 0;
};

/// The functions around cudaMalloc that all have names of libcudart_static, from the first private
/// one to the last. A program's own functions with such names lie elsewhere.
bool find_by_names(const ElfFile& file, const SymbolTable& table, StaticRuntime& found) noexcept {
    std::uint64_t middle = 0;
    for (const Elf64_Sym& symbol : table) {
        if (!is_function(symbol) || !equals(table.name(symbol), "cudaMalloc")) continue;
        if (middle != 0) return false;
        middle = symbol.st_value;
    }
    if (middle == 0) return false;
    std::uint64_t before = 0;
    std::uint64_t after = ~std::uint64_t{0};
    for (const Elf64_Sym& symbol : table) {
        const char* name = table.name(symbol);
        if (!is_function(symbol) || is_public_name(name) || is_private_name(name)) continue;
        if (symbol.st_value < middle && symbol.st_value > before) before = symbol.st_value;
        if (symbol.st_value > middle && symbol.st_value < after) after = symbol.st_value;
    }
    constexpr std::size_t enough = 500;  // CUDA 12.9 has 1270.
    std::size_t count = 0;
    found.start = ~std::uint64_t{0};
    for (const Elf64_Sym& symbol : table) {
        if (!is_function(symbol) || !is_private_name(table.name(symbol))) continue;
        if (symbol.st_value < before || symbol.st_value >= after) continue;
        ++count;
        if (symbol.st_value < found.start) found.start = symbol.st_value;
        if (symbol.st_value + symbol.st_size > found.end)
            found.end = symbol.st_value + symbol.st_size;
    }
    if (count < enough) return false;
    const std::uint64_t bytes = found.end - found.start;
    const unsigned char* code = file.code(found.start, bytes);
    if (code == nullptr) return false;
    found.version = version_of(code, bytes);
    return is_known_version(found.version);
}

bool replace_by_names(const link_map& object, const ElfFile& file, const char* folder) noexcept {
    constexpr std::size_t enough = 300;  // CUDA 13.0 has 422.
    const SymbolTable table = file.symbols(SHT_SYMTAB);
    StaticRuntime runtime;
    if (!find_by_names(file, table, runtime)) return false;
    Replacement replacement(object, file, runtime, folder);
    for (const Elf64_Sym& symbol : table) {
        const char* name = table.name(symbol);
        if (!is_function(symbol) || !is_public_name(name)) continue;
        if (symbol.st_value < runtime.start || symbol.st_value >= runtime.end) continue;
        if (!replacement.add(name, symbol.st_value)) return false;
    }
    if (replacement.count() < enough) return false;
    replacement.write();
    return true;
}

/// Finds it by comparing code with that of the known releases.
void replace_by_digest(const link_map& object, const ElfFile& file, const char* folder) noexcept {
    const RuntimeTable table(folder);
    table.find_in(file, [&](const RuntimeRow& row, std::uint64_t start) {
        const StaticRuntime runtime{start, start + row.bytes, row.version};
        const FunctionRow* functions = table.functions(row);
        if (functions == nullptr || !is_known_version(row.version)) return;
        Replacement replacement(object, file, runtime, folder);
        for (std::size_t i = 0; i < row.function_count; ++i) {
            if (!replacement.add(table.name(functions[i].name),
                                 start + std::uint64_t{functions[i].sixteenth} * 16))
                return;
        }
        replacement.write();
    });
}

}  // namespace

void watch_object(const link_map& object, bool is_in_base_space, const char* folder) noexcept {
    if (is_in_base_space) watch_library(object);
    const char* path = object.l_name[0] != '\0' ? object.l_name : "/proc/self/exe";
    const ElfFile file(path);
    if (!file.is_file_of(object) || !may_contain_runtime(file)) return;
    if (!replace_by_names(object, file, folder)) replace_by_digest(object, file, folder);
}

#else

void watch_object(const link_map&, bool, const char*) noexcept {}

#endif

}  // namespace lode::emulator::redirect
