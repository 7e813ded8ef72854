// Nested structs, arrays of structs, assignment, comparison of members.
#include <stdio.h>

struct point {
    int x, y;
};

struct segment {
    struct point from, to;
    char name[8];
    double weight;
};

static int length(struct segment s) {
    int dx = s.to.x - s.from.x, dy = s.to.y - s.from.y;
    return dx * dx + dy * dy;
}

static struct segment reverse(const struct segment *s) {
    struct segment r = *s;
    r.from = s->to;
    r.to = s->from;
    r.weight = -s->weight;
    return r;
}

int main(void) {
    struct segment all[3] = {{{0, 0}, {3, 4}, "a", 1.0}, {.to = {1, 1}, .name = "bee"}, {{-1, -2}, {5, 6}, "c", 0.5}};
    for (int i = 0; i < 3; i++) {
        struct segment r = reverse(&all[i]);
        printf("%s %d %d %d %g\n", r.name, length(all[i]), r.from.x, r.to.y, r.weight);
    }
    struct segment copy = all[0];
    copy.from.x = 100;
    all[1] = copy;
    printf("%d %d %d\n", all[0].from.x, all[1].from.x, (int)sizeof(struct segment));
    struct point *p = &all[2].from;
    p->x++;
    (*p).y--;
    printf("%d %d\n", all[2].from.x, all[2].from.y);
    return 0;
}
