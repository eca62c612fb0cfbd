// The PTX ISA version of each CUDA release.
#pragma once

#include <lode/base/image.hpp>

namespace LODE_NAMESPACE {

struct PtxRelease {
    int cuda_version;
    PtxVersion ptx;
};

// Source: PTX ISA manual, "PTX Release History": the first CUDA release of each version, oldest
// first. A release without a row (12.6) has the version of the row before it.
inline constexpr PtxRelease ptx_releases[] = {
    {11000, {7, 0}}, {11010, {7, 1}}, {11020, {7, 2}}, {11030, {7, 3}}, {11040, {7, 4}},
    {11050, {7, 5}}, {11060, {7, 6}}, {11070, {7, 7}}, {11080, {7, 8}}, {12000, {8, 0}},
    {12010, {8, 1}}, {12020, {8, 2}}, {12030, {8, 3}}, {12040, {8, 4}}, {12050, {8, 5}},
    {12070, {8, 6}}, {12080, {8, 7}}, {12090, {8, 8}}, {13000, {9, 0}}, {13010, {9, 1}},
    {13020, {9, 2}}, {13030, {9, 3}}, {13040, {9, 4}}, {13050, {9, 5}},
};

}  // namespace LODE_NAMESPACE
