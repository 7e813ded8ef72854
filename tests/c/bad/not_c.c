// RUN: check
// EXPECT: error error
#!/bin/sh
echo this is not C
