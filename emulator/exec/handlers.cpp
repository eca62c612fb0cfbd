#include "emulator/exec/handlers.hpp"

#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/isa/table.hpp"

#include <stdexcept>
#include <vector>

namespace lode::emulator::exec {

namespace {

/// In the order of isa/rows/all.def.
std::vector<Handler> row_handlers() {
    std::vector<Handler> all;
    for (const auto family :
         {integer_handlers(), wide_integer_handlers(), bits_handlers(), carry_handlers(),
          float_handlers(), rounding_handlers(), approx_handlers(), half_handlers(),
          compare_handlers(), set_handlers(), convert_handlers(), narrow_handlers(),
          moves_handlers()})
        all.insert(all.end(), family.begin(), family.end());
    if (all.size() != op_rows().size())
        throw std::logic_error("Rows of the operation table have no handlers.");
    return all;
}

constexpr Handler named_handlers[] = {
#define LODE_OPERATION(name, action) &name,
#include "emulator/isa/operations.def"
#undef LODE_OPERATION
};

}  // namespace

Handler handler_of(Operation operation) {
    if (operation >= Operation::first_atomic) return atomic_handler(atomic_type_of(operation));
    if (operation >= Operation::first_access) return access_handler(access_of(operation));
    if (operation < Operation::first_row) return named_handlers[static_cast<u32>(operation)];
    // Workers of the machine ask until the process has ended.
    static const auto& rows = *new std::vector<Handler>(row_handlers());
    return rows[row_index(operation)];
}

}  // namespace lode::emulator::exec
