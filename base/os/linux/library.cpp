#include "base/os/library.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

namespace LODE_NAMESPACE::os {
namespace {

/// Leads to the program's file.
constexpr std::string_view program_link = "/proc/self/exe";

/// Calls visit(library) for each loaded one, the program first, until it returns true.
template <class Visit>
void visit_libraries(Visit visit) noexcept {
    ::dl_iterate_phdr(
        [](dl_phdr_info* library, std::size_t /*size*/, void* argument) {
            return (*static_cast<Visit*>(argument))(*library) ? 1 : 0;
        },
        &visit);
}

std::span<const ElfW(Phdr)> segments_of(const dl_phdr_info& library) noexcept {
    return {library.dlpi_phdr, library.dlpi_phnum};
}

/// The GNU build ID among an ELF file's notes, in hexadecimal; empty if there is none.
std::string build_id_in(const char* notes, std::size_t size) {
    constexpr auto aligned = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
    constexpr std::string_view gnu("GNU\0", 4);
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        std::memcpy(&note, notes, sizeof(note));
        const auto name_size = aligned(note.n_namesz);
        const std::size_t whole = sizeof(note) + name_size + aligned(note.n_descsz);
        if (whole > size) return {};
        const std::string_view name(notes + sizeof(note), note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && name == gnu) {
            std::string id;
            for (std::size_t i = 0; i < note.n_descsz; ++i)
                id += fmt::format("{:02x}",
                                  static_cast<unsigned char>(notes[sizeof(note) + name_size + i]));
            return id;
        }
        notes += whole;
        size -= whole;
    }
    return {};
}

}  // namespace

void* open_library(const std::string& name, std::string& why) {
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    const char* const reason = ::dlerror();
    why = reason != nullptr ? reason : "the loader gives no reason";
    return nullptr;
}

void* find_symbol(void* library, const char* name) noexcept {
    return ::dlsym(library, name);
}

std::filesystem::path path_of_library(void* library) {
    link_map* map = nullptr;
    if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr)
        return {};
    return map->l_name;
}

bool is_library_loaded(const std::filesystem::path& name) noexcept {
    if (!has_loader()) return false;
    void* const library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    return library != nullptr && ::dlclose(library) == 0;
}

std::vector<std::string> loaded_libraries() {
    std::vector<std::string> files;
    visit_libraries([&](const dl_phdr_info& library) {
        files.emplace_back(library.dlpi_name);
        return false;
    });
    return files;
}

bool is_library_replaced(const std::string& path) {
    std::ifstream maps("/proc/self/maps");
    const std::string gone = path + " (deleted)";
    for (std::string line; std::getline(maps, line);)
        if (line.ends_with(gone)) return true;
    return false;
}

std::filesystem::path loader_index() {
    return "/etc/ld.so.cache";
}

bool has_loader() noexcept {
    static const bool answer = [] {
        bool found = false;
        visit_libraries([&](const dl_phdr_info& program) {
            found = std::ranges::any_of(segments_of(program), [](const ElfW(Phdr) & segment) {
                return segment.p_type == PT_INTERP;
            });
            return true;  // The program is first; its libraries don't matter.
        });
        return found;
    }();
    return answer;
}

std::filesystem::path path_at(const void* address) {
    Dl_info info{};
    void* found = nullptr;
    if (::dladdr1(address, &info, &found, RTLD_DL_LINKMAP) == 0 || found == nullptr) return {};
    // info.dli_fname of a program is what its caller called it.
    const std::string_view name = static_cast<const link_map*>(found)->l_name;
    return name.empty() ? program_link : name;
}

bool is_in_program(const void* address) {
    return path_at(address) == program_link;
}

std::string build_id_at(const void* address) {
    std::string id;
    visit_libraries([&](const dl_phdr_info& library) {
        const auto segments = segments_of(library);
        const bool is_wanted = std::ranges::any_of(segments, [&](const ElfW(Phdr) & segment) {
            const std::uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
            return segment.p_type == PT_LOAD &&
                   reinterpret_cast<std::uintptr_t>(address) - begin < segment.p_memsz;
        });
        if (!is_wanted) return false;
        for (const auto& segment : segments) {
            if (segment.p_type != PT_NOTE || !id.empty()) continue;
            id = build_id_in(reinterpret_cast<const char*>(library.dlpi_addr + segment.p_vaddr),
                             segment.p_memsz);
        }
        return true;
    });
    return id;
}

}  // namespace LODE_NAMESPACE::os
