BEGIN { walk ("a", it, 3) { trace(it); } }
// at 1:15
