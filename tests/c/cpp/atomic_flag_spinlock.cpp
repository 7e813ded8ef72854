// RUN: check --unroll 3
// EXPECT: verified
// EXPECT: not-covered loop
// A spin lock without a bound of its own: what was explored is right, and the bound is reported.
#include <atomic>
#include <cassert>
#include <thread>

class SpinLock {
    std::atomic_flag flag = ATOMIC_FLAG_INIT;

public:
    void lock() {
        while (flag.test_and_set(std::memory_order_acquire)) {
        }
    }
    void unlock() { flag.clear(std::memory_order_release); }
};

static SpinLock lock;
static int n;

static void work() {
    lock.lock();
    n++;
    lock.unlock();
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(n == 2);
}
