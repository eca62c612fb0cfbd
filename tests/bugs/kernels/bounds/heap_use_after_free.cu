//@ bug: The thread frees its list and then reads the length from it.
//@ class: bounds
//@ buffer: out i32[32] = 0
//@ launch: lists<<<1, 32>>>(out)

struct List {
    int length;
    int item[7];
};

__global__ void lists(int* out) {
    List* list = new List;
    list->length = threadIdx.x % 7;
    int sum = 0;
    for (int k = 0; k < list->length; ++k) list->item[k] = k;
    for (int k = 0; k < list->length; ++k) sum += list->item[k];
    out[threadIdx.x] = sum;
    delete list;
    __syncthreads();
    out[threadIdx.x] += *static_cast<volatile int*>(&list->length);  // BUG
}
