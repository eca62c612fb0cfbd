// Where opcodes are compared: the executor in unit tests, any device of lode's in gpu_opcodes.
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

    /// Makes the kernel `k` of this PTX the one to run. Why it can't run; nothing when it can.
    virtual std::string load(const std::string& ptx) = 0;
    /// Asked where load failed: whether the device may lack the form, which is no failure then.
    virtual bool may_lack(const std::string& why) = 0;
    /// Whether this is the executor itself: its promises hold, and it survives a fault.
    [[nodiscard]] virtual bool is_executor() const = 0;
    /// What was loaded and what wasn't, when that is worth telling.
    [[nodiscard]] virtual std::string summary() const = 0;

    struct Ended {
        Fault fault = Fault::none;
        std::string report;
    };
    /// Runs k(in, out, last): `in` and `out` are written to the device before, read back after;
    /// `last` is the parameter's bytes. A seed other than 0 shuffles, where there is an order.
    virtual Ended run(std::uint32_t blocks, std::uint32_t threads, std::span<std::byte> in,
                      std::span<std::byte> out, std::span<const std::byte> last,
                      std::uint64_t seed) = 0;
};

/// The program's bench; null, with the reason, where it has none.
std::unique_ptr<Bench> make_bench(std::string& why);

}  // namespace lode::emulator::exec::testing
