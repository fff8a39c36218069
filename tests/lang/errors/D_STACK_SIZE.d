BEGIN { stack(-1); }
// at 1:15
