// RUN: check
// EXPECT: verified
// What the C++ library's header files leave to its binary: statics, thread-local objects, call_once, shared pointers,
// timed and recursive and shared mutexes, clocks, timed waits.
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::mutex m;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static std::shared_timed_mutex shared;
static std::condition_variable changed;
static std::once_flag flag;
static int sum, onces;
static std::atomic<int> gone;

struct Local {
    int value = 0;
    ~Local() { gone += value; }
};
static thread_local Local local;

struct AtExit {
    ~AtExit() { assert(sum == 9 && onces == 1); }
};
static AtExit at_exit;

static void add(int n) {
    local.value = n;
    std::call_once(flag, [] { onces++; });
    std::lock_guard<std::mutex> guard(m);
    static std::shared_ptr<int> three = std::make_shared<int>(3);
    sum += n + *three;
    changed.notify_all();
}

int main() {
    std::vector<std::thread> threads;
    threads.emplace_back(add, 1);
    threads.push_back(std::thread(add, 2));
    for (auto &thread : threads)
        thread.join();
    assert(gone == 3);
    {
        std::unique_lock<std::mutex> lock(m);
        changed.wait(lock, [] { return sum == 9; });
        assert(changed.wait_for(lock, std::chrono::milliseconds(5)) == std::cv_status::timeout);
    }
    {
        std::lock_guard<std::recursive_mutex> outer(recursive);
        std::lock_guard<std::recursive_mutex> inner(recursive);
    }
    {
        std::unique_lock<std::timed_mutex> lock(timed, std::chrono::seconds(1));
        assert(lock.owns_lock());
    }
    {
        std::shared_lock<std::shared_timed_mutex> one(shared), two(shared);
        assert(!shared.try_lock());
    }
    auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    assert(std::chrono::steady_clock::now() - start >= std::chrono::seconds(2));
    std::weak_ptr<int> weak;
    {
        auto strong = std::make_shared<int>(5);
        weak = strong;
        assert(weak.lock() && *weak.lock() == 5);
    }
    assert(weak.expired());
    std::function<int(int)> next = [](int n) { return n + sum; };
    assert(next(1) == 10);
}
