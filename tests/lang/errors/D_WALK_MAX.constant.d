BEGIN { n = 5; walk (1, it - 1, n) { trace(it); } }
// at 1:33
