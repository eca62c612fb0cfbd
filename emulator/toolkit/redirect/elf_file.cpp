#include "emulator/toolkit/redirect/elf_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>

namespace lode::emulator::redirect {

MappedFile::MappedFile(const char* path) noexcept {
    const auto file = system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const auto size = system_call(SYS_lseek, file, 0, 2);  // SEEK_END
    const auto made =
        size <= 0 ? -1 : system_call(SYS_mmap, 0, size, PROT_READ, MAP_PRIVATE, file, 0);
    system_call(SYS_close, file);
    if (made < 0) return;
    start_ = reinterpret_cast<const unsigned char*>(made);
    bytes_ = static_cast<std::size_t>(size);
}

MappedFile::~MappedFile() {
    if (start_ != nullptr) system_call(SYS_munmap, start_, static_cast<std::intptr_t>(bytes_));
}

ElfFile::ElfFile(const char* path) noexcept : file_(path) {
#if defined(__x86_64__)
    constexpr auto machine = EM_X86_64;
#else
    constexpr auto machine = EM_AARCH64;
#endif
    const auto* header = file_.at<Elf64_Ehdr>(0);
    if (header == nullptr || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_machine != machine || header->e_phentsize != sizeof(Elf64_Phdr))
        return;
    for (int i = 0; i < SELFMAG; ++i)
        if (header->e_ident[i] != static_cast<unsigned char>(ELFMAG[i])) return;
    segments_ = file_.at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
    if (segments_ != nullptr) segment_count_ = header->e_phnum;
    if (header->e_shentsize != sizeof(Elf64_Shdr)) return;
    sections_ = file_.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
    if (sections_ != nullptr) section_count_ = header->e_shnum;
}

bool ElfFile::is_file_of(const link_map& object) const noexcept {
    const auto dynamic = reinterpret_cast<std::uintptr_t>(object.l_ld);
    for (const Elf64_Phdr& segment : *this)
        if (segment.p_type == PT_DYNAMIC) return object.l_addr + segment.p_vaddr == dynamic;
    return false;
}

SymbolTable ElfFile::symbols(std::uint32_t type) const noexcept {
    for (std::size_t i = 0; i < section_count_; ++i) {
        const Elf64_Shdr& section = sections_[i];
        if (section.sh_type != type || section.sh_link >= section_count_) continue;
        const Elf64_Shdr& names = sections_[section.sh_link];
        SymbolTable table;
        table.count = section.sh_size / sizeof(Elf64_Sym);
        table.first = file_.at<Elf64_Sym>(section.sh_offset, table.count);
        table.names = file_.at<char>(names.sh_offset, names.sh_size);
        table.name_bytes = names.sh_size;
        if (table.first == nullptr || table.names == nullptr || table.name_bytes == 0 ||
            table.names[table.name_bytes - 1] != '\0')
            return {};
        return table;
    }
    return {};
}

const unsigned char* ElfFile::code(std::uint64_t address, std::uint64_t bytes) const noexcept {
    for (const Elf64_Phdr& segment : *this) {
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
        if (address < segment.p_vaddr || address - segment.p_vaddr > segment.p_filesz) continue;
        const std::uint64_t from = address - segment.p_vaddr;
        if (bytes > segment.p_filesz - from) continue;
        return file_.at<unsigned char>(segment.p_offset + from, bytes);
    }
    return nullptr;
}

}  // namespace lode::emulator::redirect
