//@ bug: A linked list is freed by deleting its head.
//@ class: leak
//@ buffer: out i32[4] = 0
//@ launch: sums<<<1, 4>>>(out)

struct Node {
    int value;
    Node* next;
};

__global__ void sums(int* out) {
    Node* head = nullptr;
    for (int k = 0; k < 5; ++k) head = new Node{k * (int)threadIdx.x, head};  // BUG
    int sum = 0;
    for (Node* n = head; n; n = n->next) sum += n->value;
    out[threadIdx.x] = sum;
    delete head;
}
