// RUN: check --leaks
// EXPECT: verified complete=1 blocked=0
// A small container of our own.
#include <cassert>
#include <cstddef>

template <typename T> class Stack {
    struct Node {
        T value;
        Node *next;
    };
    Node *top = nullptr;
    std::size_t count = 0;

public:
    ~Stack() {
        while (top)
            pop();
    }
    void push(T value) {
        top = new Node{value, top};
        count++;
    }
    T pop() {
        Node *node = top;
        T value = node->value;
        top = node->next;
        count--;
        delete node;
        return value;
    }
    std::size_t size() const { return count; }
};

template <int N> constexpr int factorial() {
    if constexpr (N <= 1)
        return 1;
    else
        return N * factorial<N - 1>();
}

int main() {
    Stack<int> a;
    Stack<double> b;
    for (int i = 0; i < 4; i++) {
        a.push(i);
        b.push(i / 2.0);
    }
    assert(a.pop() == 3 && b.pop() == 1.5 && a.size() == 3);
    static_assert(factorial<5>() == 120);
}
