// RUN: check
// EXPECT: verified
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex m;
static std::condition_variable c;
static bool ready;
static int data;

int main() {
    std::thread t([] {
        std::lock_guard<std::mutex> guard(m);
        data = 42;
        ready = true;
        c.notify_one();
    });
    {
        std::unique_lock<std::mutex> lock(m);
        c.wait(lock, [] { return ready; });
        assert(data == 42);
    }
    t.join();
}
