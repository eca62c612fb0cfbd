// Where opcodes run: on the executor in unit tests, on any of lode's devices in gpu_opcodes.
#pragma once

#include "emulator/exec/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace lode::emulator::exec::testing {

class Bench {
public:
    virtual ~Bench() = default;

    /// Loads the kernel `k` of this PTX for run(). Returns why it can't run; empty on success.
    virtual std::string load(const std::string& ptx) = 0;
    /// Called with the reason after load() failed: whether the device may lack the form, so that
    /// the test is skipped instead of failing.
    virtual bool may_lack(const std::string& why) = 0;
    /// Whether this is the executor, which promises more than PTX does and survives a fault.
    [[nodiscard]] virtual bool is_executor() const = 0;
    /// Counts of what was loaded and what wasn't; may be empty.
    [[nodiscard]] virtual std::string summary() const = 0;

    struct Ended {
        Fault fault = Fault::none;
        std::string report;
    };
    /// Runs k(in, out, last). `in` and `out` are copied to the device before and back afterwards;
    /// `last` is the value of the third parameter. A seed other than 0 shuffles the execution
    /// order, if the device supports that.
    virtual Ended run(std::uint32_t blocks, std::uint32_t threads, std::span<std::byte> in,
                      std::span<std::byte> out, std::span<const std::byte> last,
                      std::uint64_t seed) = 0;
};

/// The program's bench. If there is none, returns null and sets `why`.
std::unique_ptr<Bench> make_bench(std::string& why);

}  // namespace lode::emulator::exec::testing
