// Insertion, reversal, removal, sorting by merging; everything freed.
#include <stdio.h>
#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};

static struct node *cons(int value, struct node *next) {
    struct node *n = malloc(sizeof *n);
    n->value = value;
    n->next = next;
    return n;
}

static struct node *reverse(struct node *l) {
    struct node *r = NULL;
    while (l) {
        struct node *next = l->next;
        l->next = r;
        r = l;
        l = next;
    }
    return r;
}

static void remove_even(struct node **l) {
    while (*l) {
        struct node *n = *l;
        if (n->value % 2 == 0) {
            *l = n->next;
            free(n);
        } else {
            l = &n->next;
        }
    }
}

static struct node *merge(struct node *a, struct node *b) {
    struct node head, *tail = &head;
    while (a && b) {
        struct node **less = a->value <= b->value ? &a : &b;
        tail->next = *less;
        tail = *less;
        *less = (*less)->next;
    }
    tail->next = a ? a : b;
    return head.next;
}

static struct node *sort(struct node *l) {
    if (!l || !l->next)
        return l;
    struct node *slow = l, *fast = l->next;
    while (fast && fast->next) {
        slow = slow->next;
        fast = fast->next->next;
    }
    struct node *rest = slow->next;
    slow->next = NULL;
    return merge(sort(l), sort(rest));
}

static void show(const struct node *l) {
    for (; l; l = l->next)
        printf("%d ", l->value);
    printf("\n");
}

int main(void) {
    struct node *l = NULL;
    for (int i = 0; i < 20; i++)
        l = cons(i * 37 % 41, l);
    show(l);
    l = reverse(l);
    show(l);
    remove_even(&l);
    show(l);
    l = sort(l);
    show(l);
    while (l) {
        struct node *next = l->next;
        free(l);
        l = next;
    }
    return 0;
}
