#pragma once

__device__ inline unsigned once(unsigned value) {
    return value;
}
