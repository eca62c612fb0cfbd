#include "emulator/decode/fragments.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lode::emulator::decode {

namespace {

using exec::Element;
using exec::Fragment;

/// A fragment of `rows` * `columns` elements; place(register, part, lane) is the element.
template <class F>
Fragment fragment(Element element, u32 rows, u32 columns, u32 copies, F&& place) {
    Fragment made;
    made.element = element;
    made.rows = rows;
    made.columns = columns;
    made.parts = std::max(u32{1}, 32 / exec::bits_of(element));
    const u32 registers = rows * columns * copies / lanes / made.parts;
    made.slots.resize(registers, no_slot);
    made.places.reserve(std::size_t{registers} * made.parts * lanes);
    for (u32 r = 0; r < registers; ++r) {
        for (u32 part = 0; part < made.parts; ++part) {
            for (u32 lane = 0; lane < lanes; ++lane)
                made.places.push_back(static_cast<u16>(place(r, part, lane)));
        }
    }
    return made;
}

constexpr u32 group = 4;  ///< Lanes that hold a row.
constexpr u32 side = 8;   ///< Rows that a register holds.

}  // namespace

Fragment left_fragment(Element element, u32 rows, u32 depth) {
    const u32 parts = std::max(u32{1}, 32 / exec::bits_of(element));
    const u32 blocks = rows / side;
    return fragment(element, rows, depth, 1, [=](u32 r, u32 part, u32 lane) {
        const u32 row = lane / group + side * (r % blocks);
        const u32 column = (r / blocks * group + lane % group) * parts + part;
        return row * depth + column;
    });
}

Fragment right_fragment(Element element, u32 depth) {
    const u32 parts = std::max(u32{1}, 32 / exec::bits_of(element));
    return fragment(element, depth, side, 1, [=](u32 r, u32 part, u32 lane) {
        const u32 row = (r * group + lane % group) * parts + part;
        return row * side + lane / group;
    });
}

Fragment sum_fragment(Element element, u32 rows, u32 columns) {
    const u32 parts = element == Element::f16 ? 2 : 1;
    const u32 blocks = rows / side;
    return fragment(element, rows, columns, 1, [=](u32 r, u32 part, u32 lane) {
        const u32 pair = r * parts / 2;
        const u32 row = lane / group + side * (pair % blocks);
        const u32 column = pair / blocks * side + lane % group * 2 + (r * parts + part) % 2;
        return row * columns + column;
    });
}

namespace {

constexpr u32 quads = 4;
/// The product that a lane belongs to, and the first row or column of its half.
constexpr u32 quad_of(u32 lane) noexcept {
    return lane % 16 / 4;
}
constexpr u32 half_of(u32 lane) noexcept {
    return lane / 16 * 4;
}

}  // namespace

Fragment quad_left_fragment(bool by_columns) {
    return fragment(Element::f16, side * quads, 4, 1, [=](u32 r, u32 part, u32 lane) {
        const u32 k = 2 * r + part;
        const u32 row = half_of(lane) + (by_columns ? k : lane % 4);
        const u32 column = by_columns ? lane % 4 : k;
        return (quad_of(lane) * side + row) * 4 + column;
    });
}

Fragment quad_right_fragment(bool by_columns) {
    Fragment made = fragment(Element::f16, 4 * quads, side, 1, [=](u32 r, u32 part, u32 lane) {
        const u32 k = 2 * r + part;
        const u32 row = by_columns ? k : lane % 4;
        const u32 column = half_of(lane) + (by_columns ? lane % 4 : k);
        return (quad_of(lane) * 4 + row) * side + column;
    });
    made.rows = 4;
    return made;
}

Fragment quad_sum_fragment(Element element) {
    const bool halves = element == Element::f16;
    return fragment(element, side * quads, side, 1, [=](u32 r, u32 part, u32 lane) {
        const u32 row = half_of(lane) + (halves ? lane % 4 : (lane & 1) + (r & 2));
        const u32 column = halves ? 2 * r + part : (r & 4) + (lane & 2) + (r & 1);
        return (quad_of(lane) * side + row) * side + column;
    });
}

void order_as_halves(Fragment& fragment, bool is_left, u32 run) {
    const u32 depth = is_left ? fragment.columns : fragment.rows;
    const u32 outer = is_left ? fragment.rows : fragment.columns;
    for (u16& place : fragment.places) {
        const u32 k = is_left ? place % depth : place / outer;
        const u32 line = is_left ? place / depth : place % outer;
        const u32 moved = k / run % 2 * (depth / 2) + k / (2 * run) * run + k % run;
        place = static_cast<u16>(is_left ? line * depth + moved : moved * outer + line);
    }
}

std::vector<u16> metadata_places(Element element, u32 rows, u32 chunks, u32 selector) {
    std::vector<u16> places;
    const bool whole_words = exec::bits_of(element) <= 8;
    for (u32 row = 0; row < rows; ++row) {
        for (u32 chunk = 0; chunk < chunks; ++chunk) {
            const u32 first = row % side * group;
            // A word has eight chunks of one row, or four of each of two rows.
            const u32 lane = whole_words ? first + 2 * (chunk / 8 + selector) + row / side
                                         : first + chunks / 4 * selector + chunk / 4;
            const u32 bit = whole_words ? chunk % 8 * 4 : row / side * 16 + chunk % 4 * 4;
            places.push_back(static_cast<u16>(lane * 32 + bit));
        }
    }
    return places;
}

namespace {

/// What a bit of the register's number adds to the place in the outer dimension (rows of a left
/// matrix, columns of a right one) and in the inner one (k).
struct Step {
    u32 outer = 0, inner = 0;
};
struct WmmaLayout {
    u32 bits;   ///< Bits of an element.
    u32 outer;  ///< Rows of a left matrix, columns of a right one.
    Side side;
    std::array<Step, 3> steps;
    u32 registers;
};
constexpr WmmaLayout wmma_layouts[] = {
    {16, 8, Side::left, {{{0, 8}}}, 2},
    {16, 16, Side::left, {{{8, 0}, {0, 8}}}, 4},
    {16, 32, Side::left, {{{8, 0}, {0, 8}, {16, 0}}}, 8},
    {16, 8, Side::right, {{{0, 8}}}, 2},
    {16, 16, Side::right, {{{0, 8}, {8, 0}}}, 4},
    {16, 32, Side::right, {{{8, 0}, {0, 8}, {16, 0}}}, 8},
    {32, 16, Side::left, {{{8, 0}, {0, 4}}}, 4},
    {32, 16, Side::right, {{{0, 4}, {8, 0}}}, 4},
    {8, 8, Side::left, {}, 1},
    {8, 16, Side::left, {{{8, 0}}}, 2},
    {8, 32, Side::left, {{{8, 0}, {16, 0}}}, 4},
    {8, 8, Side::right, {}, 1},
    {8, 16, Side::right, {{{8, 0}}}, 2},
    {8, 32, Side::right, {{{8, 0}, {16, 0}}}, 4},
};

Step sum_of(const std::array<Step, 3>& steps, u32 number) {
    Step sum;
    for (u32 k = 0; k < steps.size(); ++k) {
        if ((number >> k & 1) == 0) continue;
        sum.outer += steps[k].outer;
        sum.inner += steps[k].inner;
    }
    return sum;
}

Fragment wmma_factor(const WmmaLayout& layout, Element element, u32 depth) {
    const bool is_left = layout.side == Side::left;
    const u32 outer = layout.outer;
    // A fragment of halves has eight registers, some of which repeat others.
    const u32 registers = element == Element::f16 ? 8 : layout.registers;
    const u32 parts = 32 / exec::bits_of(element);
    Fragment made = fragment(element, is_left ? outer : depth, is_left ? depth : outer,
                             registers / layout.registers, [&](u32 r, u32 part, u32 lane) {
                                 const Step step = sum_of(layout.steps, r);
                                 const u32 line = step.outer + lane / group;
                                 const u32 k = step.inner + lane % group * parts + part;
                                 return is_left ? line * depth + k : k * outer + line;
                             });
    return made;
}

}  // namespace

std::optional<Fragment> wmma_fragment(Element element, Side which, u32 m, u32 n, u32 k) {
    const u32 bits = exec::bits_of(element);
    if (which == Side::sum) {
        if (m != 8 || n != 32) return sum_fragment(element, m, n);
        // As that of 32 by 8, with rows and columns exchanged.
        Fragment made = sum_fragment(element, n, m);
        for (u16& place : made.places)
            place = static_cast<u16>(place % m * n + place / m);
        std::swap(made.rows, made.columns);
        return made;
    }
    const u32 outer = which == Side::left ? m : n;
    if (bits == 64 || bits < 8 || element == Element::b1)
        return which == Side::left ? left_fragment(element, m, k) : right_fragment(element, k);
    for (const WmmaLayout& layout : wmma_layouts) {
        if (layout.bits == bits && layout.outer == outer && layout.side == which)
            return wmma_factor(layout, element, k);
    }
    return std::nullopt;
}

}  // namespace lode::emulator::decode
