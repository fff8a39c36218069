BEGIN { walk (1, it - 1, 100) { walk (1, it - 1, 100) { trace(it); } } }
// at 1:50
