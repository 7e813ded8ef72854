// qsort of strings and structs, and bsearch.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    char name[8];
    int weight;
};

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_weight(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    return x->weight - y->weight;
}

int main(void) {
    const char *words[] = {"pear", "apple", "fig", "date", "cherry", "banana", "elderberry"};
    qsort(words, 7, sizeof *words, by_text);
    for (int i = 0; i < 7; i++)
        printf("%s ", words[i]);
    printf("\n");
    struct item items[] = {{"lead", 11}, {"wood", 1}, {"iron", 7}, {"gold", 19}, {"water", 2}};
    qsort(items, 5, sizeof *items, by_weight);
    for (int i = 0; i < 5; i++)
        printf("%s=%d ", items[i].name, items[i].weight);
    printf("\n");
    struct item key = {"", 7}, *found = bsearch(&key, items, 5, sizeof *items, by_weight);
    printf("%s\n", found ? found->name : "none");
    key.weight = 8;
    printf("%d\n", bsearch(&key, items, 5, sizeof *items, by_weight) == NULL);
    return 0;
}
