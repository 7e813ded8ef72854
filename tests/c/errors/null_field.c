// RUN: check
// EXPECT: violation invalid-pointer
// A field behind a null pointer is a small address, not null.
struct pair {
    long a, b;
};

int main(void) {
    struct pair *volatile p = 0;
    p->b = 1; // HERE
}
