#include "runtime/driver/table.hpp"

namespace LODE_NAMESPACE::detail {
namespace {

template <class Function>
void resolve_row(EntryPoint<Function>& row, const DriverResolver& resolver) {
    row.function = reinterpret_cast<Function>(resolver(row.name, row.abi));
}

template <class Function>
void list_if_missing(const EntryPoint<Function>& row, bool need, std::vector<std::string>& names) {
    if (!row && row.required == need) names.emplace_back(row.name);
}

}  // namespace

void DriverTable::resolve(const DriverResolver& resolver) {
#define X(symbol, version, need) resolve_row(symbol, resolver);
#include "runtime/driver/symbols.def"
#undef X
}

std::vector<std::string> DriverTable::missing(bool need) const {
    std::vector<std::string> names;
#define X(symbol, version, row_need) list_if_missing(symbol, need, names);
#include "runtime/driver/symbols.def"
#undef X
    return names;
}

}  // namespace LODE_NAMESPACE::detail
