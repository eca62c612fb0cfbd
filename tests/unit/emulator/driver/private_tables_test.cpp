// The tables of cuGetExportTable that cuBLAS and cuFFT read, compared with documented functions.
#include "tests/unit/emulator/driver/emulator_library.hpp"

using namespace lode::emulator_test;

namespace {

constexpr CUuuid thread_table = {{'\x42', '\xd8', '\x5a', '\x81', '\x23', '\xf6', '\xcb', '\x47',
                                  '\x82', '\x98', '\xf6', '\xe7', '\x8a', '\x3a', '\xec', '\xdc'}};
constexpr CUuuid object_table = {{'\x21', '\x31', '\x8c', '\x60', '\x97', '\x14', '\x32', '\x48',
                                  '\x8c', '\xa6', '\x41', '\xff', '\x73', '\x24', '\xc8', '\xf2'}};
constexpr CUuuid kernel_table = {{'\x6e', '\x16', '\x3f', '\xbe', '\xb9', '\x58', '\x44', '\x4d',
                                  '\x83', '\x5c', '\xe1', '\x82', '\xaf', '\xf1', '\x99', '\x1e'}};

using TableEntries = const void* const*;

CUresult find_private_table(const CUuuid& name, TableEntries& entries) {
    return CU(cuGetExportTable, 3000)(reinterpret_cast<const void**>(&entries), &name);
}

TableEntries private_table(const CUuuid& name) {
    TableEntries entries = nullptr;
    REQUIRE(find_private_table(name, entries) == CUDA_SUCCESS);
    REQUIRE(entries != nullptr);
    return entries;
}

/// Calls the function at an index, which must lie within the table.
template <class... Arguments>
CUresult call_entry(TableEntries entries, std::size_t index, Arguments... arguments) {
    REQUIRE(reinterpret_cast<std::size_t>(entries[0]) > index * sizeof(void*));
    return reinterpret_cast<CUresult (*)(Arguments...)>(const_cast<void*>(entries[index]))(
        arguments...);
}

}  // namespace

TEST_CASE("emulator tables: the current context and its number") {
    const Machine machine;
    CUcontext found = nullptr;
    {
        const Current scope;
        CHECK(call_entry(private_table(thread_table), 2, &found) == CUDA_SUCCESS);
        CHECK(found == scope.native());
        unsigned long long number = 0;
        unsigned long long expected = 1;
        CHECK(CU(cuCtxGetId, 12000)(found, &expected) == CUDA_SUCCESS);
        CHECK(call_entry(private_table(object_table), 4, found, &number) == CUDA_SUCCESS);
        CHECK(number == expected);
    }
    CHECK(call_entry(private_table(thread_table), 2, &found) == CUDA_SUCCESS);
    CHECK(found == nullptr);
}

TEST_CASE("emulator tables: the stream of a handle and its number") {
    const Machine machine;
    const Current scope;
    CUstream made = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&made, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    const auto check = [&](CUstream handle, int null_is_per_thread, CUstream meant) {
        CUstream found = nullptr;
        CHECK(call_entry(private_table(object_table), 51, scope.native(), handle, &found,
                         null_is_per_thread) == CUDA_SUCCESS);
        CHECK(found == meant);
        unsigned long long number = 0;
        unsigned long long expected = 1;
        CHECK(CU(cuStreamGetId, 12000)(meant, &expected) == CUDA_SUCCESS);
        CHECK(call_entry(private_table(object_table), 39, scope.native(), found, &number) ==
              CUDA_SUCCESS);
        CHECK(number == expected);
    };
    check(made, 0, made);
    check(nullptr, 0, CU_STREAM_LEGACY);
    check(nullptr, 1, CU_STREAM_PER_THREAD);
    check(CU_STREAM_PER_THREAD, 0, CU_STREAM_PER_THREAD);
    CHECK(CU(cuStreamDestroy, 4000)(made) == CUDA_SUCCESS);
}

TEST_CASE("emulator tables: what isn't known is refused") {
    const Machine machine;
    CHECK(call_entry(private_table(thread_table), 1) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(machine.log().find("an undocumented function of cuGetExportTable's") !=
          std::string::npos);
    // cuFFT wants the table, and goes on if it is short.
    CHECK(reinterpret_cast<std::size_t>(private_table(kernel_table)[0]) == sizeof(void*));
    TableEntries none = nullptr;
    CHECK(find_private_table(CUuuid{{'n', 'o', 'n', 'e'}}, none) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(none == nullptr);
    CHECK(CU(cuGetExportTable, 3000)(nullptr, &thread_table) == CUDA_ERROR_INVALID_VALUE);
}
