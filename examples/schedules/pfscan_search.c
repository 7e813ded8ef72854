/* The search that pfscan.c is linked with: how often a pattern is in a file of random bytes, which is made on the way. */
#include <stdint.h>

#ifndef BYTES
#define BYTES 100000000
#endif

int __VERIFIER_nondet_int(void) {
  static _Thread_local uint32_t state = 1;
  const uint32_t pattern = 0x736c76;
  uint32_t window = 0, x = state;
  int hits = 0;
  for (uint32_t n = 0; n < BYTES; n++) {
    x = x * 1664525u + 1013904223u;
    window = (window << 8 | x >> 24) & 0xffffff;
    hits += window == pattern;
  }
  state = x;
  return hits;
}
