// RUN: check
// EXPECT: error exception
int main() {
    try {
        throw 1; // HERE
    } catch (int n) {
        return n;
    }
}
