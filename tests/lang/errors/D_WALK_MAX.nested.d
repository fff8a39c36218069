BEGIN { walk (1, it - 1, 300) { walk (1, it - 1, 300) { trace(it); } } }
// at 1:50
