// RUN: check
// EXPECT: verified complete=2 blocked=0
#include <cassert>
#include <mutex>
#include <thread>

static std::mutex m;
static int n;

static void work() {
    std::lock_guard<std::mutex> guard(m);
    n++;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(n == 2);
}
