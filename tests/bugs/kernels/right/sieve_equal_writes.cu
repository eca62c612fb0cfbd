//@ right: A sieve marks composite numbers; several threads may store the same mark.
//@ class: race
//@ buffer: composite u8[400] = 0
//@ launch: sieve<<<1, 32>>>(composite, 400)
//@ holds: [k for k in range(2, 400) if not composite[k]][:8] == [2, 3, 5, 7, 11, 13, 17, 19] and sum(composite[2:]) == 320

__global__ void sieve(unsigned char* composite, int n) {
    int p = threadIdx.x + 2;
    for (int k = p * p; k < n; k += p) composite[k] = 1;
}
