BEGIN { walk (1, it - 1, 100000) { trace(it); } }
// at 1:26
