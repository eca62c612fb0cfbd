//@ bug: A binary tree is freed along its right children; the left ones stay.
//@ class: leak
//@ buffer: out i32[2] = 0
//@ launch: trees<<<1, 2>>>(out)

struct Tree {
    int key;
    Tree *left, *right;
};

__global__ void trees(int* out) {
    Tree* root = nullptr;
    for (int k = 0; k < 6; ++k) {
        int key = (k * 5 + 3 * threadIdx.x) % 7;
        Tree** at = &root;
        while (*at) at = key < (*at)->key ? &(*at)->left : &(*at)->right;
        *at = new Tree{key, nullptr, nullptr};  // BUG
    }
    int depth = 0;
    while (root) {
        Tree* right = root->right;
        delete root;
        root = right;
        ++depth;
    }
    out[threadIdx.x] = depth;
}
