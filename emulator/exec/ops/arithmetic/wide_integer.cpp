#include "emulator/exec/ops/arithmetic/rows.hpp"

namespace lode::emulator::exec {

namespace {

constexpr OpRow wide_integer_table[] = {
#include "emulator/exec/ops/arithmetic/wide_integer.def"
};

}  // namespace

std::span<const OpRow> wide_integer_rows() {
    return wide_integer_table;
}

}  // namespace lode::emulator::exec
