/**
 * \file
 * The C interface of lode, for C99 and for other languages' foreign-function interfaces.
 *
 * Functions return a lode_status. For anything but LODE_OK, lode_get_error() has the sentence that
 * says what is wrong, until the next failing call of the same thread. No exception leaves a
 * function; results are written only if the call succeeds.
 *
 * A handle comes from a function whose last parameter is its address, and goes to the function
 * _free, which accepts NULL. Objects keep alive what they are made of: handles can be freed in any
 * order. Functions may be called from any thread; a handle must not be freed while another call
 * uses it.
 *
 * Structures begin with their size, which the caller sets: `lode_shape shape = {sizeof shape};`
 * sets all other members to their defaults, zero. Members are only ever added at the end, so a
 * program that was compiled with an older header, whose structures are smaller, goes on working. A
 * structure that is larger than the library's is accepted if what the library doesn't know is zero.
 *
 * Strings are UTF-8 and end with NUL. Sizes are in bytes.
 */
#ifndef LODE_LODE_H
#define LODE_LODE_H

#include <lode/base/package.h>

#include <stddef.h>
#include <stdint.h>

#if defined(LODE_SHARED) || defined(LODE_EXPORTS)
#define LODE_C_API __attribute__((visibility("default")))
#else
#define LODE_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What went wrong, by what the caller can do next: docs/errors.md lists cause and cure. */
typedef int32_t lode_status;
enum {
    LODE_OK = 0, /**< No failure. */
    LODE_DRIVER_MISSING = 1, /**< No CUDA driver library could be opened. */
    LODE_DRIVER_TOO_OLD, /**< The driver lacks an entry point or version that the call needs. */
    LODE_NO_DEVICE, /**< The driver works but reports no usable device. */
    LODE_DEVICE_UNAVAILABLE, /**< The device exists but refuses contexts (compute mode, in use). */
    LODE_DEVICE_LOST, /**< A sticky error ended the device's context; restart the process. */
    LODE_COMPILER_MISSING, /**< No NVRTC library could be opened. */
    LODE_COMPILER_TOO_OLD, /**< NVRTC lacks a feature that the options need. */
    LODE_COMPILE_FAILED, /**< The source doesn't compile; lode_error::log has the log. */
    LODE_LINK_FAILED, /**< Device linking or driver JIT failed; lode_error::log has the log. */
    LODE_UNSUPPORTED_ARCH, /**< No target works for the device with this compiler and driver. */
    LODE_INVALID_IMAGE, /**< The bytes aren't a complete cubin or PTX, or the driver refuses them. */
    LODE_INVALID_ARGUMENT, /**< The caller passed a value outside its documented range. */
    LODE_SIGNATURE_MISMATCH, /**< The arguments disagree with the compiled kernel. */
    LODE_NOT_FOUND, /**< The file, kernel, global or device of that name doesn't exist. */
    LODE_FILE_FAILED, /**< The operating system refused a file operation. */
    LODE_OUT_OF_MEMORY, /**< Host or device memory is exhausted. */
    LODE_OUT_OF_RESOURCES, /**< A launch needs more than the device has. */
    LODE_NOT_READY, /**< The work isn't finished yet; not a fault. */
    LODE_NOT_SUPPORTED, /**< The device or driver doesn't offer this feature. */
    LODE_CAPTURE_ACTIVE, /**< The call isn't allowed while a stream is being captured. */
    LODE_PROCESS_FORKED, /**< CUDA was initialised before fork(); the child can't use it. */
    LODE_DRIVER_FAILED, /**< Any other driver error; lode_error::native_code has the code. */
    LODE_COMPILER_FAILED, /**< Any other compiler error; lode_error::native_code has the code. */
    LODE_TIMED_OUT, /**< A compilation took longer than its limit. */
    LODE_CANCELLED /**< The caller gave the request up, or closed what it needs. */
};

/** The last failure of the calling thread. */
typedef struct lode_error {
    size_t size;             /**< sizeof(lode_error) */
    lode_status status;      /**< LODE_OK if no call of this thread has failed. */
    int32_t native_code;     /**< CUresult, nvrtcResult, nvJitLinkResult or errno; 0 if none. */
    const char* message;     /**< Full sentences. */
    const char* native_name; /**< For example "CUDA_ERROR_INVALID_VALUE"; empty if none. */
    const char* log;         /**< The compiler's or linker's whole text; empty if there is none. */
} lode_error;

/** Describes the thread's last failure. The strings are valid until the thread's next failing call.
 * Fails only for NULL and for a wrong size, and then doesn't change what it describes. */
LODE_C_API lode_status lode_get_error(lode_error* error);
/** "driver_missing", …; "ok"; "unknown" for other numbers. Static. */
LODE_C_API const char* lode_status_name(lode_status status);
/** The library's version, for example "1.2.3". Static. */
LODE_C_API const char* lode_version(void);

typedef struct lode_runtime lode_runtime; /**< Driver, compiler and cache of a process. */
typedef struct lode_device lode_device;   /**< A GPU or a software device. */
typedef struct lode_image lode_image;     /**< Compiled code. */
typedef struct lode_library lode_library; /**< An image on a device. */
typedef struct lode_kernel lode_kernel;   /**< A kernel of a library. */
typedef struct lode_buffer lode_buffer;   /**< Device memory. */
typedef struct lode_stream lode_stream;   /**< Work in order. */
typedef struct lode_event lode_event;     /**< A point of a stream. */

/* -- Runtime and devices --------------------------------------------------------------------- */

/** How severe a log line is. */
enum {
    LODE_LOG_DEBUG = 0, /**< For hosts; lode itself logs nothing at this level. */
    LODE_LOG_INFO,      /**< What was opened, chosen or loaded. */
    LODE_LOG_WARNING,   /**< Something went wrong, but lode continued. */
    LODE_LOG_ERROR      /**< A host function threw, or the software device found an error. */
};
/** Receives a line without a newline. Called from any thread; must not call lode. */
typedef void (*lode_log_hook)(void* user, int32_t level, const char* line);

/** How to open a runtime. */
typedef struct lode_runtime_options {
    size_t size;               /**< sizeof(lode_runtime_options) */
    const char* driver;        /**< A driver library's file; NULL to search for it. */
    int32_t emulator;          /**< Nonzero: open the software device (if `driver` is NULL). */
    int32_t emulator_fallback; /**< Nonzero: open it if there is no driver or no device. */
    const char* compiler;      /**< An NVRTC library or its folder; NULL to search for it. */
    const char* cache_folder;  /**< NULL for the default (LODE_CACHE_DIR). */
    lode_log_hook log;         /**< May be NULL. */
    void* log_user;            /**< The first argument of `log`. */
    int32_t sync_launches;     /**< Nonzero: wait after every launch; slow. */
} lode_runtime_options;

/** Opens the driver. `options` may be NULL. */
LODE_C_API lode_status lode_runtime_open(const lode_runtime_options* options,
                                         lode_runtime** runtime);
/** Frees the handle; NULL is accepted. */
LODE_C_API void lode_runtime_free(lode_runtime* runtime);
/**
 * Prepares for a checkpoint of the process: waits for the devices' work and the compilations under
 * way, and ends lode's threads, workers, files and connections. Until lode_runtime_resume, calls
 * that compile or read the cache wait.
 */
LODE_C_API lode_status lode_runtime_quiesce(const lode_runtime* runtime);
/** Lets them continue; they start what they need. Does nothing unless the runtime is quiesced. */
LODE_C_API void lode_runtime_resume(const lode_runtime* runtime);
/** The number of devices that the driver reports. */
LODE_C_API lode_status lode_runtime_device_count(const lode_runtime* runtime, int32_t* count);

/** Opens a device by its number, from 0. */
LODE_C_API lode_status lode_device_open(const lode_runtime* runtime, int32_t ordinal,
                                        lode_device** device);
/** Frees the handle; NULL is accepted. */
LODE_C_API void lode_device_free(lode_device* device);

/** Identity and limits of a device. */
typedef struct lode_device_properties {
    size_t size;                   /**< sizeof(lode_device_properties), set by the caller. */
    char name[256];                /**< Shortened if necessary. */
    int32_t ordinal;               /**< The number of lode_device_open(). */
    int32_t cc_major;              /**< Of the compute capability. */
    int32_t cc_minor;              /**< Of the compute capability. */
    int32_t multiprocessors;       /**< SMs. */
    int32_t warp_size;             /**< Threads. */
    int32_t max_threads_per_block; /**< For any kernel. */
    uint64_t total_memory;         /**< Of the device. */
    uint64_t shared_per_block;     /**< With opt-in. */
} lode_device_properties;
/** Fills the structure. */
LODE_C_API lode_status lode_device_get_properties(const lode_device* device,
                                                  lode_device_properties* properties);
/** Blocks until all work on the device is done. */
LODE_C_API lode_status lode_device_sync(const lode_device* device);

/* -- Compilation ----------------------------------------------------------------------------- */

/** The language of code in memory. */
enum {
    LODE_LANGUAGE_CUDA = 0, /**< CUDA C++ */
    LODE_LANGUAGE_PTX,      /**< PTX */
    LODE_LANGUAGE_NVVM_IR,  /**< NVVM IR, as text or bitcode. */
    LODE_LANGUAGE_LLVM_IR   /**< LLVM IR, as text or bitcode. */
};

/** Kernel source: exactly one of `file`, `cuda`, `ptx` and `code` is set. */
typedef struct lode_source {
    size_t size;      /**< sizeof(lode_source) */
    const char* file; /**< A file: PTX if it ends in .ptx, NVVM IR in .ll and .bc, else CUDA C++. */
    const char* cuda; /**< CUDA C++ */
    const char* ptx;  /**< PTX */
    const char* name; /**< The name of code in memory in messages; may be NULL. */
    const void* code; /**< Code of `language`; needs no NUL at its end. */
    size_t code_size; /**< Of `code`, in bytes. */
    int32_t language; /**< LODE_LANGUAGE_…, of `code`. */
} lode_source;

/** A header in memory. */
typedef struct lode_header {
    const char* name; /**< As in the include directive. */
    const char* text; /**< Its content. */
} lode_header;

/** Which suffix of an architecture to prefer where the device has one. */
enum {
    LODE_SUFFIX_NONE = 0, /**< None: "sm_90". */
    LODE_SUFFIX_SPECIFIC, /**< That of one architecture: "sm_90a". */
    LODE_SUFFIX_FAMILY    /**< That of a family: "sm_100f". */
};

/** How to compile. */
typedef struct lode_compile_options {
    size_t size;                /**< sizeof(lode_compile_options) */
    const char* const* flags;   /**< As for NVRTC or nvcc: "-Iinclude", "-DN=4", "-std=c++20". */
    size_t flag_count;          /**< Of `flags`. */
    const char* const* names;   /**< Template instances and variables: "scale<float>". */
    size_t name_count;          /**< Of `names`. */
    const lode_header* headers; /**< Found before any file. */
    size_t header_count;        /**< Of `headers`. */
    int32_t suffix;             /**< LODE_SUFFIX_…; for lode_device_… only. */
} lode_compile_options;

/** Compiles for an architecture ("sm_90a", "compute_80"), or takes the result from the cache. Needs
 * no device. `options` may be NULL. */
LODE_C_API lode_status lode_compile(const lode_runtime* runtime, const lode_source* source,
                                    const char* arch, const lode_compile_options* options,
                                    lode_image** image);
/** The same for a device. */
LODE_C_API lode_status lode_device_compile(const lode_device* device, const lode_source* source,
                                           const lode_compile_options* options, lode_image** image);
/** An image from PTX or machine code, whose bytes are copied. `name` is for messages. */
LODE_C_API lode_status lode_image_from_bytes(const void* bytes, size_t size, const char* name,
                                             lode_image** image);
/** Frees the handle; NULL is accepted. */
LODE_C_API void lode_image_free(lode_image* image);
/** What the device's driver loads of an image: machine code, or PTX with its final NUL. It is for
 * cuModuleLoadData, in a context of the caller's own; lode makes none. Valid as long as the image.
 * LODE_UNSUPPORTED_ARCH if the device runs neither. */
LODE_C_API lode_status lode_device_code(const lode_device* device, const lode_image* image,
                                        const void** bytes, size_t* size);

/** What an image may hold. */
enum {
    LODE_IMAGE_CUBIN = 0, /**< Machine code. */
    LODE_IMAGE_PTX,       /**< PTX. */
    LODE_IMAGE_LTO_IR,    /**< LTO-IR. */
    LODE_IMAGE_OPTIX_IR   /**< OptiX IR, for optixModuleCreate(). */
};
/** A part of the image, valid as long as the image; its size is 0 if the image lacks it. */
LODE_C_API lode_status lode_image_part(const lode_image* image, int32_t part, const void** bytes,
                                       size_t* size);
/** The symbol in the image of a template instance or a variable that lode_compile_options::names
 * has: "_Z5scaleIfEvPT_" for "scale<float>". Any other name is its own symbol. Valid as long as the
 * image and the name. NULL for NULL. */
LODE_C_API const char* lode_image_symbol(const lode_image* image, const char* name);
/** "sm_90a"; valid as long as the image. NULL for NULL. */
LODE_C_API const char* lode_image_arch(const lode_image* image);
/** The compiler's messages; valid as long as the image. NULL for NULL. */
LODE_C_API const char* lode_image_log(const lode_image* image);

/* -- Loading and launching ------------------------------------------------------------------- */

/** Loads an image onto a device. */
LODE_C_API lode_status lode_library_load(const lode_device* device, const lode_image* image,
                                         lode_library** library);
/** Frees the handle; NULL is accepted. */
LODE_C_API void lode_library_free(lode_library* library);
/** A kernel by symbol or C++ name. */
LODE_C_API lode_status lode_library_kernel(const lode_library* library, const char* name,
                                           lode_kernel** kernel);
/** Address and size of a variable on the device; valid as long as the library is loaded. */
LODE_C_API lode_status lode_library_global(const lode_library* library, const char* name,
                                           uint64_t* address, size_t* size);
/** Compiles, loads and finds a kernel in one step. `options` may be NULL. */
LODE_C_API lode_status lode_kernel_load(const lode_device* device, const lode_source* source,
                                        const char* name, const lode_compile_options* options,
                                        lode_kernel** kernel);
/** Frees the handle; NULL is accepted. */
LODE_C_API void lode_kernel_free(lode_kernel* kernel);

/** What the driver reports about a kernel. */
typedef struct lode_kernel_attributes {
    size_t size;                   /**< sizeof(lode_kernel_attributes), set by the caller. */
    int32_t registers;             /**< Per thread. */
    int32_t max_threads_per_block; /**< For this kernel. */
    uint64_t static_shared;        /**< Per block. */
    uint64_t local;                /**< Per thread. */
    uint64_t max_dynamic_shared;   /**< Per block. */
} lode_kernel_attributes;
/** Fills the structure. */
LODE_C_API lode_status lode_kernel_get_attributes(const lode_kernel* kernel,
                                                  lode_kernel_attributes* attributes);
/** The number of parameters, and the sizes of the first `capacity` ones. `sizes` may be NULL if
 * `capacity` is 0. LODE_NOT_SUPPORTED if neither driver nor PTX tells. */
LODE_C_API lode_status lode_kernel_parameters(const lode_kernel* kernel, size_t* sizes,
                                              size_t capacity, size_t* count);

/** The shape of a launch; extents that are 0 count as 1. */
typedef struct lode_shape {
    size_t size;             /**< sizeof(lode_shape) */
    uint32_t grid[3];        /**< Blocks. */
    uint32_t block[3];       /**< Threads per block. */
    uint32_t dynamic_shared; /**< Per block. */
    int32_t cooperative;     /**< Nonzero: all blocks are resident at once. */
    uint32_t cluster[3];     /**< Blocks per cluster. */
} lode_shape;

/** The CUkernel, which cuLaunchKernel and cuKernelGetFunction take; valid as long as the kernel. NULL
 * for NULL. */
LODE_C_API void* lode_kernel_native(const lode_kernel* kernel);

/** Enqueues one launch and returns. `arguments[i]` points to the value of parameter i, which is
 * copied, and `sizes[i]` is its size; a buffer's value is its address, of 8 bytes. Number and sizes
 * are compared with the kernel's where they are known. A NULL stream is the default stream. */
LODE_C_API lode_status lode_kernel_launch(const lode_kernel* kernel, const lode_stream* stream,
                                          const lode_shape* shape, const void* const* arguments,
                                          const size_t* sizes, size_t count);

/* -- Memory ---------------------------------------------------------------------------------- */

/** Allocates device memory with undefined content; 0 bytes are allowed. */
LODE_C_API lode_status lode_buffer_alloc(const lode_device* device, size_t bytes,
                                         lode_buffer** buffer);
/** Frees the handle; NULL is accepted. */
LODE_C_API void lode_buffer_free(lode_buffer* buffer);
/** The device address; 0 for NULL and for an empty buffer. */
LODE_C_API uint64_t lode_buffer_address(const lode_buffer* buffer);
/** The size; 0 for NULL. */
LODE_C_API size_t lode_buffer_size(const lode_buffer* buffer);
/** Copies from host memory to `offset` in the buffer. With a NULL stream it waits for all work on
 * the device and for the copy; otherwise host memory and buffer must live until the stream has made
 * the copy. */
LODE_C_API lode_status lode_buffer_write(lode_buffer* buffer, size_t offset, const void* from,
                                         size_t bytes, const lode_stream* stream);
/** Copies to host memory, under the same rules. */
LODE_C_API lode_status lode_buffer_read(const lode_buffer* buffer, size_t offset, void* to,
                                        size_t bytes, const lode_stream* stream);
/** Copies between buffers, under the same rules. */
LODE_C_API lode_status lode_buffer_copy(lode_buffer* to, size_t to_offset, const lode_buffer* from,
                                        size_t from_offset, size_t bytes,
                                        const lode_stream* stream);
/** Sets every byte of a part, under the same rules. */
LODE_C_API lode_status lode_buffer_fill(lode_buffer* buffer, size_t offset, uint8_t value,
                                        size_t bytes, const lode_stream* stream);

/* -- Streams and events ---------------------------------------------------------------------- */

/** Creates a stream that isn't ordered with the default stream. Lower priorities are more urgent.
 */
LODE_C_API lode_status lode_stream_create(const lode_device* device, int32_t priority,
                                          lode_stream** stream);
/** A handle for a CUstream or cudaStream_t of the caller's, which must outlive it. The stream belongs
 * to the device's primary context; LODE_INVALID_ARGUMENT for another context's, and for NULL, the
 * default stream. */
LODE_C_API lode_status lode_stream_adopt(const lode_device* device, void* native,
                                         lode_stream** stream);
/** Frees the handle without waiting for the stream's work; NULL is accepted. An adopted stream isn't
 * destroyed. */
LODE_C_API void lode_stream_free(lode_stream* stream);
/** Blocks until all work so far is done. */
LODE_C_API lode_status lode_stream_sync(const lode_stream* stream);
/** Whether all work so far is done: *idle is 0 or 1. */
LODE_C_API lode_status lode_stream_is_idle(const lode_stream* stream, int32_t* idle);
/** Makes later work on the stream wait for an event. */
LODE_C_API lode_status lode_stream_wait(const lode_stream* stream, const lode_event* event);
/** The CUstream; NULL for NULL. */
LODE_C_API void* lode_stream_native(const lode_stream* stream);

/** Creates an event that records times. */
LODE_C_API lode_status lode_event_create(const lode_device* device, lode_event** event);
/** Frees the handle; NULL is accepted. */
LODE_C_API void lode_event_free(lode_event* event);
/** Records this point of the stream. */
LODE_C_API lode_status lode_event_record(const lode_event* event, const lode_stream* stream);
/** Blocks until the recorded point is reached. */
LODE_C_API lode_status lode_event_sync(const lode_event* event);
/** Milliseconds between two recorded points; LODE_NOT_READY until both are reached. */
LODE_C_API lode_status lode_event_elapsed(const lode_event* start, const lode_event* end,
                                          float* milliseconds);

#ifdef __cplusplus
}
#endif

#endif
