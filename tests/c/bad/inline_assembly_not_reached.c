// RUN: check
// EXPECT: verified complete=1 blocked=0
// What cannot be executed matters only if it is reached.
int main(void) {
    volatile int never = 0;
    if (never)
        __asm__ volatile("hlt");
    return 0;
}
