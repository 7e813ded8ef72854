// RUN: check
// EXPECT: error 1099511627776 bytes
// A global of 2^40 bytes.
static char array[1ul << 40];

int main(void) {
    return array[5];
}
