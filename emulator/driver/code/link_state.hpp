// LinkState: PTX texts that cuLink… puts together.
#pragma once

#include "emulator/decode/ptx/link.hpp"
#include "emulator/driver/code/code.hpp"
#include "emulator/driver/handles.hpp"

#include <mutex>
#include <utility>

namespace lode::emulator::driver {

/// Every member is guarded by `mutex`.
class LinkState : public Handled {
public:
    LinkState(int newest_version, JitLogs its_logs) noexcept
        : link(newest_version), logs(its_logs) {}

    std::mutex mutex;
    ptx::Link link;
    bool is_complete = false;
    const JitLogs logs;  ///< The caller keeps the buffers until cuLinkDestroy.
    const Stopwatch watch;
};

}  // namespace lode::emulator::driver
