// Open hashing of strings with growing buckets.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char *key;
    int count;
    struct entry *next;
};

static struct entry **buckets;
static size_t size, used;

static uint32_t hash(const char *s) {
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

static void grow(void) {
    size_t bigger = size ? 2 * size : 4;
    struct entry **table = calloc(bigger, sizeof *table);
    for (size_t i = 0; i < size; i++)
        for (struct entry *e = buckets[i], *next; e; e = next) {
            next = e->next;
            struct entry **at = &table[hash(e->key) % bigger];
            e->next = *at;
            *at = e;
        }
    free(buckets);
    buckets = table;
    size = bigger;
}

static int *get(const char *key) {
    if (used >= size)
        grow();
    struct entry **at = &buckets[hash(key) % size];
    for (struct entry *e = *at; e; e = e->next)
        if (strcmp(e->key, key) == 0)
            return &e->count;
    struct entry *e = malloc(sizeof *e);
    e->key = malloc(strlen(key) + 1);
    strcpy(e->key, key);
    e->count = 0;
    e->next = *at;
    *at = e;
    used++;
    return &e->count;
}

int main(void) {
    char word[16];
    for (int i = 0; i < 60; i++) {
        sprintf(word, "w%d", i * i % 23);
        *get(word) += i;
    }
    printf("%zu %zu\n", used, size);
    for (int i = 0; i < 23; i++) {
        sprintf(word, "w%d", i);
        printf("%d ", *get(word));
    }
    printf("\n%zu\n", used);
    for (size_t i = 0; i < size; i++)
        for (struct entry *e = buckets[i], *next; e; e = next) {
            next = e->next;
            free(e->key);
            free(e);
        }
    free(buckets);
    return 0;
}
