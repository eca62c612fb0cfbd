// Regions: runs of ops that are compiled once they have run often enough.
//
// A region begins at an op that control flow may reach: the first of a function, the target of a
// branch, the op after a barrier or a call. Its code is for a full mask only; all ops stay, for
// other masks, for what the code leaves to them, and for reports.
#pragma once

#include "emulator/decode/code.hpp"
#include "emulator/exec/warp_context.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace lode::emulator::exec {

/// Machine code, which lives as long as its function.
class MachineCode {
public:
    virtual ~MachineCode() = default;
    /// The handler of the region's first op. It calls the original one for other masks and if the
    /// values aren't as assumed, and the other tier's code for launches of the other kind.
    [[nodiscard]] virtual Handler handler() const noexcept = 0;
};

/// The code of a region for launches of one kind.
struct RegionCode {
    std::atomic<u32> runs{0};  ///< Before it was compiled; approximate with several workers.
    /// Since it was compiled, for reasons found at its first op; machine code counts them.
    std::atomic<u32> refusals{0};
    u32 compilations = 0;  ///< Region::mutex guards it.
    /// What runs the region: the machine code, or what counts runs until there is some.
    Handler handler = nullptr;
};

struct Region {
    Op* first = nullptr;         ///< Its handler changes while other workers read it.
    Handler original = nullptr;  ///< The first op's handler.
    RegionCode kinds[2];         ///< By WarpContext::watch.
    std::mutex mutex;
    std::vector<std::unique_ptr<MachineCode>> codes;  ///< Others may be running old ones.
};

struct Regions {
    std::vector<u32> number;  ///< By op: its region, plus 1.
    std::vector<std::unique_ptr<Region>> all;
    bool entry_function = false;  ///< Its registers are dead where its threads end.
};

/// Finds the regions of a function whose ops have handlers, and makes their first ops enter them.
/// Null if there are none, or if lode was built without the tier.
std::shared_ptr<Regions> find_regions(Code& code);

/// Refusals after which a region is compiled again.
inline constexpr u32 most_refusals = 64;
/// The handler that machine code goes on to when it has refused that often.
const Op* refused(WarpContext& c, const Op* op);
/// The one that it goes on to after an exception in a handler that it called.
const Op* throw_again(WarpContext& c, const Op* op);

/// Compiles a region for the values that its registers have now; null if that isn't worthwhile or
/// the system allows no machine code to be made. `assume`: it may be compiled for indices that are
/// consecutive or equal in all lanes, as they are now.
std::unique_ptr<MachineCode> compile(const Code& code, const Regions& regions, const Region& region,
                                     const WarpContext& context, bool assume);

}  // namespace lode::emulator::exec
