// Matrices from a warp's registers and back, and the parts of a product.
#pragma once

#include "emulator/exec/lanes.hpp"
#include "emulator/exec/ops/matrix/panel.hpp"

namespace lode::emulator::exec {

/// The raw elements of a matrix, row by row.
inline void gather(const WarpContext& c, const Fragment& fragment, u32* raw) noexcept {
    const u32 bits = bits_of(fragment.element);
    const u32 mask = bits == 32 ? ~u32{0} : (1u << bits) - 1;
    const u16* place = fragment.places.data();
    for (const Slot slot : fragment.slots) {
        const u32* const from = source<u32>(c, slot);
        for (std::size_t part = 0; part < fragment.parts; ++part, place += lanes) {
            const auto shift = static_cast<u32>(part) * bits;
            for (std::size_t i = 0; i < lanes; ++i)
                raw[place[i]] = (from[i] >> shift) & mask;
        }
    }
}

inline void scatter(WarpContext& c, const Fragment& fragment, const u32* raw) noexcept {
    const u16* place = fragment.places.data();
    for (const Slot slot : fragment.slots) {
        if (slot == no_slot) {
            place += std::size_t{fragment.parts} * lanes;
            continue;
        }
        u32* const to = destination<u32>(c, slot);
        for (std::size_t i = 0; i < lanes; ++i)
            to[i] = raw[place[i]];
        place += lanes;
        for (std::size_t part = 1; part < fragment.parts; ++part, place += lanes) {
            const auto shift = static_cast<u32>(part) * bits_of(fragment.element);
            for (std::size_t i = 0; i < lanes; ++i)
                to[i] |= raw[place[i]] << shift;
        }
    }
}

inline void gather_doubles(const WarpContext& c, const Fragment& fragment, f64* values) noexcept {
    const u16* place = fragment.places.data();
    for (const Slot slot : fragment.slots) {
        const f64* const from = source<f64>(c, slot);
        for (std::size_t i = 0; i < lanes; ++i)
            values[place[i]] = from[i];
        place += lanes;
    }
}
inline void scatter_doubles(WarpContext& c, const Fragment& fragment, const f64* values) noexcept {
    const u16* place = fragment.places.data();
    for (const Slot slot : fragment.slots) {
        if (slot != no_slot) {
            f64* const to = destination<f64>(c, slot);
            for (std::size_t i = 0; i < lanes; ++i)
                to[i] = values[place[i]];
        }
        place += lanes;
    }
}

struct ProductTypes {
    Element a, c, d;
    Precision precision;
    BitProduct bits = BitProduct::none;
    bool saturates = false;
};
/// Splits or widens the raw elements of a left matrix.
void take_left(Element element, const u32* raw, std::size_t rows, std::size_t depth,
               LeftMatrix& a) noexcept;
/// Puts the elements of a sparse matrix, which has half as many columns as a, into their places.
/// `metadata` is a row of lanes.
void spread_left(const MatrixProduct& plan, const u32* metadata, const LeftMatrix& packed,
                 LeftMatrix& a) noexcept;
/// The same as take_left() for eight columns of a right matrix, starting at `first`.
void take_right(Element element, const u32* raw, std::size_t depth, std::size_t columns,
                std::size_t first, RightPanel& b) noexcept;
/// sum += a * b; not for doubles.
void add_product(const ProductTypes& types, const LeftMatrix& a, const RightPanel& b,
                 SumPanel& sum) noexcept;

}  // namespace lode::emulator::exec
