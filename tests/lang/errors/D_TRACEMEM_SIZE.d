BEGIN { tracemem(alloca(4), rand()); }
// at 1:29
