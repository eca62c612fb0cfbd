#include "kernels_peers.hpp"

#include "kernels_cub.hpp"
#include "kernels_cublas.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace lode::bench {
namespace {

/// What CUB calls the work of a family.
struct CubFamily {
    std::string_view family;
    const char* algorithm;
    const char* type;
};
constexpr std::array cub_families{
    CubFamily{"histogram", "histogram", "int32"},
    CubFamily{"partition", "partition", "int32"},
    CubFamily{"partition_float", "partition", "float"},
    CubFamily{"partition_int64", "partition", "int64"},
    CubFamily{"reduce", "reduce", "int32"},
    CubFamily{"reduce_float", "reduce", "float"},
    CubFamily{"reduce_int64", "reduce", "int64"},
    CubFamily{"scan", "scan", "int32"},
    CubFamily{"scan_float", "scan", "float"},
    CubFamily{"scan_int64", "scan", "int64"},
    CubFamily{"select", "select", "int32"},
    CubFamily{"select_float", "select", "float"},
    CubFamily{"select_int64", "select", "int64"},
    CubFamily{"sort", "sort_keys", "int32"},
    CubFamily{"sort_float", "sort_keys", "float"},
    CubFamily{"sort_int64", "sort_keys", "int64"},
    CubFamily{"sort_pairs", "sort_pairs", "int32"},
};

class CubPeer final : public Peer {
public:
    CubPeer(Cub cub, const CubFamily& work) : cub_(std::move(cub)), work_(work) {}

    Result<PeerCall> prepare(const kernels::Workload& workload) override {
        const auto data = workload.data();
        const std::string_view algorithm = work_.algorithm;
        lode_cub_call call{};
        call.algorithm = work_.algorithm;
        call.type = work_.type;
        call.in = data.inputs.front();
        call.out = data.outputs.front();
        call.n = workload.problem().x;
        if (algorithm == "histogram") call.bins = static_cast<int>(workload.problem().y);
        if (data.inputs.size() > 1) call.in_values = data.inputs[1];
        if (data.outputs.size() > 1)
            (algorithm == "sort_pairs" ? call.out_values : call.count) = data.outputs[1];
        return cub_.prepare(call).map([](Cub::Prepared prepared) -> PeerCall {
            return [shared = std::make_shared<Cub::Prepared>(std::move(prepared))](
                       StreamRef stream) { return shared->launch(stream); };
        });
    }

private:
    Cub cub_;
    CubFamily work_;
};

Result<std::unique_ptr<Peer>> open_cub(const Device& device, const CubFamily& work) {
    return Cub::open(device).map([&](Cub cub) -> std::unique_ptr<Peer> {
        return std::make_unique<CubPeer>(std::move(cub), work);
    });
}

}  // namespace

std::vector<PeerOffer> peers_of(const kernels::FamilyEntry& entry, const Device& device) {
    const std::string_view family = entry.family.name;
    auto offers = cublas_peers(device, family);
    const auto* const work = std::ranges::find(cub_families, family, &CubFamily::family);
    if (work != cub_families.end()) offers.push_back({"CUB", open_cub(device, *work)});
    return offers;
}

}  // namespace lode::bench
