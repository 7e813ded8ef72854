// RUN: check
// EXPECT: error main
