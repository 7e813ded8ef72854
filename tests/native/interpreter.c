// A small stack machine: dispatch on bytes, a call stack, jumps.
#include <stdint.h>
#include <stdio.h>

enum op { PUSH, ADD, SUB, MUL, DUP, SWAP, JZ, JMP, CALL, RET, PRINT, HALT };

static int64_t stack[64], *sp = stack;
static int calls[16], depth;

static void run(const int8_t *code) {
    for (int pc = 0;;) {
        switch ((enum op)code[pc++]) {
        case PUSH: *sp++ = code[pc++]; break;
        case ADD: sp--, sp[-1] += *sp; break;
        case SUB: sp--, sp[-1] -= *sp; break;
        case MUL: sp--, sp[-1] *= *sp; break;
        case DUP: *sp = sp[-1], sp++; break;
        case SWAP: {
            int64_t t = sp[-1];
            sp[-1] = sp[-2];
            sp[-2] = t;
            break;
        }
        case JZ: pc = *--sp == 0 ? code[pc] : pc + 1; break;
        case JMP: pc = code[pc]; break;
        case CALL: calls[depth++] = pc + 1, pc = code[pc]; break;
        case RET: pc = calls[--depth]; break;
        case PRINT: printf("%lld\n", (long long)*--sp); break;
        case HALT: return;
        }
    }
}

int main(void) {
    // A subroutine at 9 counts from 15 down, prints on the way, and doubles a number as often: 32768 at the end.
    static const int8_t code[] = {PUSH, 15, PUSH, 1, CALL, 9, PRINT, HALT, HALT,
                                  /* 9 */ SWAP, DUP, JZ, 22, DUP, PUSH, -1, ADD, SWAP,
                                  /* 18: acc n-1 n */ JMP, 24, HALT, HALT,
                                  /* 22 */ SUB, RET,
                                  /* 24 */ JMP, 27, HALT,
                                  /* 27 */ PRINT, SWAP, PUSH, 2, MUL, JMP, 9};
    run(code);
    printf("%td\n", sp - stack);
    return 0;
}
