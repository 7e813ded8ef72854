// RUN: check --leaks
// EXPECT: violation leak
#include <cstddef>

struct Pair {
    int *a = new int(1); // HERE
    int *b = new int(2);
    ~Pair() { delete b; }
};

int main() {
    Pair *pairs = new Pair[1];
    delete[] pairs;
}
