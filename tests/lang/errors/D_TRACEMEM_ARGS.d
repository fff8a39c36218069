BEGIN { tracemem(alloca(4)); }
// at 1:9
