// A checked launch on its way through a stream, and what runs it.
#pragma once

#include "emulator/driver/code/code.hpp"
#include "emulator/driver/context/context.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace lode::emulator::driver {

/// A launch on the stream's thread; keeps the code loaded.
struct QueuedLaunch {
    std::shared_ptr<Context> context;
    std::shared_ptr<LoadedModule> module;
    const KernelInfo& kernel;
    exec::GridShape shape;
    bool cooperative;
    std::vector<std::byte> parameters;
};

/// Runs the launch, and then what its kernel has launched. Faults and findings fail the context.
void perform(const QueuedLaunch& launch);

}  // namespace lode::emulator::driver
