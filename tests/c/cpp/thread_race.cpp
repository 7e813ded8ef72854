// RUN: check
// EXPECT: violation data-race
// A capture by reference that two threads write.
#include <thread>

int main() {
    int shared = 0;
    std::thread t([&shared] { shared = 1; }); // HERE
    shared = 2;                               // HERE
    t.join();
}
