// RUN: check
// EXPECT: violation double-free
int main() {
    int *p = new int(1);
    int *q = p;
    delete p;
    delete q; // HERE
}
