BEGIN { ustack(-1); }
// at 1:16
