// Copies with im2col::w and im2col::w::128: a reference that divides instead of walking, and a rig
// that runs one copy and returns all of its room in shared memory.
#pragma once

#include "tests/unit/emulator/exec/tensor_maps.hpp"

#include <numeric>

#include <fmt/format.h>

namespace lode::emulator::exec::testing::wide {

inline constexpr std::uint32_t room_bytes = 24576;
inline constexpr std::uint8_t untouched = 0xcd;

/// Where a pixel is: W and the number of the image.
struct Pixel {
    std::int64_t w, image;
    bool operator==(const Pixel&) const = default;
};

/// A copy: its tensor, and the operands of the instruction.
struct Copy {
    TensorMap map;
    std::array<std::int32_t, 5> at{};
    std::uint16_t halo = 0, offset = 0;
    std::uint32_t base = 0;  ///< Where the copy begins in the room.

    [[nodiscard]] bool has_quarters() const { return map.mode == TensorMode::im2col_w_128; }
    [[nodiscard]] std::uint32_t pixels() const {
        return has_quarters() ? 128u + 4u * halo : std::uint32_t{map.pixels} + halo;
    }
    /// The pixel with a number in the sequence of all pixels.
    [[nodiscard]] Pixel numbered(std::int64_t number) const {
        const std::int64_t step = map.steps[1];
        const std::int64_t first = at[1] + offset;
        const std::int64_t low = map.lower[0] + offset;
        const std::int64_t high = std::int64_t{map.last_coordinate[1]} + 1 + map.upper[0] + offset;
        const std::int64_t image = at[map.axes - 1u];
        const std::int64_t in_first = (high - first + step - 1) / step;
        if (number < in_first) return {first + number * step, image};
        const std::int64_t in_each = (high - low + step - 1) / step;
        const std::int64_t rest = number - in_first;
        return {low + rest % in_each * step, image + 1 + rest / in_each};
    }
    /// The pixel of a row of the copy.
    [[nodiscard]] Pixel of_row(std::uint32_t row) const {
        if (!has_quarters() || row < 128) return numbered(row);
        const std::uint32_t quarter = (row - 128) % 4;
        return numbered(32 * (quarter + 1) + (row - 128) / 4);
    }
};

/// A byte's place in shared memory, as the PTX ISA's tables of swizzles have it.
inline std::uint32_t place(std::uint32_t address, TensorSwizzle swizzle) {
    const std::uint32_t atom = swizzle == TensorSwizzle::bytes_128_atom_32 ? 32 : 16;
    const std::uint32_t cells = (swizzle == TensorSwizzle::bytes_64 ? 64 : 128) / atom;
    const std::uint32_t row = address / 128 % cells;
    return address / 128 * 128 + (address % 128 / atom ^ row) * atom + address % atom;
}

/// The room after the copy, from the tensor's bytes.
inline std::vector<std::uint8_t> expected(const Copy& copy,
                                          const std::vector<std::uint8_t>& tensor) {
    const TensorMap& map = copy.map;
    std::vector<std::uint8_t> room(room_bytes, untouched);
    const std::uint32_t size = element_bytes(map.element);
    const std::uint32_t pitch = map.swizzle == TensorSwizzle::bytes_64 ? 64 : 128;
    for (std::uint32_t row = 0; row < copy.pixels(); ++row) {
        const Pixel pixel = copy.of_row(row);
        auto at = copy.at;
        at[1] = static_cast<std::int32_t>(pixel.w);
        at[map.axes - 1u] = static_cast<std::int32_t>(pixel.image);
        for (std::uint32_t byte = 0; byte < map.channels * size; ++byte) {
            at[0] = copy.at[0] + static_cast<std::int32_t>(byte / size);
            bool inside = true;
            std::uint64_t from = std::uint64_t(at[0]) * size + byte % size;
            for (std::uint32_t axis = 0; axis < map.axes; ++axis) {
                inside =
                    inside && at[axis] >= 0 && at[axis] <= std::int64_t(map.last_coordinate[axis]);
                if (axis > 0) from += std::uint64_t(std::int64_t(at[axis])) * map.strides[axis - 1];
            }
            const std::uint8_t fill = map.fill_nan == 0 ? 0 : byte % 2 == 0 ? 0xf7 : 0x7f;
            room[place(copy.base + row * pitch + byte, map.swizzle)] = inside ? tensor[from] : fill;
        }
    }
    return room;
}

inline std::string mode_name(const Copy& copy) {
    return copy.has_quarters() ? "im2col::w::128" : "im2col::w";
}

inline std::string coordinates(const TensorMap& map) {
    std::string text = "{%r20";
    for (std::uint32_t axis = 1; axis < map.axes; ++axis)
        text += fmt::format(", %r{}", 20 + axis);
    return text + "}";
}

inline std::string load(const Copy& copy, std::string_view space = "shared::cta") {
    return fmt::format("cp.async.bulk.tensor.{}d.{}.global.{}.mbarrier::complete_tx::bytes",
                       copy.map.axes, space, mode_name(copy));
}

/// A kernel that fills the room, runs `instruction` with the operands of a copy in registers, waits
/// for its bytes and stores the room. %r1: where the copy begins; %r2: the mbarrier; %rd1: the map.
inline std::string kernel(const Copy& copy, std::string_view instruction, std::uint32_t bytes) {
    std::string body = fmt::format(
        "ld.param.u64 %rd1, [map];\nld.param.u64 %rd2, [out];\nmov.u32 %r10, room;\n"
        "add.u32 %r1, %r10, {};\nmov.u32 %r2, bar;\nmov.u32 %r4, %r10;\nmov.u32 %r5, 0;\n"
        "F: st.shared.u32 [%r4], 0xcdcdcdcd;\nadd.u32 %r4, %r4, 4;\nadd.u32 %r5, %r5, 4;\n"
        "setp.lt.u32 %p1, %r5, {};\n@%p1 bra F;\n"
        "mbarrier.init.shared::cta.b64 [%r2], 1;\nfence.proxy.async.shared::cta;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {};\n"
        "barrier.cluster.arrive;\nbarrier.cluster.wait;\n",
        copy.base, room_bytes, bytes);
    for (std::uint32_t axis = 0; axis < copy.map.axes; ++axis)
        body += fmt::format("mov.u32 %r{}, {};\n", 20 + axis, copy.at[axis]);
    body += fmt::format("mov.u16 %rs1, {};\nmov.u16 %rs2, {};\n{}\n", copy.halo, copy.offset,
                        instruction);
    body += fmt::format(
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n@!%p2 bra W;\n"
        "mov.u32 %r6, %cluster_ctarank;\nmul.wide.u32 %rd3, %r6, {0};\nadd.u64 %rd2, %rd2, %rd3;\n"
        "mov.u32 %r5, 0;\n"
        "L: add.u32 %r4, %r10, %r5;\nld.shared.u32 %r7, [%r4];\nst.global.u32 [%rd2], %r7;\n"
        "add.u64 %rd2, %rd2, 4;\nadd.u32 %r5, %r5, 4;\nsetp.lt.u32 %p1, %r5, {0};\n@%p1 bra L;\n",
        room_bytes);
    std::string text = ptx_kernel(
        ".param .u64 map, .param .u64 out", body,
        fmt::format(".shared .align 1024 .b8 room[{}];\n.shared .align 8 .b64 bar;\n", room_bytes));
    text.replace(text.find("sm_90"), 5, "sm_100a");
    return text;
}

/// The bytes that the mbarrier counts.
inline std::uint32_t counted(const Copy& copy) {
    return copy.pixels() * copy.map.channels * element_bytes(copy.map.element);
}

inline std::string operands(const Copy& copy) {
    return fmt::format("[%r1], [%rd1, {}], [%r2], {{%rs1, %rs2}}", coordinates(copy.map));
}

/// The tensor of a map, dense, with numbers from 1 as elements of 4 bytes.
inline std::vector<std::uint8_t> numbers_for(TensorMap& map, std::vector<std::uint32_t> extents,
                                             std::uint32_t size) {
    map.axes = static_cast<std::uint8_t>(extents.size());
    std::uint64_t bytes = size;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        map.last_coordinate[axis] = extents[axis] - 1;
        map.steps[axis] = 1;
        if (axis > 0) map.strides[axis - 1] = bytes;
        bytes *= extents[axis];
    }
    std::vector<std::uint32_t> words((bytes + 3) / 4);
    std::iota(words.begin(), words.end(), 1u);
    std::vector<std::uint8_t> tensor(words.size() * 4);
    std::memcpy(tensor.data(), words.data(), tensor.size());
    return tensor;
}

struct WideRig : Rig {
    WideRig() { out = put(std::vector<std::uint8_t>(4 * room_bytes)); }
    /// Runs the copy in one block and returns what went wrong.
    LaunchOutcome start(const Copy& copy, std::string_view instruction, std::uint32_t bytes) {
        const auto module = load(kernel(copy, instruction, bytes), 10, 0);
        const std::uint64_t map = put(std::vector<MapBytes>{bytes_of(copy.map)});
        return run(*module, "k", {1}, {1}, map, out);
    }
    std::vector<std::uint8_t> copied(const Copy& copy) {
        const auto outcome =
            start(copy, wide::load(copy) + " " + operands(copy) + ";", counted(copy));
        CAPTURE(outcome.report);
        REQUIRE(outcome.fault == Fault::none);
        return get<std::uint8_t>(out, room_bytes);
    }
    std::uint64_t out = 0;
};

/// Whether a launch failed with a report that contains `text`.
inline bool fails_with(const LaunchOutcome& outcome, std::string_view text) {
    return outcome.fault == Fault::illegal_instruction &&
           outcome.report.find(text) != std::string::npos;
}

}  // namespace lode::emulator::exec::testing::wide
