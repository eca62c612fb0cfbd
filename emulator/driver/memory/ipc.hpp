// What processes share by 64-byte handles: the handles' content, and the memory that they name.
//
// A handle names a file without a name of the exporting process: its number, that of the descriptor
// and a random token, which is part of the file's label. The importer opens it through /proc, which
// needs no thread and no socket in the exporter and is subject to the system's own permissions. The
// exporter closes the file when it frees the object, so that a handle is dead from then on.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/memory/memory_file.hpp"
#include "emulator/memory/memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lode::emulator::driver {

class Context;
struct AllocationInfo;

/// The first eight bytes of a handle.
enum class IpcKind : std::uint64_t {
    memory = 0x6c6f6465'6d656d31,
    event = 0x6c6f6465'65767431,
    pool_memory = 0x6c6f6465'706f6c31,
};

using IpcToken = std::array<std::uint64_t, 2>;

/// The content of a handle.
struct IpcName {
    IpcKind kind{};
    IpcToken token{};
    std::int32_t process = 0;
    std::int32_t descriptor = 0;
    std::array<std::uint64_t, 4> zeros{};

    friend bool operator==(const IpcName&, const IpcName&) = default;
};
static_assert(sizeof(IpcName) == CU_IPC_HANDLE_SIZE);
static_assert(sizeof(IpcName) == sizeof(CUmemPoolPtrExportData));

/// The label of the files that stand for shared pools; each contains the pool's token.
inline constexpr const char* pool_file_label = "pool";

/// 16 random bytes.
[[nodiscard]] IpcToken make_token();
/// Part of the label of a file.
[[nodiscard]] std::string text_of(const IpcToken& token);

/// A file that a handle names, open as long as this object lives.
class IpcFile {
public:
    /// A file that holds a T of zeros; nullptr if the system refuses.
    static std::shared_ptr<const IpcFile> create(IpcKind kind, std::size_t bytes);
    IpcFile(IpcName name, MemoryFile file) noexcept : name_(name), file_(std::move(file)) {}

    [[nodiscard]] const IpcName& name() const noexcept { return name_; }
    [[nodiscard]] const MemoryFile& file() const noexcept { return file_; }

    /// The file that a handle names. Invalid for anything else than a handle of this kind from
    /// another process, whose object still exists.
    static MemoryFile open(const IpcName& name, IpcKind kind);

private:
    IpcName name_;
    MemoryFile file_;
};

/// Whether the handle was made by this process.
[[nodiscard]] bool is_own(const IpcName& name) noexcept;

/// Part of the memory of a process, as the file that a handle names describes it.
struct MemoryPart {
    std::int32_t descriptor = 0;  ///< The process's memory file.
    std::int32_t unused = 0;
    FileIdentity file;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    IpcToken pool{};  ///< The token of a shared pool; zeros for other memory.
};

/// A file that describes an allocation; nullptr if its memory can't be shared.
[[nodiscard]] std::shared_ptr<const IpcFile> describe_part(const Memory& memory,
                                                           const AllocationInfo& info, IpcKind kind,
                                                           const IpcToken& pool = {});

/// Memory of other processes, or of files, that has an address in this process. Thread-safe.
class Imports {
public:
    /// How the program got it, which decides how it is removed.
    enum class Origin : std::uint8_t { ipc, pool, external };

    explicit Imports(Memory& memory) noexcept : memory_(memory) {}

    /// Maps what a handle of IpcKind::memory names. A second call in the same context returns the
    /// same address, and needs a second remove().
    CUresult open(const IpcName& name, Context& context, std::uint64_t& address);
    /// The same for a handle of IpcKind::pool_memory; the pool must be the one with the token.
    CUresult open_from_pool(const IpcName& name, const IpcToken& pool, Context& context,
                            CUmemoryPool handle, std::uint64_t& address);
    /// Maps part of a file. OUT_OF_MEMORY if the system refuses.
    CUresult map(const MemoryFile& file, std::size_t offset, std::size_t bytes, Origin origin,
                 Context& context, const char* label, std::uint64_t& address);

    /// Gives up one reference; false unless memory of one of these origins starts there.
    bool remove(std::uint64_t address, std::initializer_list<Origin> origins);
    /// Marks memory of a pool that a stream will free; false for anything else.
    bool begin_free(std::uint64_t address);
    /// Removes memory that begin_free() marked.
    void finish_free(std::uint64_t address);
    /// The import that contains an address.
    [[nodiscard]] std::optional<AllocationInfo> find(std::uint64_t address) const;
    [[nodiscard]] std::size_t count() const;
    /// Removes the imports of a context and returns their number.
    std::size_t end_context(const Context& context);

private:
    struct Import {
        IpcName name;
        std::size_t bytes = 0;
        Origin origin = Origin::ipc;
        std::shared_ptr<Context> context;
        CUmemoryPool pool = nullptr;
        int references = 1;
        bool freeing = false;
    };

    CUresult map_locked(const MemoryFile& file, std::size_t offset, Import import,
                        const char* label, std::uint64_t& address);
    CUresult map_part_locked(const IpcName& name, const IpcToken& pool, Import import,
                             const char* label, std::uint64_t& address);

    Memory& memory_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, Import> table_;
};

}  // namespace lode::emulator::driver
