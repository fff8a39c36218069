BEGIN { tracemem(alloca(4), 4, "a"); }
// at 1:32
