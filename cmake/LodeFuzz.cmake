# LODE_FUZZERS: builds the whole project with Clang's coverage for libFuzzer, AddressSanitizer and
# UndefinedBehaviorSanitizer, and the program lode_fuzz of tests/fuzz. Libraries other than C++'s
# own are linked statically, so that the program runs on machines without Clang and lode's packages.
include_guard(GLOBAL)

option(LODE_FUZZERS "Build the libFuzzer program (Clang only)" OFF)
if(LODE_FUZZERS)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "LODE_FUZZERS needs Clang, but the compiler is "
                            "${CMAKE_CXX_COMPILER_ID}. Set CMAKE_CXX_COMPILER=clang++.")
    endif()
    set(OPENSSL_USE_STATIC_LIBS TRUE)
    # C callers may pass the software device values that an enumeration doesn't define.
    add_compile_options(
        -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=enum -fno-sanitize-recover=all
        -fno-omit-frame-pointer -O1 -gline-tables-only)
    set(LODE_EMULATOR_OPTIMISATION -O1)  # Sanitized at -O3 the handlers take minutes to compile.
    # Debian has no static libfmt.
    add_compile_definitions(FMT_HEADER_ONLY=1)
endif()
