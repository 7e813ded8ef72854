// RUN: check
// EXPECT: violation use-after-free
#include <atomic>
#include <thread>

static std::atomic<int *> shared{new int(5)};

int main() {
    std::thread t([] { delete shared.exchange(nullptr); });
    if (int *p = shared.load()) {
        volatile int seen = *p; // HERE
        (void)seen;
    }
    t.join();
}
