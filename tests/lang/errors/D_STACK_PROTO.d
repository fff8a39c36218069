BEGIN { stack(1, 2); }
// at 1:9
