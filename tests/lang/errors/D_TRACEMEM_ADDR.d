BEGIN { tracemem("a", 4); }
// at 1:18
