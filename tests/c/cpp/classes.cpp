// RUN: check
// EXPECT: verified complete=1 blocked=0
// Constructors, destructors, virtual functions, references, overloading.
#include <cassert>

static int alive;

struct Shape {
    Shape() { alive++; }
    virtual ~Shape() { alive--; }
    virtual int area() const = 0;
    int twice() const { return 2 * area(); }
};

struct Square : Shape {
    int side;
    explicit Square(int s) : side(s) {}
    int area() const override { return side * side; }
};

struct Box : Square {
    int height;
    Box(int s, int h) : Square(s), height(h) {}
    int area() const override { return 2 * Square::area() + 4 * side * height; }
};

static int total(const Shape &a, const Shape &b) {
    return a.twice() + b.twice();
}

int main() {
    {
        Square s(3);
        Box b(2, 5);
        assert(alive == 2);
        assert(total(s, b) == 2 * 9 + 2 * 48);
    }
    assert(alive == 0);
    Shape *p = new Box(1, 1);
    assert(p->area() == 6 && alive == 1);
    delete p;
    assert(alive == 0);
}
