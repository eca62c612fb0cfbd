#include "base/try.hpp"
#include "tests/fault_sweep/scenarios.hpp"

#include <lode/runtime/kernel_occupancy.hpp>
#include <lode/runtime/limits.hpp>
#include <lode/runtime/prepared_launch.hpp>
#include <lode/runtime/stream_attributes.hpp>

namespace lode::test {

Status launch_scenario(FakeDriver& fake, const Log& log) {
    LODE_TRY_ASSIGN(auto driver, fake.open(log));
    LODE_TRY_ASSIGN(auto runtime, Runtime::with_driver(driver));
    LODE_TRY_ASSIGN(auto device, runtime.device(0));
    LODE_TRY(set_limit(device, Limit::stack, 4096));
    LODE_TRY(limits(device));
    LODE_TRY(reset_persisting_l2(device));

    LODE_TRY_ASSIGN(auto stream, device.create_stream());
    LODE_TRY_ASSIGN(auto copy, device.create_stream());
    LODE_TRY(set_stream_attributes(stream, {.sync_policy = SyncPolicy::block}));
    LODE_TRY(stream_attributes(stream));
    LODE_TRY(copy_stream_attributes(copy, stream));

    LODE_TRY_ASSIGN(auto x, device.alloc<int>(4));
    LODE_TRY_ASSIGN(auto library,
                    device.load(cubin_image({"k(.param .u64 x, .param .u32 n)"}, false)));
    LODE_TRY_ASSIGN(auto kernel, library.kernel<void(int*, int)>("k"));
    LODE_TRY(available_dynamic_shared(kernel.untyped(), 1, 128));
    LODE_TRY(suggest_launch(kernel.untyped(), 4));
    const LaunchShape clusters{.grid = {2}, .block = {32}, .cluster = {2}};
    LODE_TRY(max_active_clusters(kernel.untyped(), clusters));
    LODE_TRY(max_cluster_size(kernel.untyped(), clusters));
    LODE_TRY_ASSIGN(auto prepared, kernel.prepare(stream, {.block = {32}}, x, 4));
    LODE_TRY(prepared.launch());
    return device.sync();
}

}  // namespace lode::test
