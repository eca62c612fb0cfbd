//@ bug: The array of objects is deleted, but not what each object owns.
//@ class: leak
//@ buffer: out i32[4] = 0
//@ launch: owners<<<1, 4>>>(out)

struct Text {
    char* characters;
    int length;
};

__global__ void owners(int* out) {
    Text* words = new Text[3];
    int total = 0;
    for (int k = 0; k < 3; ++k) {
        words[k].length = k + 4;
        words[k].characters = new char[words[k].length];  // BUG
        for (int c = 0; c < words[k].length; ++c) words[k].characters[c] = 'a' + threadIdx.x;
        total += words[k].characters[k];
    }
    out[threadIdx.x] = total;
    delete[] words;
}
