#include "emulator/driver/memory/ipc.hpp"

#include "base/os/process.hpp"
#include "emulator/driver/context/context.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/memory/allocations.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

/// The label of the file that backs Memory.
constexpr const char* arena_label = "memory";

std::string ipc_label(const IpcName& name) {
    return fmt::format("ipc_{:x}_{}", static_cast<std::uint64_t>(name.kind), text_of(name.token));
}

}  // namespace

IpcToken make_token() {
    std::random_device random;
    const auto number = [&] { return std::uint64_t{random()} << 32 | random(); };
    return {number(), number()};
}

std::string text_of(const IpcToken& token) {
    return fmt::format("{:016x}{:016x}", token[0], token[1]);
}

std::shared_ptr<const IpcFile> IpcFile::create(IpcKind kind, std::size_t bytes) {
    IpcName name{kind, make_token(), os::process_id(), 0, {}};
    MemoryFile file = MemoryFile::create(bytes, ipc_label(name));
    if (!file) return nullptr;
    name.descriptor = file.descriptor();
    return std::make_shared<const IpcFile>(name, std::move(file));
}

MemoryFile IpcFile::open(const IpcName& name, IpcKind kind) {
    if (name.kind != kind || name.zeros != decltype(name.zeros){} || name.process <= 0 ||
        name.descriptor < 0)
        return {};
    return MemoryFile::open(name.process, name.descriptor, ipc_label(name));
}

bool is_own(const IpcName& name) noexcept {
    return name.process == os::process_id();
}

std::shared_ptr<const IpcFile> describe_part(const Memory& memory, const AllocationInfo& info,
                                             IpcKind kind, const IpcToken& pool) {
    if (memory.file() < 0) return nullptr;
    auto described = IpcFile::create(kind, sizeof(MemoryPart));
    if (described == nullptr) return nullptr;
    const auto part = described->file().view<MemoryPart>();
    if (part == nullptr) return nullptr;
    *part = MemoryPart{
        memory.file(), 0,   FileIdentity::of(memory.file()), memory.file_offset(info.address),
        info.bytes,    pool};
    return described;
}

CUresult Imports::map_locked(const MemoryFile& file, std::size_t offset, Import import,
                             const char* label, std::uint64_t& address) {
    address = memory_.import(file.descriptor(), offset, import.bytes, label, import.context->id());
    if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    table_.emplace(address, std::move(import));
    return CUDA_SUCCESS;
}

CUresult Imports::map_part_locked(const IpcName& name, const IpcToken& pool, Import import,
                                  const char* label, std::uint64_t& address) {
    const MemoryFile described = IpcFile::open(name, name.kind);
    const auto part = described.view<MemoryPart>();
    if (part == nullptr || part->pool != pool) return CUDA_ERROR_INVALID_VALUE;
    const MemoryFile file = MemoryFile::open(name.process, part->descriptor, arena_label);
    const bool fits = file && part->bytes != 0 && part->offset <= file.bytes() &&
                      part->bytes <= file.bytes() - part->offset;
    if (!fits || FileIdentity::of(file.descriptor()) != part->file) return CUDA_ERROR_INVALID_VALUE;
    import.name = name;
    import.bytes = part->bytes;
    return map_locked(file, part->offset, std::move(import), label, address);
}

CUresult Imports::open(const IpcName& name, Context& context, std::uint64_t& address) {
    if (name.kind != IpcKind::memory) return CUDA_ERROR_INVALID_VALUE;
    if (is_own(name)) return CUDA_ERROR_INVALID_CONTEXT;
    const std::lock_guard lock(mutex_);
    const auto open = std::ranges::find_if(table_, [&](const auto& row) {
        return row.second.name == name && row.second.context.get() == &context;
    });
    if (open != table_.end()) {
        ++open->second.references;
        address = open->first;
        return CUDA_SUCCESS;
    }
    Import import;
    import.context = context.shared_from_this();
    return map_part_locked(name, {}, std::move(import), "cuIpcOpenMemHandle", address);
}

CUresult Imports::open_from_pool(const IpcName& name, const IpcToken& pool, Context& context,
                                 CUmemoryPool handle, std::uint64_t& address) {
    if (name.kind != IpcKind::pool_memory) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(mutex_);
    Import import;
    import.origin = Origin::pool;
    import.context = context.shared_from_this();
    import.pool = handle;
    return map_part_locked(name, pool, std::move(import), "cuMemPoolImportPointer", address);
}

CUresult Imports::map(const MemoryFile& file, std::size_t offset, std::size_t bytes, Origin origin,
                      Context& context, const char* label, std::uint64_t& address) {
    const std::lock_guard lock(mutex_);
    Import import;
    import.bytes = bytes;
    import.origin = origin;
    import.context = context.shared_from_this();
    return map_locked(file, offset, std::move(import), label, address);
}

bool Imports::remove(std::uint64_t address, std::initializer_list<Origin> origins) {
    const std::lock_guard lock(mutex_);
    const auto found = table_.find(address);
    if (found == table_.end() || found->second.freeing ||
        std::ranges::find(origins, found->second.origin) == std::end(origins))
        return false;
    if (--found->second.references > 0) return true;
    table_.erase(found);
    return memory_.remove_import(address);
}

bool Imports::begin_free(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = table_.find(address);
    if (found == table_.end() || found->second.freeing || found->second.origin != Origin::pool)
        return false;
    found->second.freeing = true;
    return true;
}

void Imports::finish_free(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    if (table_.erase(address) > 0) memory_.remove_import(address);
}

std::optional<AllocationInfo> Imports::find(std::uint64_t address) const {
    const std::lock_guard lock(mutex_);
    auto next = table_.upper_bound(address);
    if (next == table_.begin()) return std::nullopt;
    const auto& [start, import] = *std::prev(next);
    if (address - start >= import.bytes) return std::nullopt;
    AllocationInfo info{start, import.bytes, MemoryKind::imported, import.context};
    info.pool = import.pool;
    return info;
}

std::size_t Imports::count() const {
    const std::lock_guard lock(mutex_);
    return table_.size();
}

std::size_t Imports::end_context(const Context& context) {
    const std::lock_guard lock(mutex_);
    return std::erase_if(table_, [&](const auto& row) {
        return row.second.context.get() == &context && memory_.remove_import(row.first);
    });
}

}  // namespace lode::emulator::driver
