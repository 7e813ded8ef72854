// RUN: check
// EXPECT: violation deadlock
#include <mutex>
#include <thread>

static std::mutex m1, m2;

int main() {
    std::thread a([] {
        std::lock_guard<std::mutex> g1(m1);
        std::lock_guard<std::mutex> g2(m2);
    });
    std::thread b([] {
        std::lock_guard<std::mutex> g2(m2);
        std::lock_guard<std::mutex> g1(m1);
    });
    a.join();
    b.join();
}
