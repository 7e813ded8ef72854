// RUN: check
// EXPECT: violation invalid-pointer
static void (*volatile f)(void);

int main(void) {
    f(); // HERE
}
