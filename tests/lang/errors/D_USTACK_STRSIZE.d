BEGIN { ustack(1, -1); }
// at 1:19
