#include <lode/lode.h>

#include <stdio.h>
#include <stdlib.h>

/* Ends the program with lode's message if a call failed. */
static void check(lode_status status) {
    if (status == LODE_OK) return;
    lode_error error = {.size = sizeof error};
    lode_get_error(&error);
    fprintf(stderr, "%s\n%s", error.message, error.log);
    exit(1);
}

int main(void) {
    lode_runtime_options options = {.size = sizeof options, .emulator_fallback = 1};
    lode_runtime* runtime = NULL;
    check(lode_runtime_open(&options, &runtime));
    lode_device* device = NULL;
    check(lode_device_open(runtime, 0, &device));
    lode_source source = {.size = sizeof source, .file = KERNELS "/saxpy.cu"};
    lode_kernel* saxpy = NULL;
    check(lode_kernel_load(device, &source, "saxpy", NULL, &saxpy));

    enum { n = 1000 };
    static float values[n];
    lode_buffer* buffers[2];
    for (int k = 0; k < 2; ++k) { /* x is 1 everywhere, y is 2. */
        for (int i = 0; i < n; ++i) values[i] = (float)(k + 1);
        check(lode_buffer_alloc(device, sizeof values, &buffers[k]));
        check(lode_buffer_write(buffers[k], 0, values, sizeof values, NULL));
    }

    const float a = 2;
    const uint64_t x = lode_buffer_address(buffers[0]);
    const uint64_t y = lode_buffer_address(buffers[1]);
    const int count = n;
    const void* arguments[] = {&a, &x, &y, &count};
    const size_t sizes[] = {sizeof a, sizeof x, sizeof y, sizeof count};
    lode_shape shape = {.size = sizeof shape, .grid = {(n + 255) / 256}, .block = {256}};
    check(lode_kernel_launch(saxpy, NULL, &shape, arguments, sizes, 4));
    check(lode_buffer_read(buffers[1], 0, values, sizeof values, NULL));

    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += values[i] != 4;
    lode_device_properties properties = {.size = sizeof properties};
    check(lode_device_get_properties(device, &properties));
    printf("saxpy on %s: %d elements, %d wrong\n", properties.name, count, wrong);

    for (int k = 0; k < 2; ++k) lode_buffer_free(buffers[k]);
    lode_kernel_free(saxpy);
    lode_device_free(device);
    lode_runtime_free(runtime);
    return wrong == 0 ? 0 : 1;
}
