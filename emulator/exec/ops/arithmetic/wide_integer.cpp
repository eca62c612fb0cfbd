#include "emulator/exec/ops/arithmetic/rows.hpp"

namespace lode::emulator::exec {

namespace {

constexpr Handler wide_integer_table[] = {
#include "emulator/isa/rows/wide_integer.def"
};

}  // namespace

std::span<const Handler> wide_integer_handlers() {
    return wide_integer_table;
}

}  // namespace lode::emulator::exec
