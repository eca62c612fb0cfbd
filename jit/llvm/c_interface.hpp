// The C interface of libLLVM, as far as lode uses it. Source: llvm-c/*.h of LLVM 14 to 19, which
// have the same functions.
#pragma once

#include "base/shared_library.hpp"

#include <cstddef>
#include <string>

namespace LODE_NAMESPACE::llvm {

using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Buffer = struct OpaqueBuffer*;
using Target = struct OpaqueTarget*;
using Machine = struct OpaqueMachine*;
using Layout = struct OpaqueLayout*;
using PassOptions = struct OpaquePassOptions*;
using Failure = struct OpaqueFailure*;
using Diagnosis = struct OpaqueDiagnosis*;
using Value = struct OpaqueValue*;
using Type = struct OpaqueType*;
using Metadata = struct OpaqueMetadata*;
using Attribute = struct OpaqueAttribute*;

inline constexpr int severity_error = 0;
inline constexpr int severity_warning = 1;
inline constexpr int return_status = 2;  ///< For a broken module; other actions print or abort.
inline constexpr int assembly_file = 0;
inline constexpr int internal_linkage = 8;
inline constexpr int override_flag = 3;
inline constexpr unsigned function_index = ~0U;  ///< Attributes of a function, not of a parameter.

/// The typed entry points. A plain value; valid while its library is open. Functions that return
/// int return 0 for success.
struct Table {
    /// Returns the name of the first missing entry point, or empty.
    [[nodiscard]] std::string load(const SharedLibrary& library);

    void (*add_target_info)() = nullptr;
    void (*add_target)() = nullptr;
    void (*add_target_code)() = nullptr;
    void (*add_target_printer)() = nullptr;
    void (*on_fatal_error)(void (*)(const char*)) = nullptr;
    void (*parse_options)(int, const char* const*, const char*) = nullptr;
    void (*version)(unsigned*, unsigned*, unsigned*) = nullptr;  ///< Absent before LLVM 16.

    Context (*create_context)() = nullptr;
    void (*dispose_context)(Context) = nullptr;
    void (*on_diagnosis)(Context, void (*)(Diagnosis, void*), void*) = nullptr;
    int (*severity)(Diagnosis) = nullptr;
    char* (*description)(Diagnosis) = nullptr;
    void (*dispose_message)(char*) = nullptr;

    Buffer (*create_buffer)(const char*, std::size_t, const char*, int) = nullptr;
    const char* (*buffer_start)(Buffer) = nullptr;
    std::size_t (*buffer_size)(Buffer) = nullptr;
    void (*dispose_buffer)(Buffer) = nullptr;

    int (*parse)(Context, Buffer, Module*, char**) = nullptr;  ///< Takes the buffer.
    void (*dispose_module)(Module) = nullptr;
    int (*verify)(Module, int, char**) = nullptr;
    const char* (*triple)(Module) = nullptr;
    void (*set_triple)(Module, const char*) = nullptr;
    void (*set_layout)(Module, Layout) = nullptr;
    Metadata (*get_flag)(Module, const char*, std::size_t) = nullptr;
    void (*add_flag)(Module, int, const char*, std::size_t, Metadata) = nullptr;
    int (*strip_debug)(Module) = nullptr;
    int (*link)(Module, Module) = nullptr;  ///< Takes the second one.

    Value (*first_function)(Module) = nullptr;
    Value (*next_function)(Value) = nullptr;
    Value (*named_function)(Module, const char*) = nullptr;
    const char* (*value_name)(Value, std::size_t*) = nullptr;
    int (*is_declaration)(Value) = nullptr;
    void (*set_linkage)(Value, int) = nullptr;
    Type (*int32)(Context) = nullptr;
    Value (*constant)(Type, unsigned long long, int) = nullptr;
    Metadata (*as_metadata)(Value) = nullptr;
    Attribute (*create_attribute)(Context, const char*, unsigned, const char*, unsigned) = nullptr;
    void (*add_attribute)(Value, unsigned, Attribute) = nullptr;

    int (*find_target)(const char*, Target*, char**) = nullptr;
    Machine (*create_machine)(Target, const char*, const char*, const char*, int, int,
                              int) = nullptr;
    void (*dispose_machine)(Machine) = nullptr;
    Layout (*create_layout)(Machine) = nullptr;
    void (*dispose_layout)(Layout) = nullptr;
    PassOptions (*create_pass_options)() = nullptr;
    void (*dispose_pass_options)(PassOptions) = nullptr;
    Failure (*run_passes)(Module, const char*, Machine, PassOptions) = nullptr;
    char* (*failure_message)(Failure) = nullptr;  ///< Takes the failure.
    void (*dispose_failure_message)(char*) = nullptr;
    int (*emit)(Machine, Module, int, char**, Buffer*) = nullptr;
};

}  // namespace LODE_NAMESPACE::llvm
