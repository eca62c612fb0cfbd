// Other libraries that lode_bench_kernels measures beside lode's rows, on the same data.
#pragma once

#include "lode_kernels/families.hpp"

#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/stream.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lode::bench {

/// Enqueues a peer's work on one workload's data and doesn't wait.
using PeerCall = std::function<Status(StreamRef stream)>;

/// A library with a function that does the work of a family. Used on the thread that made it, which
/// outlives its calls.
class Peer {
public:
    virtual ~Peer() = default;
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// A call that reads the inputs and writes the outputs of Workload::data(): the workload checks
    /// it as it checks a row. The peer keeps what the call needs besides, such as scratch memory.
    /// Errors: not_supported with the reason if the library can't do this problem.
    [[nodiscard]] virtual Result<PeerCall> prepare(const kernels::Workload& workload) = 0;

protected:
    Peer() = default;
};

/// A peer of a family, or why it can't be used here.
struct PeerOffer {
    std::string name;  ///< "cuBLAS"
    Result<std::unique_ptr<Peer>> peer;
};

/// The peers that know the family, in the order of the table; opens their libraries.
std::vector<PeerOffer> peers_of(const kernels::FamilyEntry& entry, const Device& device);

}  // namespace lode::bench
