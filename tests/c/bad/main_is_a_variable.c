// RUN: check
// EXPECT: error main
int main = 5;
