// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <cassert>
#include <thread>

static thread_local int mine = 3;

int main() {
    mine = 4;
    std::thread t([] {
        assert(mine == 3);
        mine = 5;
    });
    t.join();
    assert(mine == 4);
}
