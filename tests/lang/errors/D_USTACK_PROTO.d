BEGIN { ustack(1, 2, 3); }
// at 1:9
