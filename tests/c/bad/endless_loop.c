// RUN: check
// EXPECT: incomplete
// EXPECT: not-covered bound
// A loop that does nothing that anybody could see, for ever.
int main(void) {
    volatile unsigned n = 0;
    for (;;)
        n++;
}
