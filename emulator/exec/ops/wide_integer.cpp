#include "emulator/exec/ops/rows.hpp"

namespace lode::emulator::exec {

namespace {

constexpr OpRow rows[] = {
#include "emulator/exec/ops/wide_integer.def"
};

}  // namespace

std::span<const OpRow> wide_integer_rows() {
    return rows;
}

}  // namespace lode::emulator::exec
