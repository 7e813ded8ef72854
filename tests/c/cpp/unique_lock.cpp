// RUN: check
// EXPECT: verified
#include <cassert>
#include <mutex>
#include <thread>

static std::mutex m;
static int n;

static void work() {
    std::unique_lock<std::mutex> lock(m, std::defer_lock);
    assert(!lock.owns_lock());
    if (lock.try_lock()) {
        n++;
        lock.unlock();
    }
    lock.lock();
    n++;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(n >= 3 && n <= 4);
}
