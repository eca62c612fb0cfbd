#include "lode_kernels/family.hpp"

#include <utility>

namespace LODE_NAMESPACE::kernels {

VariantRow make_row(std::string_view name, std::string_view source, std::string_view arch,
                    const Needs& needs, Shape shape, Refusal refuses, std::string_view caveat) {
    VariantRow row;
    row.name = name;
    const auto slash = source.find(':');
    row.source = source.substr(0, slash);
    row.kernel = source.substr(slash + 1);
    // The tables are constants: a name that can't be parsed gives 0.0, which the test of
    // check_family and every use of the row would reveal.
    row.needs.arch = Arch::parse(arch).value_or(Arch());
    row.needs.shared_bytes_per_block = needs.shared_bytes;
    row.needs.threads_per_block = needs.threads;
    row.needs.cluster_launch = needs.cluster;
    row.needs.cooperative_launch = needs.cooperative;
    row.needs.tensor_maps = needs.tensor_maps;
    row.shape = std::move(shape);
    row.refuses = std::move(refuses);
    row.caveat = caveat;
    return row;
}

}  // namespace LODE_NAMESPACE::kernels
