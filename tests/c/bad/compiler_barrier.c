// RUN: check
// EXPECT: verified complete=1 blocked=0
// Empty assembly and mfence are understood.
int main(void) {
    __asm__ volatile("" ::: "memory");
    __asm__ volatile("mfence" ::: "memory");
    return 0;
}
