//@ right: Every thread builds a linked list on the heap, walks it and frees all of its nodes.
//@ class: leak
//@ buffer: out i32[64] = none
//@ launch: lists<<<2, 32>>>(out)
//@ expect: out = sum(range(i % 6))

struct Node {
    int value;
    Node* next;
};

__global__ void lists(int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Node* head = nullptr;
    for (int k = 0; k < i % 6; ++k) {
        Node* node = static_cast<Node*>(malloc(sizeof(Node)));
        node->value = k;
        node->next = head;
        head = node;
    }
    int sum = 0;
    while (head) {
        sum += head->value;
        Node* rest = head->next;
        free(head);
        head = rest;
    }
    out[i] = sum;
}
