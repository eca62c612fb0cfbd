//@ bug: Writing key[4] of a struct whose key has four elements changes the member after it.
//@ class: bounds
//@ buffer: records i32[160] = 7
//@ launch: fill_keys<<<1, 32>>>(records, 5)

struct Record {
    int key[4];
    int value;
};

__global__ void fill_keys(int* memory, int keys) {
    Record* records = reinterpret_cast<Record*>(memory);
    for (int k = 0; k < keys; ++k)
        records[threadIdx.x].key[k] = k;  // BUG
}
