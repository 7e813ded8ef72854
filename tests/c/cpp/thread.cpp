// RUN: check
// EXPECT: verified complete=2 blocked=0
// std::thread with a function, a lambda, arguments and captures.
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> x{0};

static void add(int n) {
    x.fetch_add(n);
}

int main() {
    int seen = 0;
    std::thread a(add, 3);
    std::thread b([&seen] { seen = 1 + (x.fetch_add(4) >= 0); });
    a.join();
    b.join();
    assert(x == 7 && seen == 2);
}
