// RUN: check
// EXPECT: verified complete=2 blocked=0
#include <atomic>
#include <cassert>
#include <pthread.h>

static std::atomic<int> x{0};
static int data;
static std::atomic<bool> ready{false};

static void *producer(void *) {
    data = 42;
    x.fetch_add(5, std::memory_order_relaxed);
    ready.store(true, std::memory_order_release);
    return nullptr;
}

int main() {
    pthread_t t;
    pthread_create(&t, nullptr, producer, nullptr);
    if (ready.load(std::memory_order_acquire))
        assert(data == 42 && x == 5);
    pthread_join(t, nullptr);
    int expected = 5;
    assert(x.compare_exchange_strong(expected, 6) && x.exchange(7) == 6 && ++x == 8);
}
