// RUN: check
// EXPECT: violation deadlock
// The predicate is forgotten.
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex m;
static std::condition_variable c;

int main() {
    std::thread t([] {
        std::lock_guard<std::mutex> guard(m);
        c.notify_all();
    });
    {
        std::unique_lock<std::mutex> lock(m);
        c.wait(lock); // HERE
    }
    t.join();
}
