#include "emulator/driver/code/symbols.hpp"

#include "emulator/driver/abi.hpp"

#include <cctype>

namespace lode::emulator::driver::symbols {
namespace {

const Row table[] = {
#define LODE_ENTRY_POINT(name, version, stream, symbol) \
    Row{#name, version, DefaultStream::stream, reinterpret_cast<void*>(&::symbol)},
#include "emulator/driver/entry_points.def"
#undef LODE_ENTRY_POINT
};

/// Prefers the per-thread default stream if requested, then the newer form.
bool is_better(const Row& row, const Row* best) noexcept {
    if (best == nullptr) return true;
    if (row.default_stream != best->default_stream)
        return row.default_stream == DefaultStream::per_thread;
    return row.version > best->version;
}

void search(std::span<const Row> rows, std::string_view name, int version,
            DefaultStream default_stream, const Row*& best, bool& name_known) noexcept {
    for (const Row& row : rows) {
        if (row.name != name) continue;
        name_known = true;
        const bool usable =
            row.version <= version && (row.default_stream == DefaultStream::legacy ||
                                       default_stream == DefaultStream::per_thread);
        if (usable && is_better(row, best)) best = &row;
    }
}

}  // namespace

Found find(std::string_view name, int version, DefaultStream default_stream) noexcept {
    const Row* best = nullptr;
    bool name_known = false;
    search(table, name, version, default_stream, best, name_known);
    search(unsupported(), name, version, default_stream, best, name_known);
    return Found{best == nullptr ? nullptr : best->address, name_known};
}

std::string_view unversioned(std::string_view symbol) noexcept {
    for (const std::string_view suffix : {"_ptsz", "_ptds"})
        if (symbol.ends_with(suffix)) symbol.remove_suffix(suffix.size());
    const std::size_t size = symbol.size();
    if (size > 3 && symbol[size - 3] == '_' && symbol[size - 2] == 'v' &&
        std::isdigit(static_cast<unsigned char>(symbol[size - 1])) != 0)
        symbol.remove_suffix(3);
    return symbol;
}

}  // namespace lode::emulator::driver::symbols
