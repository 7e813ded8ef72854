// RUN: check
// EXPECT: verified
// Plain output.
#include <iostream>
#include <thread>

int main() {
    std::thread other([] { std::cout << "other" << 1 << std::endl; });
    std::cerr << 'c' << 2.5 << true << 3ul << "\n" << std::flush;
    other.join();
}
