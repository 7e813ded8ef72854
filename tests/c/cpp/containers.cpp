// RUN: check --leaks
// EXPECT: verified
// Containers, whose trees, lists and table sizes the C++ library's binary takes care of.
#include <cassert>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

static std::mutex m;
static std::map<int, int> squares;

static void fill(int from) {
    std::lock_guard<std::mutex> guard(m);
    for (int n = from; n < from + 2; n++)
        squares[n] = n * n;
}

int main() {
    std::thread one(fill, 2), two(fill, 0);
    one.join();
    two.join();
    int expected = 0;
    for (auto &entry : squares) {
        assert(entry.first == expected && entry.second == expected * expected);
        expected++;
    }
    assert(expected == 4);

    std::set<int> numbers;
    for (int n = 0; n < 50; n++)
        numbers.insert(n * 37 % 50);
    for (int n = 0; n < 50; n += 2)
        numbers.erase(n);
    int next = 1;
    for (int n : numbers) {
        assert(n == next);
        next += 2;
    }
    for (auto it = numbers.rbegin(); it != numbers.rend(); ++it) {
        next -= 2;
        assert(*it == next);
    }

    std::list<int> list = {3, 1, 2};
    list.push_front(0);
    list.sort();
    list.remove(1);
    assert(list.size() == 3 && list.front() == 0 && list.back() == 3);

    std::deque<int> queue;
    for (int n = 0; n < 300; n++)
        queue.push_back(n);
    while (queue.size() > 1)
        queue.pop_front();
    assert(queue.front() == 299);

    std::unordered_map<int, int> table;
    for (int n = 0; n < 40; n++)
        table[n * 1000] = n;
    table.erase(5000);
    assert(table.size() == 39 && table.count(5000) == 0 && table.at(39000) == 39);
}
