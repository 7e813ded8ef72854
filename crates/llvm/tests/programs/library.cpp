// Threads, locks, atomics, containers, strings and streams of the standard library.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

std::mutex mutex;
std::recursive_mutex recursive;
std::timed_mutex timed;
std::condition_variable condition;
std::atomic<int> number{0};
std::atomic<bool> done{false};
std::atomic<double> fraction{0.5};
std::atomic_flag flag = ATOMIC_FLAG_INIT;
struct Pair { int a, b; };
std::atomic<Pair> pair;
thread_local std::string name = "thread";

int main() {
    std::vector<std::thread> threads;
    std::map<std::string, int> map;
    std::unordered_map<int, std::string> table;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([i, &map] {
            std::lock_guard<std::mutex> guard(mutex);
            map["k" + std::to_string(i)] = i;
            number.fetch_add(1, std::memory_order_relaxed);
            int expected = 2;
            number.compare_exchange_weak(expected, 3, std::memory_order_acq_rel, std::memory_order_acquire);
            name += "!";
            done.store(true, std::memory_order_release);
            condition.notify_all();
        });
    {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [] { return done.load(std::memory_order_acquire); });
    }
    while (flag.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    Pair old = pair.load(), next{old.a + 1, old.b};
    pair.compare_exchange_strong(old, next);
    for (auto &thread : threads) thread.join();
    auto future = std::async(std::launch::async, [] { return 42; });
    std::promise<int> promise;
    promise.set_value(future.get());
    std::shared_ptr<int> shared = std::make_shared<int>(promise.get_future().get());
    std::weak_ptr<int> weak = shared;
    std::unique_ptr<int[]> array(new int[4]{4, 3, 2, 1});
    std::sort(array.get(), array.get() + 4);
    std::function<int(int)> twice = [](int x) { return 2 * x; };
    table[7] = "seven";
    std::ostringstream out;
    out << std::hex << *shared << ' ' << fraction.load() << ' ' << table[7];
    std::call_once(*std::make_unique<std::once_flag>(), [] {});
    std::scoped_lock both(recursive, timed);
    std::cout << out.str() << twice(number) << (weak.lock() ? "alive" : "gone") << std::endl;
}
