// A host in C++11, for the C interface: lode::c asks it for nothing else.
#include <lode/lode.h>

#include <cstdint>
#include <cstdio>

static_assert(__cplusplus == 201103L, "lode::c changes the host's language");

int main() {
    lode_runtime* runtime = nullptr;
    lode_device* device = nullptr;
    lode_kernel* set = nullptr;
    lode_buffer* result = nullptr;
    lode_source source = {sizeof(source)};
    source.ptx =
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".visible .entry set(.param .u64 to) {\n .reg .b64 %rd<2>;\n"
        " ld.param.u64 %rd1, [to];\n st.global.u32 [%rd1], 42;\n ret;\n}";
    unsigned value = 0;
    lode_status status = lode_runtime_open(nullptr, &runtime);
    if (status == LODE_OK) status = lode_device_open(runtime, 0, &device);
    if (status == LODE_OK) status = lode_kernel_load(device, &source, "set", nullptr, &set);
    if (status == LODE_OK) status = lode_buffer_alloc(device, sizeof(value), &result);
    if (status == LODE_OK) {
        const std::uint64_t address = lode_buffer_address(result);
        const void* arguments[] = {&address};
        const std::size_t sizes[] = {sizeof(address)};
        lode_shape shape = {sizeof(shape)};
        status = lode_kernel_launch(set, nullptr, &shape, arguments, sizes, 1);
    }
    if (status == LODE_OK) status = lode_buffer_read(result, 0, &value, sizeof(value), nullptr);
    std::printf("%s: %u\n", lode_status_name(status), value);
    lode_buffer_free(result);
    lode_kernel_free(set);
    lode_device_free(device);
    lode_runtime_free(runtime);
    return status == LODE_OK ? 0 : 1;
}
