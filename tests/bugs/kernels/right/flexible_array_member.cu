//@ right: A header with int data[1] is laid over a larger block: the old flexible array.
//@ class: bounds
//@ buffer: memory i32[66] = 2 * i
//@ buffer: out i32[1] = none
//@ launch: total<<<1, 1>>>(memory, out)
//@ holds: out[0] == sum(range(64))

struct Block {
    int tag, length;
    int data[1];
};

__global__ void total(int* memory, int* out) {
    Block* block = reinterpret_cast<Block*>(memory);
    block->length = 64;
    for (int k = 0; k < block->length; ++k) block->data[k] = k;
    int sum = 0;
    for (int k = block->length - 1; k >= 0; --k) sum += block->data[k];
    *out = sum;
}
