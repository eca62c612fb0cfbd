#include "kernels_peers.hpp"

#include "kernels_cublas.hpp"

namespace lode::bench {

std::vector<PeerOffer> peers_of(const kernels::FamilyEntry& entry, const Device& device) {
    std::vector<PeerOffer> offers;
    if (entry.folder == "gemm")
        offers.push_back({"cuBLAS", open_cublas(device, entry.family.name)});
    return offers;
}

}  // namespace lode::bench
