#include "tests/support/fatbin_file.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

namespace {

std::string_view text_of_bytes(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("load file: PTX, machine code and the best part of a fat binary are loaded") {
    FakeMachine machine;  // Compute capability 9.0.
    const Device device = machine.device();
    const auto folder = make_scratch();
    const auto ptx = put(folder.path() / "ptx", ptx_of({"from_ptx()"}, "sm_80"));
    CHECK(require(load_file(device, ptx)).kernel("from_ptx"));
    const auto code = cubin_image({"from_code()"}).cubin;
    const auto cubin = put(folder.path() / "cubin", text_of_bytes(code));
    CHECK(require(load_file(device, cubin)).kernel("from_code"));

    const auto older = cubin_image({"older()"}, false, 80).cubin;
    const auto parts = file_of_parts([&](std::vector<std::byte>& to) {
        append_part(to, 1, 80, 0x11, ptx_of({"from_ptx()"}, "sm_80"));
        append_part(to, 2, 80, 0x11, text_of_bytes(older));
        append_part(to, 2, 90, 0x11, text_of_bytes(code));
    });
    const auto fatbin = put(folder.path() / "fatbin", text_of_bytes(parts));
    const auto library = require(load_file(device, fatbin));
    CHECK(library.kernel("from_code"));
    CHECK(library.image().name == "fatbin (sm_90)");
}

TEST_CASE("load file: what the device can't run is refused with the reasons") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto folder = make_scratch();
    const auto older = cubin_image({"older()"}, false, 80).cubin;
    const auto parts = file_of_parts([&](std::vector<std::byte>& to) {
        append_part(to, 1, 100, 0x11, ptx_of({"newer()"}, "sm_100"));
        append_part(to, 2, 80, 0x11, text_of_bytes(older));
    });
    const auto error =
        require_error(load_file(device, put(folder.path() / "fatbin", text_of_bytes(parts))));
    CHECK(error.code == Errc::unsupported_arch);
    CHECK_CONTAINS(error.message, "sm_80");
    CHECK_CONTAINS(error.message, "compute_100");
    CHECK(require_error(load_file(device, folder.path() / "missing")).code == Errc::not_found);
}
