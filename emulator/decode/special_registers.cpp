// Special registers: most are slots that the launch or the warp fills, or constants.
#include "emulator/decode/builder.hpp"

#include <algorithm>
#include <string>

namespace lode::emulator::decode {

namespace {

struct SpecialRegister {
    std::string_view name;
    Area area;
    u32 offset;
};

/// 32-bit special registers with a slot.
constexpr SpecialRegister with_slot[] = {
    {"%tid.x", Area::warp, tid_x},
    {"%tid.y", Area::warp, tid_y},
    {"%tid.z", Area::warp, tid_z},
    {"%laneid", Area::warp, laneid},
    {"%warpid", Area::warp, warpid},
    {"%lanemask_eq", Area::warp, lanemask_eq},
    {"%lanemask_le", Area::warp, lanemask_le},
    {"%lanemask_lt", Area::warp, lanemask_lt},
    {"%lanemask_ge", Area::warp, lanemask_ge},
    {"%lanemask_gt", Area::warp, lanemask_gt},
    {"%ntid.x", Area::launch, ntid_x},
    {"%ntid.y", Area::launch, ntid_y},
    {"%ntid.z", Area::launch, ntid_z},
    {"%nctaid.x", Area::launch, nctaid_x},
    {"%nctaid.y", Area::launch, nctaid_y},
    {"%nctaid.z", Area::launch, nctaid_z},
    {"%ctaid.x", Area::launch, ctaid_x},
    {"%ctaid.y", Area::launch, ctaid_y},
    {"%ctaid.z", Area::launch, ctaid_z},
    {"%nwarpid", Area::launch, nwarpid},
    {"%smid", Area::launch, smid},
    {"%nsmid", Area::launch, nsmid},
    {"%dynamic_smem_size", Area::launch, dynamic_smem_size},
    {"%total_smem_size", Area::launch, total_smem_size},
    {"%envreg1", Area::launch, grid_workspace_high},
    {"%envreg2", Area::launch, grid_workspace_low},
    {"%nclusterid.x", Area::launch, nclusterid_x},
    {"%nclusterid.y", Area::launch, nclusterid_y},
    {"%nclusterid.z", Area::launch, nclusterid_z},
    {"%cluster_nctaid.x", Area::launch, cluster_nctaid_x},
    {"%cluster_nctaid.y", Area::launch, cluster_nctaid_y},
    {"%cluster_nctaid.z", Area::launch, cluster_nctaid_z},
    {"%cluster_nctarank", Area::launch, cluster_nctarank},
    {"%clusterid.x", Area::launch, clusterid_x},
    {"%clusterid.y", Area::launch, clusterid_y},
    {"%clusterid.z", Area::launch, clusterid_z},
    {"%cluster_ctaid.x", Area::launch, cluster_ctaid_x},
    {"%cluster_ctaid.y", Area::launch, cluster_ctaid_y},
    {"%cluster_ctaid.z", Area::launch, cluster_ctaid_z},
    {"%cluster_ctarank", Area::launch, cluster_ctarank},
};

constexpr std::string_view zeros[] = {
    "%ctaid.w",
    "%tid.w",
    "%ntid.w",
    "%nctaid.w",
    "%clusterid.w",
    "%nclusterid.w",
    "%cluster_ctaid.w",
    "%cluster_nctaid.w",
    "%aggr_smem_size",
    "%locality_domain_id",  // A device is one domain.
    "%locality_domain_supplemental_sm",
    "%current_graph_exec"};  // No kernel launches graphs, so that none runs in a device graph.
constexpr std::string_view zero_prefixes[] = {"%envreg", "%pm", "%reserved_smem"};

bool is_zero(std::string_view name) {
    return std::ranges::find(zeros, name) != std::end(zeros) ||
           std::ranges::any_of(zero_prefixes,
                               [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

Slot Builder::special_register(std::string_view name, char letter) {
    const auto found = std::ranges::find(with_slot, name, &SpecialRegister::name);
    if (found != std::end(with_slot)) {
        if (found->area == Area::launch && found->offset >= clusterid_x)
            kernel().names_cluster = true;
        return converted(slot(found->area, found->offset), 'w', letter, false);
    }
    if (name == "%gridid") return converted(slot(Area::launch, gridid), 'd', letter, false);
    if (is_zero(name)) return constant(0, bytes_of_letter(letter));
    // Clocks are read by ops.
    const bool wide = name == "%clock64" || name == "%globaltimer";
    const Slot made = temporary(wide ? 'd' : 'w');
    if (name == "%clock64") {
        emit(Operation::read_clock64, {made});
    } else if (name == "%globaltimer") {
        emit(Operation::read_globaltimer, {made});
    } else if (name == "%clock" || name == "%globaltimer_lo") {
        emit(Operation::read_clock32, {made});
    } else if (name == "%clock_hi" || name == "%globaltimer_hi") {
        return constant(0, bytes_of_letter(letter));
    } else {
        refuse("with the special register " + std::string(name));
    }
    return converted(made, wide ? 'd' : 'w', letter, false);
}

}  // namespace lode::emulator::decode
