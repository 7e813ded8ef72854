// Insertion, traversal, depth, deletion.
#include <stdio.h>
#include <stdlib.h>

struct tree {
    int key;
    struct tree *left, *right;
};

static void insert(struct tree **t, int key) {
    while (*t)
        t = key < (*t)->key ? &(*t)->left : &(*t)->right;
    *t = calloc(1, sizeof **t);
    (*t)->key = key;
}

static int depth(const struct tree *t) {
    if (!t)
        return 0;
    int l = depth(t->left), r = depth(t->right);
    return 1 + (l > r ? l : r);
}

static void each(const struct tree *t, void (*f)(int, void *), void *with) {
    if (!t)
        return;
    each(t->left, f, with);
    f(t->key, with);
    each(t->right, f, with);
}

static void print(int key, void *with) {
    int *n = with;
    printf("%d%c", key, ++*n % 10 ? ' ' : '\n');
}

static void drop(struct tree *t) {
    if (t) {
        drop(t->left);
        drop(t->right);
        free(t);
    }
}

int main(void) {
    struct tree *t = NULL;
    unsigned seed = 7;
    for (int i = 0; i < 40; i++) {
        seed = seed * 1664525u + 1013904223u;
        insert(&t, (int)(seed >> 24));
    }
    int n = 0;
    each(t, print, &n);
    printf("depth %d\n", depth(t));
    drop(t);
    return 0;
}
