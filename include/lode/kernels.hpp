/// \file
/// lode's own kernels, from the library lode::kernels: reductions, scans, selections, sorts.
#pragma once

#include <lode/kernels/operation.hpp>
#include <lode/kernels/reduce.hpp>
#include <lode/kernels/scan.hpp>
#include <lode/kernels/select.hpp>
#include <lode/kernels/sort.hpp>
