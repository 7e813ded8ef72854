// Factorials with carry propagation, division with remainder, in base one thousand million.
#include <stdint.h>
#include <stdio.h>

#define DIGITS 40

static uint32_t number[DIGITS] = {1};

static void multiply(uint32_t by) {
    uint64_t carry = 0;
    for (int i = 0; i < DIGITS; i++) {
        carry += (uint64_t)number[i] * by;
        number[i] = (uint32_t)(carry % 1000000000u);
        carry /= 1000000000u;
    }
}

static uint32_t divide(uint32_t by) {
    uint64_t rest = 0;
    for (int i = DIGITS - 1; i >= 0; i--) {
        rest = rest * 1000000000u + number[i];
        number[i] = (uint32_t)(rest / by);
        rest %= by;
    }
    return (uint32_t)rest;
}

static void show(void) {
    int i = DIGITS - 1;
    while (i > 0 && number[i] == 0)
        i--;
    printf("%u", number[i]);
    while (i-- > 0)
        printf("%09u", number[i]);
    printf("\n");
}

int main(void) {
    for (uint32_t i = 2; i <= 60; i++)
        multiply(i);
    show();
    printf("%u\n", divide(97));
    show();
    printf("%u\n", divide(123456789));
    show();
    return 0;
}
