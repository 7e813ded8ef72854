// RUN: check
// EXPECT: verified complete=1 blocked=0
// Globals are constructed before main, in order.
#include <cassert>

static int log_of_calls;

struct Noted {
    int before;
    explicit Noted(int digit) : before(log_of_calls) { log_of_calls = 10 * log_of_calls + digit; }
};

static Noted one(1);
static Noted two(2);
static int three = log_of_calls + 3;

int main() {
    assert(one.before == 0 && two.before == 1 && three == 15 && log_of_calls == 12);
}
