// RUN: check
// EXPECT: verified
// A static local variable is initialised by one thread while the other waits.
#include <cassert>
#include <thread>

static int made;

static int &instance() {
    static int value = ++made;
    return value;
}

int main() {
    std::thread a([] { assert(instance() == 1); });
    assert(instance() == 1);
    a.join();
    assert(made == 1);
}
