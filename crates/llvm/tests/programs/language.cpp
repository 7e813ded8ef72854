// Classes, virtual functions, templates, lambdas, exceptions, references, operators, initialisation order.
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <new>
#include <typeinfo>
#include <utility>

namespace shapes {
struct Base {
    virtual ~Base() {}
    virtual int area() const = 0;
    int id = ++count;
    static int count;
};
int Base::count = 0;
struct Named { const char *name; explicit Named(const char *n) : name(n) {} virtual const char *label() { return name; } };
template <int N> struct Square : Base, Named {
    int side[N] = {};
    Square() : Named("square") { for (int &s : side) s = N; }
    int area() const override { int sum = 0; for (int s : side) sum += s * s; return sum; }
    const char *label() override { return "override"; }
};
struct Virtual : virtual Base { int area() const override { return id; } };
struct Most final : Virtual { long extra = 7; };
}

struct Resource {
    int *data;
    explicit Resource(int n) : data(new int[n]()) {}
    Resource(Resource &&other) noexcept : data(std::exchange(other.data, nullptr)) {}
    Resource(const Resource &) = delete;
    ~Resource() { delete[] data; }
    int &operator[](size_t i) { return data[i]; }
};

struct Point { double x, y; Point operator+(const Point &o) const { return {x + o.x, y + o.y}; } bool operator==(const Point &o) const { return x == o.x && y == o.y; } };

template <typename... T> int sum(T... values) { return (0 + ... + values); }
template <typename F> auto apply(F &&f) -> decltype(f(1)) { return std::forward<F>(f)(1); }
static int counter() { static Resource once(3); return once[0]++; }
thread_local Resource per_thread(2);
static Resource global(5);
int by_reference(int &a, const int &b, int &&c) { a += b; return a + c; }
int may_throw(int x) { if (x > 2) throw x; if (x < 0) throw "negative"; return x; }
int noexcept_call(int x) noexcept { return may_throw(x); }
int listed(std::initializer_list<int> list) { int s = 0; for (int x : list) s += x; return s; }

int caught(int x) {
    try {
        Resource r(x + 1);
        r[0] = may_throw(x);
        return r[0];
    } catch (int value) {
        return -value;
    } catch (const char *) {
        return -100;
    } catch (...) {
        throw;
    }
}

int main(int argc, char **) {
    shapes::Square<3> square;
    shapes::Base *base = &square;
    shapes::Named *named = &square;
    shapes::Most most;
    shapes::Base &virtual_base = most;
    int captured = argc;
    auto lambda = [&captured, square](int x) mutable { captured += x; square.side[0]++; return captured + square.side[0]; };
    int (shapes::Base::*method)() const = &shapes::Base::area;
    int shapes::Base::*member = &shapes::Base::id;
    Resource moved(std::move(global));
    Point p = Point{1, 2} + Point{3, 4};
    int total = base->area() + (base->*method)() + base->*member + virtual_base.area() + sum(1, 2L, 'c') + apply(lambda);
    total += caught(argc) + counter() + per_thread[1] + by_reference(total, 3, 4) + (p == Point{4, 6}) + listed({1, 2, 3});
    if (auto *s = dynamic_cast<shapes::Square<3> *>(base)) total += s->side[1];
    if (typeid(*base) == typeid(square)) total++;
    alignas(32) unsigned char storage[sizeof(Point)];
    Point *placed = new (storage) Point{5, 6};
    total += static_cast<int>(placed->x) + (named->label()[0] == 'o') + noexcept_call(1);
    delete new shapes::Most;
    return total;
}
