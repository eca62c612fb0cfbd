/* The C interface, from C99: a program in the way that its users write them, and everything that a
 * caller can do wrong. Runs on the software device. */
#include <lode/lode.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);   \
            ++failures;                                                       \
        }                                                                     \
    } while (0)

static void need(lode_status status, int line) {
    lode_error error = {sizeof error};
    if (status == LODE_OK) return;
    lode_get_error(&error);
    fprintf(stderr, "line %d: %s: %s\n%s\n", line, lode_status_name(status), error.message,
            error.log);
    exit(1);
}
#define NEED(call) need(call, __LINE__)

/* The call fails with this status and a message that contains the text. */
static void refused(lode_status status, lode_status expected, const char* text, int line) {
    lode_error error = {sizeof error};
    lode_get_error(&error);
    if (status != expected || error.status != expected || strstr(error.message, text) == NULL) {
        fprintf(stderr, "line %d: %s (expected %s): %s (expected \"%s\")\n", line,
                lode_status_name(status), lode_status_name(expected), error.message, text);
        ++failures;
    }
}
#define REFUSED(call, expected, text) refused(call, expected, text, __LINE__)

static const char* const scale_ptx =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".global .align 4 .u32 counter = 7;\n"
    ".visible .entry scale(.param .u64 values, .param .f32 factor, .param .u32 count)\n{\n"
    " .reg .pred %p<2>;\n .reg .b32 %r<6>;\n .reg .f32 %f<4>;\n .reg .b64 %rd<5>;\n"
    " ld.param.u64 %rd1, [values];\n ld.param.f32 %f1, [factor];\n ld.param.u32 %r1, [count];\n"
    " mov.u32 %r2, %ctaid.x;\n mov.u32 %r3, %ntid.x;\n mov.u32 %r4, %tid.x;\n"
    " mad.lo.s32 %r5, %r2, %r3, %r4;\n setp.ge.u32 %p1, %r5, %r1;\n @%p1 bra DONE;\n"
    " cvta.to.global.u64 %rd2, %rd1;\n mul.wide.u32 %rd3, %r5, 4;\n add.s64 %rd4, %rd2, %rd3;\n"
    " ld.global.f32 %f2, [%rd4];\n mul.f32 %f3, %f2, %f1;\n st.global.f32 [%rd4], %f3;\n"
    "DONE:\n ret;\n}\n";

enum { count = 1000 };

static lode_status launch(const lode_kernel* kernel, const lode_stream* stream,
                          const lode_buffer* buffer, float factor) {
    uint64_t address = lode_buffer_address(buffer);
    uint32_t n = count;
    const void* arguments[3];
    const size_t sizes[3] = {sizeof address, sizeof factor, sizeof n};
    lode_shape shape = {sizeof shape};
    arguments[0] = &address;
    arguments[1] = &factor;
    arguments[2] = &n;
    shape.grid[0] = (count + 255) / 256;
    shape.block[0] = 256;
    return lode_kernel_launch(kernel, stream, &shape, arguments, sizes, 3);
}

static int lines = 0;
static void log_line(void* user, int32_t level, const char* line) {
    (void)level;
    if (user == &lines && line[0] != '\0') ++lines;
}

static lode_device* device = NULL;
static lode_runtime* runtime = NULL;

static void test_program(void) {
    static float values[count], results[count];
    lode_source source = {sizeof source};
    lode_kernel* kernel = NULL;
    lode_buffer *buffer = NULL, *other = NULL;
    lode_stream *stream = NULL, *adopted = NULL;
    lode_event *start = NULL, *end = NULL;
    lode_kernel_attributes attributes = {sizeof attributes};
    size_t sizes[2] = {0, 0}, parameters = 0;
    float milliseconds = -1;
    int32_t idle = -1;
    int i;

    source.ptx = scale_ptx;
    source.name = "scale.ptx";
    NEED(lode_kernel_load(device, &source, "scale", NULL, &kernel));
    NEED(lode_kernel_get_attributes(kernel, &attributes));
    CHECK(attributes.max_threads_per_block >= 256);
    NEED(lode_kernel_parameters(kernel, sizes, 2, &parameters));
    CHECK(parameters == 3 && sizes[0] == 8 && sizes[1] == 4);

    for (i = 0; i < count; ++i) values[i] = (float)i;
    NEED(lode_buffer_alloc(device, sizeof values, &buffer));
    NEED(lode_buffer_alloc(device, sizeof values, &other));
    CHECK(lode_buffer_size(buffer) == sizeof values);
    NEED(lode_buffer_write(buffer, 0, values, sizeof values, NULL));
    NEED(lode_stream_create(device, 0, &stream));
    CHECK(lode_stream_native(stream) != NULL);
    NEED(lode_event_create(device, &start));
    NEED(lode_event_create(device, &end));
    NEED(lode_event_record(start, stream));
    NEED(launch(kernel, stream, buffer, 2.0F));
    NEED(lode_event_record(end, stream));
    NEED(lode_stream_wait(stream, end));
    NEED(lode_buffer_copy(other, 0, buffer, 0, sizeof values, stream));
    NEED(lode_buffer_read(other, 0, results, sizeof results, stream));
    NEED(lode_stream_sync(stream));
    NEED(lode_stream_is_idle(stream, &idle));
    CHECK(idle == 1);
    NEED(lode_event_sync(end));
    NEED(lode_event_elapsed(start, end, &milliseconds));
    CHECK(milliseconds >= 0);
    for (i = 0; i < count; ++i) CHECK(results[i] == 2.0F * (float)i);

    /* The default stream; parts of buffers. */
    NEED(launch(kernel, NULL, buffer, 0.5F));
    NEED(lode_device_sync(device));
    NEED(lode_buffer_read(buffer, 4, results, 8, NULL));
    CHECK(results[0] == 1.0F && results[1] == 2.0F);
    NEED(lode_buffer_fill(buffer, 4, 0, 4, NULL));
    NEED(lode_buffer_read(buffer, 0, results, 12, NULL));
    CHECK(results[1] == 0.0F && results[2] == 2.0F);

    /* The caller's stream, here lode's own. Another context's isn't adopted. */
    NEED(lode_stream_adopt(device, lode_stream_native(stream), &adopted));
    CHECK(lode_stream_native(adopted) == lode_stream_native(stream));
    NEED(launch(kernel, adopted, buffer, 4.0F));
    NEED(lode_buffer_read(buffer, 8, results, 4, adopted));
    NEED(lode_stream_sync(adopted));
    CHECK(results[0] == 8.0F);
    lode_stream_free(adopted);
    NEED(launch(kernel, stream, buffer, 0.25F));
    NEED(lode_stream_sync(stream));
    REFUSED(lode_stream_adopt(device, NULL, &adopted), LODE_INVALID_ARGUMENT, "native is NULL");
    CHECK(lode_kernel_native(kernel) != NULL);

    /* In any order: the kernel keeps the device. */
    lode_kernel_free(kernel);
    lode_event_free(end);
    lode_event_free(start);
    lode_buffer_free(other);
    lode_stream_free(stream);
    lode_buffer_free(buffer);
}

static void test_images(void) {
    static const char* const newer_ptx = ".version 8.7\n.target sm_100\n.address_size 64\n";
    lode_image* image = NULL;
    lode_library* library = NULL;
    lode_kernel* kernel = NULL;
    const void* bytes = NULL;
    uint64_t address = 0;
    size_t size = 0;
    NEED(lode_image_from_bytes(scale_ptx, strlen(scale_ptx), "scale.ptx", &image));
    CHECK(strcmp(lode_image_arch(image), "compute_75") == 0);
    NEED(lode_image_part(image, LODE_IMAGE_PTX, &bytes, &size));
    CHECK(size == strlen(scale_ptx) && memcmp(bytes, scale_ptx, size) == 0);
    NEED(lode_image_part(image, LODE_IMAGE_CUBIN, &bytes, &size));
    CHECK(size == 0);
    NEED(lode_device_code(device, image, &bytes, &size));
    CHECK(size == strlen(scale_ptx) + 1 && memcmp(bytes, scale_ptx, size) == 0);
    CHECK(strcmp(lode_image_symbol(image, "scale"), "scale") == 0);
    NEED(lode_image_part(image, LODE_IMAGE_OPTIX_IR, &bytes, &size));
    CHECK(size == 0);
    REFUSED(lode_image_part(image, 9, &bytes, &size), LODE_INVALID_ARGUMENT, "part 9");
    NEED(lode_library_load(device, image, &library));
    lode_image_free(image);
    NEED(lode_library_global(library, "counter", &address, &size));
    CHECK(address != 0 && size == 4);
    NEED(lode_library_kernel(library, "scale", &kernel));
    REFUSED(lode_library_kernel(library, "scales", &kernel), LODE_NOT_FOUND, "scales");
    lode_library_free(library);
    lode_kernel_free(kernel);
    NEED(lode_image_from_bytes(newer_ptx, strlen(newer_ptx), "newer.ptx", &image));
    REFUSED(lode_device_code(device, image, &bytes, &size), LODE_UNSUPPORTED_ARCH, "newer.ptx");
    lode_image_free(image);
    REFUSED(lode_image_from_bytes("nonsense", 8, "x", &image), LODE_INVALID_IMAGE, "x");
}

static void test_structures(void) {
    struct newer {
        lode_shape shape;
        uint64_t added;
    } shape;
    lode_source source = {sizeof source};
    lode_kernel* kernel = NULL;
    lode_device_properties properties = {sizeof properties};
    struct {
        size_t size;
        char name[256];
    } older = {sizeof older, {0}};
    lode_error small = {2 * sizeof(size_t)};
    const void* arguments[3] = {&shape, &shape, &shape};
    const size_t sizes[3] = {8, 4, 4};

    NEED(lode_device_get_properties(device, &properties));
    CHECK(strstr(properties.name, "emulator") != NULL);
    CHECK(properties.cc_major == 9 && properties.warp_size == 32);
    NEED(lode_device_get_properties(device, (lode_device_properties*)&older));
    CHECK(strcmp(older.name, properties.name) == 0);
    properties.size = 0;
    REFUSED(lode_device_get_properties(device, &properties), LODE_INVALID_ARGUMENT,
            "sizeof(lode_device_properties)");

    source.ptx = scale_ptx;
    NEED(lode_kernel_load(device, &source, "scale", NULL, &kernel));
    memset(&shape, 0, sizeof shape);
    shape.shape.size = sizeof shape;
    shape.added = 1;
    REFUSED(lode_kernel_launch(kernel, NULL, &shape.shape, arguments, sizes, 3),
            LODE_NOT_SUPPORTED, "newer liblode");
    shape.added = 0;
    shape.shape.block[0] = 5000;
    REFUSED(lode_kernel_launch(kernel, NULL, &shape.shape, arguments, sizes, 3),
            LODE_OUT_OF_RESOURCES, "5000");
    NEED(lode_get_error(&small));
    CHECK(small.status == LODE_OUT_OF_RESOURCES && small.message == NULL);
    CHECK(lode_get_error(NULL) == LODE_INVALID_ARGUMENT);
    lode_kernel_free(kernel);
}

/* Code in memory of every language, without a NUL at its end. */
static void test_languages(void) {
    static const char* const cuda = "__global__ void k() {}...";
    lode_source source = {sizeof source};
    lode_image* image = NULL;
    lode_status status;

    source.code = cuda;
    source.code_size = strlen(cuda) - 3;
    NEED(lode_device_compile(device, &source, NULL, &image));
    lode_image_free(image);
    source.language = LODE_LANGUAGE_PTX;
    source.code = scale_ptx;
    source.code_size = strlen(scale_ptx);
    NEED(lode_device_compile(device, &source, NULL, &image));
    lode_image_free(image);
    source.language = LODE_LANGUAGE_NVVM_IR;
    source.code = "not IR";
    source.code_size = 6;
    status = lode_compile(runtime, &source, "compute_90", NULL, &image);
    CHECK(status == LODE_COMPILE_FAILED || status == LODE_COMPILER_MISSING);
    source.language = LODE_LANGUAGE_LLVM_IR;
    status = lode_compile(runtime, &source, "compute_80", NULL, &image);
    CHECK(status == LODE_COMPILE_FAILED || status == LODE_COMPILER_MISSING);
    source.language = LODE_LANGUAGE_LLVM_IR + 1;
    REFUSED(lode_compile(runtime, &source, "sm_90", NULL, &image), LODE_INVALID_ARGUMENT,
            "LODE_LANGUAGE_");
    source.ptx = scale_ptx;
    REFUSED(lode_compile(runtime, &source, "sm_90", NULL, &image), LODE_INVALID_ARGUMENT,
            "2 of the members");
}

static void test_wrong_arguments(void) {
    lode_source source = {sizeof source};
    lode_compile_options options = {sizeof options};
    lode_kernel* kernel = NULL;
    lode_buffer* buffer = NULL;
    lode_image* image = NULL;
    lode_device* none = NULL;
    lode_shape shape = {sizeof shape};
    const char* flags[1] = {"-arch=sm_90"};
    uint64_t value = 0;
    const void* arguments[3] = {&value, &value, NULL};
    const size_t sizes[3] = {8, 4, 4};
    const size_t wrong[3] = {8, 8, 4};
    char byte = 0;

    REFUSED(lode_device_open(runtime, 99, &none), LODE_NOT_FOUND, "99");
    REFUSED(lode_device_open(runtime, 0, NULL), LODE_INVALID_ARGUMENT, "device is NULL");
    REFUSED(lode_device_open(NULL, 0, &none), LODE_INVALID_ARGUMENT, "runtime is NULL");
    CHECK(none == NULL);
    REFUSED(lode_kernel_load(device, &source, "scale", NULL, &kernel), LODE_INVALID_ARGUMENT,
            "0 of the members");
    source.ptx = scale_ptx;
    source.cuda = "";
    REFUSED(lode_kernel_load(device, &source, "scale", NULL, &kernel), LODE_INVALID_ARGUMENT,
            "2 of the members");
    source.cuda = NULL;
    REFUSED(lode_kernel_load(device, &source, NULL, NULL, &kernel), LODE_INVALID_ARGUMENT,
            "name is NULL");
    options.flag_count = 1;
    REFUSED(lode_kernel_load(device, &source, "scale", &options, &kernel), LODE_INVALID_ARGUMENT,
            "flags is NULL");
    options.flags = flags;
    REFUSED(lode_kernel_load(device, &source, "scale", &options, &kernel), LODE_INVALID_ARGUMENT,
            "-arch");
    options.flag_count = 0;
    options.suffix = 3;
    REFUSED(lode_kernel_load(device, &source, "scale", &options, &kernel), LODE_INVALID_ARGUMENT,
            "suffix is 3");
    REFUSED(lode_compile(runtime, &source, "sm80", NULL, &image), LODE_INVALID_ARGUMENT, "sm80");

    NEED(lode_kernel_load(device, &source, "scale", NULL, &kernel));
    REFUSED(lode_kernel_launch(kernel, NULL, &shape, arguments, sizes, 2), LODE_INVALID_ARGUMENT,
            "2 arguments");
    REFUSED(lode_kernel_launch(kernel, NULL, &shape, arguments, wrong, 3), LODE_INVALID_ARGUMENT,
            "Argument 2 has 8 bytes");
    REFUSED(lode_kernel_launch(kernel, NULL, &shape, arguments, sizes, 3), LODE_INVALID_ARGUMENT,
            "arguments[2] is NULL");
    REFUSED(lode_kernel_launch(kernel, NULL, NULL, arguments, sizes, 3), LODE_INVALID_ARGUMENT,
            "shape is NULL");
    lode_kernel_free(kernel);

    NEED(lode_buffer_alloc(device, 16, &buffer));
    REFUSED(lode_buffer_write(buffer, 16, &byte, 1, NULL), LODE_INVALID_ARGUMENT, "offset 16");
    REFUSED(lode_buffer_read(buffer, SIZE_MAX, &byte, 1, NULL), LODE_INVALID_ARGUMENT, "offset");
    REFUSED(lode_buffer_read(buffer, 0, NULL, 1, NULL), LODE_INVALID_ARGUMENT, "to is NULL");
    NEED(lode_buffer_write(buffer, 16, NULL, 0, NULL));
    lode_buffer_free(buffer);
    REFUSED(lode_buffer_alloc(device, SIZE_MAX / 2, &buffer), LODE_OUT_OF_MEMORY, "memory");

    /* What accepts NULL. */
    lode_buffer_free(NULL);
    lode_kernel_free(NULL);
    lode_device_free(NULL);
    lode_runtime_free(NULL);
    lode_runtime_resume(NULL);
    REFUSED(lode_runtime_quiesce(NULL), LODE_INVALID_ARGUMENT, "runtime is NULL");
    CHECK(lode_buffer_address(NULL) == 0 && lode_buffer_size(NULL) == 0);
    CHECK(lode_image_arch(NULL) == NULL && lode_stream_native(NULL) == NULL);
    CHECK(lode_kernel_native(NULL) == NULL && lode_image_symbol(NULL, "x") == NULL);
    CHECK(strcmp(lode_status_name(LODE_CANCELLED), "cancelled") == 0);
    CHECK(strcmp(lode_status_name(-1), "unknown") == 0);
    CHECK(strcmp(lode_status_name(1000), "unknown") == 0);
}

/* Only where there is a compiler. */
static void test_compilation(void) {
    static const lode_header header = {"factor.h", "#define FACTOR 3\n"};
    static const char* const names[] = {"triple<int>"};
    static const char* const flags[] = {"-std=c++20", "-DPLUS(a, b)=a + b", "-O3"};
    lode_source source = {sizeof source};
    lode_compile_options options = {sizeof options};
    lode_kernel* kernel = NULL;
    lode_buffer* buffer = NULL;
    lode_image* image = NULL;
    lode_shape shape = {sizeof shape};
    lode_error error = {sizeof error};
    uint64_t address;
    int32_t value = 5;
    const void* arguments[1] = {&address};
    const size_t sizes[1] = {sizeof address};
    lode_status status;
    const void* bytes = NULL;
    size_t size = 0;

    source.cuda = "broken";
    status = lode_compile(runtime, &source, "sm_90", NULL, &image);
    if (status == LODE_COMPILER_MISSING) {
        printf("skipped: there is no compiler\n");
        return;
    }
    lode_get_error(&error);
    CHECK(status == LODE_COMPILE_FAILED && strstr(error.log, "source.cu(1)") != NULL);

    source.cuda = "#include \"factor.h\"\n"
                  "template <class T> __global__ void triple(T* x) { *x = PLUS(*x * FACTOR, 1); }\n";
    options.flags = flags;
    options.flag_count = 3;
    options.names = names;
    options.name_count = 1;
    options.headers = &header;
    options.header_count = 1;
    NEED(lode_compile(runtime, &source, "sm_90", &options, &image));
    CHECK(strcmp(lode_image_arch(image), "sm_90") == 0);
    lode_image_free(image);
    NEED(lode_device_compile(device, &source, &options, &image));
    CHECK(lode_image_log(image) != NULL);
    CHECK(strcmp(lode_image_symbol(image, "triple<int>"), "_Z6tripleIiEvPT_") == 0);
    /* The software device loads PTX, whatever else the image has. */
    NEED(lode_device_code(device, image, &bytes, &size));
    CHECK(size > 0 && strncmp(bytes, "//", 2) == 0 && ((const char*)bytes)[size - 1] == '\0');
    lode_image_free(image);
    NEED(lode_kernel_load(device, &source, "triple<int>", &options, &kernel));
    NEED(lode_buffer_alloc(device, sizeof value, &buffer));
    NEED(lode_buffer_write(buffer, 0, &value, sizeof value, NULL));
    address = lode_buffer_address(buffer);
    NEED(lode_kernel_launch(kernel, NULL, &shape, arguments, sizes, 1));
    NEED(lode_buffer_read(buffer, 0, &value, sizeof value, NULL));
    CHECK(value == 16);
    lode_buffer_free(buffer);
    lode_kernel_free(kernel);
}

int main(void) {
    lode_runtime_options options = {sizeof options};
    lode_error error = {sizeof error};
    int32_t devices = 0;
    NEED(lode_get_error(&error));
    CHECK(error.status == LODE_OK && error.message[0] == '\0');
    CHECK(strncmp(lode_version(), "0.", 2) == 0);

    options.driver = "/nonexistent/libcuda.so";
    REFUSED(lode_runtime_open(&options, &runtime), LODE_DRIVER_MISSING, "/nonexistent");
    CHECK(runtime == NULL);
    options.driver = NULL;
    options.emulator = 1;
    options.log = log_line;
    options.log_user = &lines;
    NEED(lode_runtime_open(&options, &runtime));
    NEED(lode_runtime_device_count(runtime, &devices));
    CHECK(devices >= 1);
    NEED(lode_device_open(runtime, 0, &device));

    test_program();
    NEED(lode_runtime_quiesce(runtime));
    lode_runtime_resume(runtime);
    test_images();
    test_structures();
    test_languages();
    test_wrong_arguments();
    test_compilation();
    CHECK(lines > 0);

    lode_runtime_free(runtime);
    lode_device_free(device);
    if (failures == 0) printf("The C interface works.\n");
    return failures == 0 ? 0 : 1;
}
