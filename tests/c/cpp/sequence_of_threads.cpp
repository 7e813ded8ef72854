// RUN: check
// EXPECT: verified complete=6 blocked=0
// An array of threads, moved into place.
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> x{0};

int main() {
    std::thread threads[3];
    for (auto &t : threads)
        t = std::thread([] { x++; });
    for (auto &t : threads)
        t.join();
    assert(x == 3);
}
