/// \file
/// lode's own kernels, from the library lode::kernels.
#pragma once

#include <lode/kernels/gemm.hpp>
#include <lode/kernels/histogram.hpp>
#include <lode/kernels/layer_norm.hpp>
#include <lode/kernels/operation.hpp>
#include <lode/kernels/reduce.hpp>
#include <lode/kernels/scan.hpp>
#include <lode/kernels/select.hpp>
#include <lode/kernels/softmax.hpp>
#include <lode/kernels/sort.hpp>
#include <lode/kernels/transpose.hpp>
